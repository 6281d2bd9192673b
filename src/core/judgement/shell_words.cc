#include "core/judgement/shell_words.h"

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

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

// Builtins that evaluate some of their words in at least one shell (zsh evaluates the status of
// exit, bash the subscript behind test -v). The evaluation expands the words again and runs the
// commands in them.
constexpr std::array<std::string_view, 16> computing = {
    "[",    "break", "continue", "exit",  "fg",   "float", "integer", "jobs",
    "kill", "print", "return",   "shift", "test", "umask", "wait",    "whence"};

// Returns true if an operator ends before `rest`.
bool ends_operator(std::string_view rest) {
    return rest.empty() || is_blank(rest.front()) || rest.front() == '\n' || rest.front() == ';' ||
           rest.front() == '|';
}

// Returns the length of a redirection that changes nothing outside the process: to or from
// /dev/null, or from one output stream into the other. Returns 0 for other redirections.
std::size_t harmless_redirection(std::string_view rest) {
    std::size_t at = 0;
    const bool has_number = rest.front() >= '0' && rest.front() <= '2';
    if (has_number) ++at;
    if (at >= rest.size() || (rest[at] != '<' && rest[at] != '>')) return 0;
    const bool is_input = rest[at] == '<';
    if (is_input && has_number && rest.front() != '0') return 0;
    if (!is_input && has_number && rest.front() == '0') return 0;
    ++at;
    const std::string_view target = rest.substr(at);
    if (!is_input && (target.starts_with("&1") || target.starts_with("&2")))
        return ends_operator(target.substr(2)) ? at + 2 : 0;
    while (at < rest.size() && is_blank(rest[at]))
        ++at;
    constexpr std::string_view null_device = "/dev/null";
    if (!rest.substr(at).starts_with(null_device)) return 0;
    at += null_device.size();
    return ends_operator(rest.substr(at)) ? at : 0;
}

// Returns true if the character means the same to zsh without quotes. Most other characters are
// special in zsh.
bool is_plain_in_zsh(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./:,@%+-").find(c) != std::string_view::npos;
}

class Scanner {
public:
    Scanner(std::string_view text, Dialect dialect) : text_(text), dialect_(dialect) {}

    Script scan() {
        if (text_.size() > longest_script) fail("the script is too long to be looked at");
        if (has_hidden_text(text_))
            fail("control characters, unusual blanks or marks that hide what is written");
        while (is_good() && at_ < text_.size())
            step();
        if (is_good()) end_word();
        if (is_good()) end_script();
        return std::move(script_);
    }

private:
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
        } else {
            piece(c);
        }
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
        if (c == '\n') return end_line();
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
        case '<':
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

    void dollar(std::string_view rest) {
        if (!is_literal_dollar(rest, " \t\n;|")) return fail("$ puts something else in its place");
        take('$');
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
        if (holds(reserved_words, program))
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
        if (!command_.words.empty()) return end_command();
        if (has_redirection_) return fail_without_words("");
        if (needs_command_) return fail("an operator without a command behind it");
        if (script_.commands.empty()) fail("there is no command in it");
    }

    std::string_view text_;
    Dialect dialect_;
    std::size_t at_ = 0;
    Script script_;
    ShellCommand command_;
    bool needs_command_ = false;   // after && || |
    bool has_redirection_ = false; // of the command so far
    std::string word_;
    bool in_word_ = false; // also true for an empty word: ''
    bool has_glob_ = false;
    std::optional<std::size_t> brace_; // the offset of the first brace in the word
};

// Returns the length of the UTF-8 sequence at the front and sets `point`. Returns 0 if the sequence
// is invalid.
std::size_t code_point(std::string_view text, char32_t& point) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const unsigned first = byte(0);
    const std::size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first >= 0xf8 || (first >= 0x80 && first < 0xc2) || size > text.size()) return 0;
    point = size == 1 ? first : first & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) return 0;
        point = (point << 6U) | (byte(i) & 0x3fU);
    }
    const bool is_overlong = (size == 3 && point < 0x800) || (size == 4 && point < 0x10000);
    const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return is_overlong || is_surrogate || point > 0x10ffff ? 0 : size;
}

struct Span {
    char32_t first;
    char32_t last;
};

// Non-ASCII blanks, characters without a width, characters that change the direction, tags.
constexpr std::array<Span, 17> hidden = {{{0x7f, 0xa0},
                                          {0xad, 0xad},
                                          {0x34f, 0x34f},
                                          {0x61c, 0x61c},
                                          {0x115f, 0x1160},
                                          {0x1680, 0x1680},
                                          {0x17b4, 0x17b5},
                                          {0x180b, 0x180f},
                                          {0x2000, 0x200f},
                                          {0x2028, 0x202f},
                                          {0x205f, 0x206f},
                                          {0x2800, 0x2800},
                                          {0x3000, 0x3000},
                                          {0x3164, 0x3164},
                                          {0xfeff, 0xfeff},
                                          {0xfff0, 0xffff},
                                          {0xe0000, 0xe0fff}}};

bool is_hidden(char32_t point) {
    if (point < 0x20) return point != '\t' && point != '\n';
    return std::any_of(hidden.begin(), hidden.end(),
                       [&](const Span& span) { return point >= span.first && point <= span.last; });
}

} // namespace

Script decompose(std::string_view script, Dialect dialect) {
    return Scanner(script, dialect).scan();
}

std::string_view literal_start(std::string_view word) {
    return word.substr(0, word.find_first_of("*?["));
}

bool has_hidden_text(std::string_view text) {
    while (!text.empty()) {
        char32_t point = 0;
        const std::size_t size = code_point(text, point);
        if (size == 0 || is_hidden(point)) return true;
        text.remove_prefix(size);
    }
    return false;
}

} // namespace ew::core
