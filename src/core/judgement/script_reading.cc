#include "core/judgement/script_reading.h"

#include "core/judgement/braces.h"
#include "core/judgement/redirections.h"

#include <algorithm>

namespace ew::core {

namespace {

constexpr std::size_t most_words_of_braces = 256;

constexpr std::string_view unknown_value = "$ puts something else in its place";

std::size_t name_length(std::string_view text) {
    if (text.empty() || !begins_name(text.front())) return 0;
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_name_character) -
                                    text.begin());
}

// Returns true if the shell passes the value on as one word also without quotes.
bool is_one_word(std::string_view value) {
    return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
        return is_name_character(c) ||
               std::string_view("_./:,@%+-=").find(c) != std::string_view::npos;
    });
}

class WordReader {
public:
    explicit WordReader(ScriptReading& reading) : in_(reading) {}

    ShellWord read() {
        while (in_.is_good() && !in_.has_ended() && !ends_here())
            piece(in_.here());
        if (in_.is_good()) finish();
        return std::move(word_);
    }

private:
    bool ends_here() const {
        return std::string_view(" \t\n;&|<>()").find(in_.here()) != std::string_view::npos;
    }

    void piece(char c) {
        switch (c) {
        case '\'': return single_quotes();
        case '"': return double_quotes();
        case '\\': return backslash();
        case '$': return dollar();
        case '`': return in_.fail("a command is put in place of `…`");
        case '!': return exclamation();
        case '~': return tilde();
        case '=': return equals();
        default: return plain(c);
        }
    }

    void plain(char c) {
        if (c == '*' || c == '?' || c == '[') word_.has_glob = word_.is_several = true;
        if (in_.dialect == Dialect::zsh && !is_plain_in_zsh(c) && (c != '=' || word_.text.empty()))
            return in_.fail("a character that may be special to zsh");
        if (c == '{' && !brace_) brace_ = word_.text.size();
        add(c, true);
        ++in_.at;
    }

    void add(char c, bool is_bare) {
        word_.text += c;
        is_bare_.push_back(is_bare);
        word_.is_written = true;
        word_.is_bare = word_.is_bare && is_bare;
    }

    void add(std::string_view text) {
        word_.is_written = true;
        word_.is_bare = false;
        for (const char c : text)
            add(c, false);
    }

    // Passes the character, which is quoted.
    void take() {
        add(in_.here(), false);
        ++in_.at;
    }

    void single_quotes() {
        const std::size_t end = in_.text.find('\'', in_.at + 1);
        if (end == std::string_view::npos) return in_.fail("a quote is not closed");
        add(in_.text.substr(in_.at + 1, end - in_.at - 1));
        in_.at = end + 1;
    }

    void double_quotes() {
        add("");
        ++in_.at;
        while (in_.is_good() && !in_.has_ended() && in_.here() != '"')
            quoted_character();
        if (in_.has_ended()) return in_.fail("a quote is not closed");
        ++in_.at;
    }

    void quoted_character() {
        const char c = in_.here();
        if (c == '`') return in_.fail("a command is put in place of `…`");
        if (c == '$' && !is_literal_dollar("\" |)/")) return expansion(true);
        if (c == '\\' && in_.next() == '\n') {
            in_.at += 2;
            return;
        }
        // In double quotes, a backslash escapes only these characters.
        if (c == '\\' && std::string_view("$`\"\\").find(in_.next()) != std::string_view::npos)
            ++in_.at;
        if (!in_.has_ended()) take();
    }

    void backslash() {
        if (in_.at + 1 >= in_.text.size()) return in_.fail("a backslash at the end");
        if (in_.next() == '\n') {
            in_.at += 2; // the line continues
            return;
        }
        ++in_.at;
        take();
    }

    bool is_literal_dollar(std::string_view followers) const {
        if (in_.dialect == Dialect::zsh) return false;
        const char next = in_.next();
        return in_.at + 1 >= in_.text.size() || followers.find(next) != std::string_view::npos;
    }

    void dollar() {
        if (!is_literal_dollar(" \t\n;|")) return expansion(false);
        plain('$');
    }

    void expansion(bool is_quoted) {
        if (in_.next() == '?') return status();
        if (in_.next() == '(') return substitution(is_quoted);
        const bool is_braced = in_.next() == '{';
        const std::size_t begin = std::min(in_.at + (is_braced ? 2 : 1), in_.text.size());
        const std::string_view name = in_.text.substr(begin, name_length(in_.text.substr(begin)));
        const auto variable = in_.variables.find(name);
        const std::size_t end = begin + name.size();
        const bool is_closed = !is_braced || in_.text.substr(end).starts_with('}');
        if (in_.dialect == Dialect::zsh || variable == in_.variables.end() || !is_closed)
            return in_.fail(unknown_value);
        in_.at = end + (is_braced ? 1 : 0);
        in_.is_plain = false;
        word_.is_expanded = true;
        const auto& [value, is_pattern] = variable->second;
        if (!value || (!is_quoted && !is_one_word(*value))) return add_unknown(!is_quoted);
        add(*value);
        word_.has_glob = word_.has_glob || is_pattern;
        in_.spend(value->size());
    }

    void substitution(bool is_quoted) {
        const bool is_arithmetic = in_.rest().starts_with("$((");
        if (in_.dialect == Dialect::zsh || is_arithmetic) return in_.fail(unknown_value);
        in_.at += 2;
        in_.read_commands();
        word_.is_expanded = true;
        add_unknown(!is_quoted);
    }

    // $? is a number, and which one does not matter to a command that is safe with any. zsh reads
    // more behind it: $?[1], $?:h
    void status() {
        const char follower = in_.at + 2 < in_.text.size() ? in_.text[in_.at + 2] : '\n';
        if (in_.dialect == Dialect::zsh &&
            std::string_view(" \t\n;|&\"").find(follower) == std::string_view::npos)
            return in_.fail(unknown_value);
        add("0");
        in_.at += 2;
        word_.has_glob = true;
    }

    void add_unknown(bool is_split) {
        add("*");
        word_.has_glob = true;
        word_.is_split = word_.is_split || is_split;
        word_.is_several = word_.is_several || is_split;
    }

    void exclamation() {
        const char follower = in_.next();
        if (word_.is_written || !(follower == '\0' || is_blank(follower) || follower == '\n'))
            return in_.fail("! may call up an earlier command");
        plain('!');
    }

    void tilde() {
        const std::string_view followers = " \t\n;&|/)";
        const bool is_home =
            in_.at + 1 >= in_.text.size() || followers.find(in_.next()) != std::string_view::npos;
        if (!word_.is_written && is_home && in_.dialect != Dialect::zsh) {
            in_.is_plain = false;
            ++in_.at;
            return add_unknown(false);
        }
        if (word_.text.empty() || word_.text.back() == '=' || word_.text.back() == ':')
            return in_.fail("~ stands for a directory");
        has_tilde_ = true;
        plain('~');
    }

    void equals() {
        const bool is_first = word_.equals == 0 && word_.is_bare && !word_.text.empty();
        if (is_first && name_length(word_.text) == word_.text.size())
            word_.equals = word_.text.size() + 1;
        plain('=');
    }

    void finish() {
        if (brace_) braces();
        if (word_.is_bare && word_.text == "[") word_.has_glob = word_.is_several = false;
    }

    void braces() {
        const std::string_view tail = std::string_view(word_.text).substr(*brace_);
        const bool is_sequence = tail.find("..") != std::string_view::npos;
        if (!is_sequence && tail.find(',') == std::string_view::npos) return;
        // A word of nothing else is a list of words, and may be a whole command. Braces come before
        // variables: $x{a,b} is $xa $xb.
        const bool is_alone = word_.text.front() == '{' && word_.text.back() == '}';
        const bool is_simple = in_.dialect == Dialect::bash && !is_sequence && !is_alone &&
                               !has_tilde_ && !word_.has_glob && !word_.is_expanded &&
                               word_.equals == 0;
        if (is_simple)
            if (auto words = expand_braces(word_.text, is_bare_, most_words_of_braces))
                word_.words = std::move(*words);
        const bool has_empty = std::find(word_.words.begin(), word_.words.end(), "") !=
                               word_.words.end(); // the shell leaves it out
        if (word_.words.empty() || has_empty) return in_.fail("braces make several words of one");
        in_.is_plain = word_.is_bare = false;
        in_.spend(word_.words.size() * word_.text.size());
    }

    ScriptReading& in_;
    ShellWord word_;
    std::vector<bool> is_bare_;        // one per character of the text
    std::optional<std::size_t> brace_; // the offset of the first brace
    bool has_tilde_ = false;
};

} // namespace

bool ScriptReading::take_keyword(std::string_view word) {
    if (keyword() != word) return false;
    at += word.size();
    is_plain = false;
    return true;
}

void ScriptReading::expect(std::string_view word) {
    if (is_good() && !take_keyword(word)) fail(not_understood);
}

void ScriptReading::spend(std::size_t bytes) {
    constexpr std::size_t most = 1 << 20;
    spent_ += bytes;
    if (spent_ > most) fail("variables, braces and loops make too much of it");
}

void ScriptReading::skip_blanks() {
    while (is_blank(here()) || rest().starts_with("\\\n"))
        at += here() == '\\' ? 2 : 1;
}

void ScriptReading::skip_comment() {
    if (dialect == Dialect::zsh) return fail("a comment");
    at = std::min(text.find('\n', at), text.size());
}

ShellWord read_shell_word(ScriptReading& reading) {
    return WordReader(reading).read();
}

} // namespace ew::core
