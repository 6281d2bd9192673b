#include "core/judgement/loose_reading.h"

#include "core/judgement/ansi_quotes.h"
#include "core/judgement/braces.h"
#include "core/judgement/literal_commands.h"
#include "core/judgement/loose_texts.h"
#include "core/judgement/program_options.h"
#include "core/judgement/shell_words.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace ew::core {

namespace {

using Words = std::vector<std::string>;

constexpr int deepest = 8; // nesting of substitutions
constexpr std::size_t most_commands = 4096;
constexpr std::size_t most_words_of_braces = 64;
constexpr std::size_t most_text_of_braces = 65536; // in all
constexpr std::string_view declaring = "declare export local readonly typeset";

// Words of the grammar that may precede a command.
constexpr std::array<std::string_view, 12> openers = {
    "!", "{", "}", "if", "then", "elif", "else", "do", "while", "until", "time", "coproc"};

bool is_opener(std::string_view word) {
    return std::find(openers.begin(), openers.end(), word) != openers.end();
}

class LooseScanner {
public:
    LooseScanner(std::string_view text, int depth, LooseReading& all)
        : text_(text), depth_(depth), all_(all), found_(all.commands) {}

    void scan() {
        scan_to_end(false);
        note_rest(at_, text_);
    }

private:
    // With `is_inside`, ends behind the parenthesis that closes what began before.
    void scan_to_end(bool is_inside) {
        is_inside_ = is_inside;
        while (at_ < text_.size() && !is_closed_ && found_.size() < most_commands)
            step();
        end_command();
    }

    void note_rest(std::size_t at, std::string_view text) {
        if (at < text.size()) all_.is_whole = false;
    }

    char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }

    void step() {
        const char c = text_[at_];
        switch (c) {
        case ' ':
        case '\t':
            end_word();
            ++at_;
            return;
        case '\n': return end_line();
        case '#':
            if (in_word_) return take(c);
            at_ = std::min(text_.find('\n', at_), text_.size());
            return;
        case ';':
        case '|':
        case '&':
            if (c == '&' && peek(1) == '>') return redirection();
            end_command();
            ++at_;
            return;
        case ')': return close();
        case '(': return parenthesis();
        case '<':
        case '>': return redirection();
        default: return piece(c);
        }
    }

    void close() {
        end_command();
        ++at_;
        if (!cases_.empty() && level_ == cases_.back()) return; // it ends a pattern
        if (level_ > 0)
            --level_;
        else
            is_closed_ = is_inside_;
    }

    void piece(char c) {
        switch (c) {
        case '{': brace_ = brace_.value_or(word_.size()); return take(c);
        case '\'': return single_quotes();
        case '"': return double_quotes();
        case '\\': return backslash();
        case '`': return backquotes();
        case '$': return dollar(false);
        default: return take(c);
        }
    }

    void take(char c) {
        word_ += c;
        in_word_ = true;
        ++at_;
    }

    // Puts a pattern in place of what the shell computes.
    void expand() {
        word_ += '*';
        is_expanded_ = in_word_ = true;
    }

    void single_quotes() {
        const std::size_t end = std::min(text_.find('\'', at_ + 1), text_.size());
        word_ += text_.substr(at_ + 1, end - at_ - 1);
        in_word_ = true;
        is_quoted_ = true;
        at_ = std::min(end + 1, text_.size());
    }

    void double_quotes() {
        in_word_ = true;
        is_quoted_ = true;
        ++at_;
        while (at_ < text_.size() && text_[at_] != '"') {
            const char c = text_[at_];
            if (c == '`') {
                backquotes();
            } else if (c == '$') {
                dollar(true);
            } else if (c == '\\' &&
                       std::string_view("$`\"\\\n").find(peek(1)) != std::string_view::npos) {
                backslash();
            } else {
                take(c);
            }
        }
        ++at_;
    }

    void backslash() {
        if (peek(1) == '\n') {
            at_ += 2;
            return;
        }
        ++at_;
        if (at_ < text_.size()) take(text_[at_]);
        is_quoted_ = true;
    }

    void backquotes() {
        std::string inside;
        ++at_;
        while (at_ < text_.size() && text_[at_] != '`') {
            const bool is_escape = text_[at_] == '\\' &&
                                   std::string_view("$`\\").find(peek(1)) != std::string_view::npos;
            if (is_escape && at_ + 1 < text_.size()) ++at_;
            inside += text_[at_++];
        }
        ++at_;
        LooseScanner(inside, depth_ + 1, all_).scan();
        expand();
        is_print_ = true;
    }

    void dollar(bool is_in_quotes) {
        ++at_;
        in_word_ = true;
        if (!is_in_quotes && peek() == '\'') return ansi_quotes();
        if (!is_in_quotes && peek() == '"') return; // $"…" is "…" in another language
        if (peek() == '(') {
            substitution();
        } else if (peek() == '{') {
            braces(is_in_quotes);
        } else if (std::string_view("@*#?$!-0123456789").find(peek()) != std::string_view::npos) {
            ++at_; // $10 is $1 and a 0
            expand();
        } else if (is_name_character(peek())) {
            while (is_name_character(peek()))
                ++at_;
            expand();
        } else {
            word_ += '$';
        }
    }

    void braces(bool is_in_quotes) {
        const std::string_view inside = enclosed_text(text_, at_, '{', '}', !is_in_quotes);
        // A default value may contain a command substitution, or be a word itself.
        find_substitutions(inside);
        expand();
    }

    // Reads the script up to its closing parenthesis. Text in it may hold other parentheses.
    void substitution() {
        if (depth_ >= deepest) {
            all_.is_whole = false;
            enclosed_text(text_, at_, '(', ')');
        } else if (peek(1) == '(') {
            // Arithmetic, or a subshell in a substitution.
            const std::string_view inside = enclosed_text(text_, at_, '(', ')');
            find_substitutions(inside);
            LooseScanner(inside, depth_ + 1, all_).scan();
        } else {
            LooseScanner inner(text_, depth_ + 1, all_);
            inner.at_ = at_ + 1;
            inner.scan_to_end(true);
            at_ = inner.at_;
            // Their texts begin behind this line.
            waiting_.insert(waiting_.end(), inner.waiting_.begin(), inner.waiting_.end());
            if (!inner.is_closed_ && found_.size() >= most_commands) all_.is_whole = false;
        }
        expand();
        is_print_ = true;
    }

    void ansi_quotes() {
        in_word_ = is_quoted_ = true;
        ++at_;
        word_ += read_ansi_quoted(text_, at_);
    }

    // A ( begins a subshell or the parentheses of a function. The values of an array are not
    // commands.
    void parenthesis() {
        if (in_word_ && is_assignment(word_)) {
            const std::string_view inside = enclosed_text(text_, at_, '(', ')');
            find_substitutions(inside);
            all_.values.emplace_back(inside);
            return;
        }
        end_command();
        ++at_;
        ++level_;
    }

    void redirection() {
        const bool is_number =
            in_word_ && word_.find_first_not_of("0123456789") == std::string::npos;
        if (is_number) {
            word_.clear(); // the word is a descriptor number
            in_word_ = false;
        } else {
            end_word();
        }
        if (peek(1) == '(') {
            ++at_;
            return substitution();
        }
        if (text_.substr(at_).starts_with("<<") && peek(2) != '<') {
            if (!is_in_arithmetic(text_.substr(0, at_)))
                return waiting_.push_back(begin_here_document(text_, at_));
            at_ += 2;
            return;
        }
        is_input_ = text_.substr(at_).starts_with("<<<");
        while (at_ < text_.size() &&
               std::string_view("<>&|").find(text_[at_]) != std::string_view::npos)
            ++at_;
        skips_word_ = true;
    }

    void end_line() {
        end_command();
        ++at_;
        for (const HereDocument& document : std::exchange(waiting_, {}))
            if (!skip_document(document)) break;
    }

    // Returns false if it is not known where the script goes on.
    bool skip_document(const HereDocument& document) {
        HereText found = read_here_document(text_, at_, document, is_inside_);
        all_.is_whole = all_.is_whole && found.is_certain;
        if (!document.is_literal) find_substitutions(found.text);
        all_.inputs.push_back(std::move(found.text));
        return found.is_certain;
    }

    // Searches a text in which only expansions have a meaning.
    void find_substitutions(std::string_view text) {
        if (depth_ >= deepest) return note_rest(text.find_first_of("$`"), text);
        LooseScanner inner(text, depth_ + 1, all_);
        while (inner.at_ < text.size() && found_.size() < most_commands) {
            const char c = text[inner.at_];
            if (c == '`')
                inner.backquotes();
            else if (c == '$')
                inner.dollar(true);
            else if (c == '\\')
                inner.backslash();
            else
                inner.take(c);
        }
        note_rest(inner.at_, text);
    }

    bool is_unquoted() const { return !is_quoted_ && !is_expanded_; }

    void end_word() {
        if (!in_word_) return;
        const bool is_command_word = words_.empty();
        const bool is_grammar = is_unquoted() && is_opener(word_);
        const bool is_timing = is_command_word && was_time_ && (word_ == "-p" || word_ == "--");
        was_time_ = is_command_word && (is_timing || (is_grammar && word_ == "time"));
        const bool is_function = is_command_word && is_unquoted() && word_ == "function";
        if (is_unquoted()) note_case(is_command_word);
        if (is_assignment(word_) && (is_command_word || is_listed(declaring, words_.front()))) {
            all_.values.push_back(word_.substr(word_.find('=') + 1));
            all_.has_printed_value = all_.has_printed_value || is_print_;
        }
        const bool is_unknown =
            is_command_word && is_expanded_ && word_.find_first_not_of('*') == std::string::npos;
        if (is_unknown) (is_print_ ? all_.runs_print : all_.runs_value) = true;
        if (skips_word_ && is_input_) all_.inputs.push_back(word_);
        if (skips_word_) is_input_ = false;
        if (skips_word_ || is_function)
            skips_word_ = is_function; // the function's name is not a command
        else if (!is_command_word || !(is_grammar || is_timing || is_assignment(word_)))
            take_word(is_unknown ? std::string(unknown_program) : std::move(word_));
        word_.clear();
        in_word_ = is_expanded_ = is_print_ = is_quoted_ = false;
        brace_.reset();
    }

    // `esac` may also follow `case x in` at once.
    void note_case(bool is_command_word) {
        const bool is_empty_case = words_.size() == 3 && words_[0] == "case" && words_[2] == "in";
        if (is_command_word && word_ == "case") cases_.push_back(level_);
        if ((is_command_word || is_empty_case) && word_ == "esac" && !cases_.empty())
            cases_.pop_back();
    }

    // Quotes around a part of the braces are not looked at: more words do no harm here.
    void take_word(std::string word) {
        const auto has = [&](std::string_view mark) {
            return brace_ && word.find(mark, *brace_) != std::string::npos;
        };
        if (!has(",") && !has("..")) return words_.push_back(std::move(word));
        auto words =
            expand_braces(word, std::vector<bool>(word.size(), true), most_words_of_braces);
        if (words) all_.text_of_braces += words->size() * word.size();
        if (words && all_.text_of_braces <= most_text_of_braces) {
            std::erase(*words, "");
            std::move(words->begin(), words->end(), std::back_inserter(words_));
        } else {
            all_.is_whole = all_.is_whole && !words_.empty();
            words_.emplace_back(words_.empty() ? unknown_program : "*");
        }
    }

    void end_command() {
        end_word();
        skips_word_ = is_input_ = was_time_ = false;
        const bool says_nothing = words_.size() == 1 && words_.front() == unknown_program;
        if (!words_.empty() && !says_nothing && !words_.front().empty())
            found_.push_back(std::move(words_));
        words_.clear();
    }

    std::string_view text_;
    int depth_;
    LooseReading& all_;
    std::vector<Words>& found_;
    std::size_t at_ = 0;
    Words words_;
    std::string word_;
    bool in_word_ = false;
    std::optional<std::size_t> brace_; // the offset in word_ of the first one without quotes
    bool is_expanded_ = false;         // a part of the word is unknown
    bool is_print_ = false;            // a command prints a part of it
    bool is_quoted_ = false;           // a part of the word is quoted
    bool skips_word_ = false;          // the word is the target of a redirection
    bool is_input_ = false;            // the word is the input of <<<
    bool was_time_ = false;            // the previous word was `time`
    std::vector<HereDocument> waiting_;
    bool is_inside_ = false; // a parenthesis ends the script
    bool is_closed_ = false; // it has come
    int level_ = 0;          // parentheses that are open
    std::vector<int> cases_; // the levels of `case` without `esac`
};

} // namespace

void read_loosely(std::string_view script, int depth, LooseReading& reading) {
    LooseScanner(script, depth, reading).scan();
}

} // namespace ew::core
