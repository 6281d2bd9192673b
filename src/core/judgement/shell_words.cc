#include "core/judgement/shell_words.h"

#include "core/judgement/hidden_text.h"
#include "core/judgement/redirections.h"

#include <algorithm>
#include <array>
#include <optional>

namespace ew::core {

namespace {

constexpr std::size_t longest_script = 65536;
constexpr std::size_t most_commands = 4096;

// Words that are grammar at the position of a command (bash(1), RESERVED WORDS).
constexpr std::array<std::string_view, 22> reserved_words = {
    "!",   "[[",       "]]", "case", "coproc", "do",   "done", "elif",  "else",  "esac", "fi",
    "for", "function", "if", "in",   "select", "then", "time", "until", "while", "{",    "}"};

// Words in front of a command that zsh takes away, and more of its grammar (zshmisc(1)).
constexpr std::array<std::string_view, 6> reserved_in_zsh = {"-",         "end",    "foreach",
                                                             "nocorrect", "noglob", "repeat"};

// Shell builtins that run text or change the meaning of later words.
constexpr std::array<std::string_view, 37> shell_changers = {
    ".",       "alias",   "bind",      "builtin",  "command", "compgen", "complete", "compopt",
    "declare", "dirs",    "disown",    "enable",   "eval",    "exec",    "export",   "fc",
    "getopts", "hash",    "history",   "let",      "local",   "logout",  "mapfile",  "popd",
    "pushd",   "read",    "readarray", "readonly", "set",     "shopt",   "source",   "suspend",
    "trap",    "typeset", "ulimit",    "unalias",  "unset"};

template <class Names>
bool holds(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Builtins that evaluate some of their words in at least one shell (zsh evaluates the status of
// exit, bash the subscript behind test -v). The evaluation expands the words again and runs the
// commands in them.
constexpr std::array<std::string_view, 16> computing = {
    "[",    "break", "continue", "exit",  "fg",   "float", "integer", "jobs",
    "kill", "print", "return",   "shift", "test", "umask", "wait",    "whence"};

class Scanner {
public:
    Scanner(std::string_view text, Dialect dialect, OutputFiles output_files)
        : text_(text), dialect_(dialect), output_files_(output_files) {}

    Script scan() {
        if (text_.size() > longest_script) fail("the script is too long to be looked at");
        if (is_good() && has_hidden_text(text_))
            fail("control characters, unusual blanks or marks that hide what is written");
        while (is_good() && at_ < text_.size())
            step();
        if (is_good()) end_word();
        if (is_good()) end_script();
        return std::move(script_);
    }

private:
    struct Document {
        std::string_view end;
        bool strips_tabs;
    };

    bool is_good() const { return script_.obstacle.empty(); }

    void fail(std::string_view reason) {
        if (is_good()) script_.obstacle = reason;
    }

    char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

    void step() {
        const char c = text_[at_];
        if (is_blank(c)) {
            end_word();
            ++at_;
        } else if (!in_word_ && c == '#') {
            skip_comment();
        } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
            end_word();
            if (is_good()) separator(c);
        } else if (!in_word_ && harmless_redirection(text_.substr(at_)) > 0) {
            at_ += harmless_redirection(text_.substr(at_));
            has_redirection_ = true;
        } else if (!in_word_ && (c == '>' || next() == '>') && takes_output_file()) {
            has_redirection_ = true;
        } else {
            piece(c);
        }
    }

    bool takes_output_file() {
        if (output_files_ == OutputFiles::refused) return false;
        const OutputFile file = output_file(text_.substr(at_));
        if (file.length == 0) return false;
        command_.written.emplace_back(file.path);
        at_ += file.length;
        return true;
    }

    void skip_comment() {
        if (dialect_ == Dialect::zsh) return fail("a comment");
        at_ = std::min(text_.find('\n', at_), text_.size());
    }

    void separator(char c) {
        const bool is_double = next() == c && c != '\n';
        if (c == '&' && !is_double) return fail("& starts something in the background");
        if (c == ';' && is_double) return fail("the syntax is not understood: ;;");
        if (c == '|' && next() == '&') return fail("|& is not looked into");
        at_ += is_double ? 2 : 1;
        if (c == '\n') {
            end_line();
            return skip_documents();
        }
        if (command_.words.empty())
            return fail_without_words("an operator without a command in front of it");
        end_command();
        needs_command_ = c != ';';
    }

    void end_line() {
        if (!command_.words.empty()) return end_command();
        if (has_redirection_) fail_without_words("");
    }

    // zsh then runs a program that a variable names: a pager or cat (READNULLCMD, NULLCMD in
    // zshparam(1)).
    void fail_without_words(std::string_view otherwise) {
        fail(has_redirection_ ? "a redirection without a command" : otherwise);
    }

    void piece(char c) {
        switch (c) {
        case '\'': return single_quotes();
        case '"': return double_quotes();
        case '\\': return backslash();
        case '$': return dollar(text_.substr(at_ + 1));
        case '`': return fail("a command is put in place of `…`");
        case '(':
        case ')': return fail("parentheses: a subshell, a function or a pattern");
        case '<': return input();
        case '>': return fail("a redirection to or from something else than /dev/null");
        case '!': return exclamation();
        case '~': return tilde();
        case '{': return brace();
        default: return plain(c);
        }
    }

    void plain(char c) {
        if (c == '*' || c == '?' || c == '[') has_glob_ = true;
        if (dialect_ == Dialect::zsh && !is_plain_in_zsh(c) && (c != '=' || word_.empty()))
            return fail("a character that may be special to zsh");
        take(c);
    }

    void take(char c) {
        word_ += c;
        in_word_ = true;
        ++at_;
    }

    void single_quotes() {
        const std::size_t end = text_.find('\'', at_ + 1);
        if (end == std::string_view::npos) return fail("a quote is not closed");
        word_ += text_.substr(at_ + 1, end - at_ - 1);
        in_word_ = true;
        at_ = end + 1;
    }

    void double_quotes() {
        in_word_ = true;
        ++at_;
        while (is_good() && at_ < text_.size() && text_[at_] != '"')
            quoted_character();
        if (at_ >= text_.size()) return fail("a quote is not closed");
        ++at_;
    }

    void quoted_character() {
        const char c = text_[at_];
        if (c == '`') return fail("a command is put in place of `…`");
        if (c == '$' && next() == '?') return status();
        if (c == '$' && !is_literal_dollar(text_.substr(at_ + 1), "\" |)/"))
            return fail("$ puts something else in its place");
        if (c == '\\' && next() == '\n') {
            at_ += 2;
            return;
        }
        // In double quotes, a backslash escapes only these characters.
        if (c == '\\' && std::string_view("$`\"\\").find(next()) != std::string_view::npos) ++at_;
        if (at_ < text_.size()) take(text_[at_]);
    }

    void backslash() {
        if (at_ + 1 >= text_.size()) return fail("a backslash at the end");
        if (next() == '\n') {
            at_ += 2; // the line continues
            return;
        }
        ++at_;
        take(text_[at_]);
    }

    bool is_literal_dollar(std::string_view rest, std::string_view followers) const {
        if (dialect_ == Dialect::zsh) return false;
        return rest.empty() || followers.find(rest.front()) != std::string_view::npos;
    }

    // $? is a number, and which one does not matter to a command that is safe with any. zsh reads
    // more behind it: $?[1], $?:h
    void status() {
        const char follower = at_ + 2 < text_.size() ? text_[at_ + 2] : '\n';
        if (dialect_ == Dialect::zsh &&
            std::string_view(" \t\n;|&\"").find(follower) == std::string_view::npos)
            return fail("$ puts something else in its place");
        take('0');
        ++at_; // take() has passed the $
        has_glob_ = true;
    }

    void dollar(std::string_view rest) {
        if (rest.starts_with('?')) return status();
        if (!is_literal_dollar(rest, " \t\n;|")) return fail("$ puts something else in its place");
        take('$');
    }

    // A here-document with a quoted delimiter is a text that no shell changes.
    void input() {
        constexpr std::string_view delimiters =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
        std::size_t at = at_ + 2;
        const bool strips_tabs = text_.substr(at_).starts_with("<<-");
        at += strips_tabs ? 1 : 0;
        const char quote = at < text_.size() ? text_[at] : '\0';
        const std::size_t end = std::min(text_.find_first_not_of(delimiters, at + 1), text_.size());
        const bool is_literal = text_.substr(at_).starts_with("<<") &&
                                (quote == '\'' || quote == '"') && end > at + 1 &&
                                end < text_.size() && text_[end] == quote &&
                                ends_operator(text_.substr(end + 1)) && !in_word_;
        if (!is_literal) return fail("a redirection to or from something else than /dev/null");
        if (documents_.empty()) first_document_ = at_;
        documents_.push_back({text_.substr(at + 1, end - at - 1), strips_tabs});
        at_ = end + 1;
        has_redirection_ = script_.has_input = true;
    }

    // Skips the here-documents that begin at the end of a line.
    void skip_documents() {
        if (documents_.empty()) return;
        // Shells differ in where a document begins if the line goes on.
        const std::string_view line = text_.substr(first_document_, at_ - 1 - first_document_);
        if (line.find('\n') != std::string_view::npos)
            return fail("a here-document in a line that goes on");
        for (const Document& document : documents_)
            if (!skip_document(document)) return fail("a here-document is not closed");
        documents_.clear();
    }

    bool skip_document(const Document& document) {
        while (at_ < text_.size()) {
            const std::size_t end = std::min(text_.find('\n', at_), text_.size());
            std::string_view line = text_.substr(at_, end - at_);
            at_ = std::min(end + 1, text_.size());
            while (document.strips_tabs && line.starts_with('\t'))
                line.remove_prefix(1);
            if (line == document.end) return true;
        }
        return false;
    }

    void exclamation() {
        const char follower = next();
        if (in_word_ || !(follower == '\0' || is_blank(follower) || follower == '\n'))
            return fail("! may call up an earlier command");
        plain('!');
    }

    void tilde() {
        if (word_.empty() || word_.back() == '=' || word_.back() == ':')
            return fail("~ stands for a directory");
        plain('~');
    }

    void brace() {
        if (!brace_) brace_ = word_.size();
        plain('{');
    }

    void end_word() {
        if (!in_word_) return;
        if (brace_) {
            const std::string_view tail = std::string_view(word_).substr(*brace_);
            if (tail.find(',') != std::string_view::npos ||
                tail.find("..") != std::string_view::npos)
                return fail("braces make several words of one");
        }
        command_.words.push_back(std::move(word_));
        command_.has_glob.push_back(has_glob_);
        word_.clear();
        in_word_ = has_glob_ = false;
        brace_.reset();
    }

    void end_command() {
        const std::string& program = command_.words.front();
        if (holds(reserved_words, program) ||
            (dialect_ == Dialect::zsh && holds(reserved_in_zsh, program)))
            return fail(program + " is part of the shell's grammar");
        if (program.find('=') != std::string::npos) return fail("a variable is set");
        if (command_.has_glob.front()) return fail("the program's name is a pattern");
        if (program.empty()) return fail("the program's name is empty");
        if (program.starts_with('%')) return fail("% at the front resumes a job");
        if (holds(shell_changers, program) && !only_looks_up())
            return fail(program + " runs text or changes the shell");
        if (holds(computing, program) && has_something_to_compute())
            return fail(program + " may compute what its words say");
        if (script_.commands.size() >= most_commands) return fail("too many commands");
        script_.commands.push_back(std::move(command_));
        command_ = {};
        needs_command_ = has_redirection_ = false;
    }

    bool has_something_to_compute() const {
        return std::any_of(
            command_.words.begin() + 1, command_.words.end(),
            [](const std::string& word) { return word.find_first_of("$`") != std::string::npos; });
    }

    // `command -v NAME` only prints what NAME is.
    bool only_looks_up() const {
        const auto& words = command_.words;
        return words.size() >= 3 && words[0] == "command" && (words[1] == "-v" || words[1] == "-V");
    }

    void end_script() {
        if (!documents_.empty()) return fail("a here-document is not closed");
        if (!command_.words.empty()) return end_command();
        if (has_redirection_) return fail_without_words("");
        if (needs_command_) return fail("an operator without a command behind it");
        if (script_.commands.empty()) fail("there is no command in it");
    }

    std::string_view text_;
    Dialect dialect_;
    OutputFiles output_files_;
    std::size_t at_ = 0;
    Script script_;
    ShellCommand command_;
    bool needs_command_ = false;   // after && || |
    bool has_redirection_ = false; // of the command so far
    std::string word_;
    bool in_word_ = false; // also true for an empty word: ''
    bool has_glob_ = false;
    std::size_t first_document_ = 0;
    std::vector<Document> documents_;  // here-documents that begin at the end of the line
    std::optional<std::size_t> brace_; // the offset of the first brace in the word
};

} // namespace

Script decompose(std::string_view script, Dialect dialect, OutputFiles output_files) {
    return Scanner(script, dialect, output_files).scan();
}

std::string_view literal_start(std::string_view word) {
    return word.substr(0, word.find_first_of("*?["));
}

} // namespace ew::core
