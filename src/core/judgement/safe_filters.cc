#include "core/judgement/safe_filters.h"

#include "core/judgement/program_options.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace ew::core {

namespace {

// Reads a script of sed(1). Accepts `p`, `d` and `=` with addresses, and `s` without the flags that
// write or start something. What versions of sed could read differently is not accepted.
class SedScript {
public:
    explicit SedScript(std::string_view text) : rest_(text) {}

    // Without -n, `p` prints lines twice and is not accepted.
    bool is_safe(bool prints_all) {
        do {
            skip_blanks();
            if (!addresses() ||
                !(take('d') || take('=') || (!prints_all && take('p')) || substitution()))
                return false;
            skip_blanks();
        } while (take(';'));
        return rest_.empty();
    }

private:
    bool take(char c) {
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    void skip_blanks() {
        while (take(' ')) {}
    }

    bool number() {
        const std::size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
        rest_.remove_prefix(end);
        return end > 0;
    }

    // N, $, N~STEP or /REGEX/
    bool address() {
        if (take('$')) return true;
        if (take('/')) return text_up_to('/', true);
        return number() && (!take('~') || number());
    }

    bool addresses() {
        if (rest_.starts_with('s')) return true;
        if (!address()) return false;
        if (!take(',')) return true;
        const bool is_relative = take('+') || take('~');
        return is_relative ? number() : address();
    }

    bool substitution() {
        if (!take('s') || rest_.empty() ||
            std::string_view("/|,#:@!%").find(rest_.front()) == std::string_view::npos)
            return false;
        const char delimiter = rest_.front();
        rest_.remove_prefix(1);
        if (!text_up_to(delimiter, true) || !text_up_to(delimiter, false)) return false;
        rest_.remove_prefix(std::min(rest_.find_first_not_of("gpiI0123456789"), rest_.size()));
        return true;
    }

    // Removes the text and the delimiter behind it.
    bool text_up_to(char delimiter, bool is_regex) {
        while (!rest_.empty() && rest_.front() != '\n') {
            const char c = rest_.front();
            rest_.remove_prefix(1);
            if (c == delimiter) return true;
            if (c == '\\' && (rest_.empty() || rest_.front() == '\n')) return false;
            if (c == '\\')
                rest_.remove_prefix(1);
            else if (c == '[' && is_regex && !brackets(delimiter))
                return false;
        }
        return false;
    }

    // Versions of sed disagree about a delimiter and a backslash in brackets, and about where they
    // end behind [:alpha:].
    bool brackets(char delimiter) {
        take('^');
        take(']');
        bool has_class = false;
        while (!rest_.empty() && rest_.front() != ']') {
            const char c = rest_.front();
            if (c == delimiter || c == '\\' || c == '\n') return false;
            rest_.remove_prefix(1);
            if (c == '[' && std::exchange(has_class, true)) return false;
            if (c != '[' || rest_.empty() ||
                std::string_view(":.=").find(rest_.front()) == std::string_view::npos)
                continue;
            const char end[] = {rest_.front(), ']'};
            const std::size_t close = rest_.find({end, 2}, 1);
            if (close == std::string_view::npos ||
                rest_.substr(0, close).find_first_of("/|,#:@!%", 1) != std::string_view::npos)
                return false;
            rest_.remove_prefix(close + 2);
        }
        return take(']');
    }

    std::string_view rest_;
};

// Returns true if the text can neither write nor start anything, however a version of awk reads it:
// that takes >, |, @ or one of these functions (awk(1p), gawk(1)). A > before the first brace
// compares, since statements stand in braces. The names of arrays that hold the environment, which
// may have secrets, are not accepted either.
bool is_safe_awk_program(std::string_view text) {
    for (const std::string_view word :
         {"getline", "system", "ENVIRON", "PROCINFO", "SYMTAB", "ARGV", "/inet", "\\\n", "@"})
        if (text.find(word) != std::string_view::npos) return false;
    const std::size_t brace = std::min(text.find('{'), text.size());
    for (std::size_t at = text.find('>', brace); at != std::string_view::npos;
         at = text.find('>', at + 1))
        if (!text.substr(at).starts_with(">=") || text[at - 1] == '>') return false;
    for (std::size_t at = text.find('|'); at != std::string_view::npos; at = text.find('|', at + 2))
        if (!text.substr(at).starts_with("||") || text.substr(at).starts_with("|||")) return false;
    return true;
}

// Returns true if the word may become /inet/…: a connection for some versions of awk.
bool may_connect(std::string_view word, bool has_glob) {
    constexpr std::string_view network = "/inet";
    const std::string_view start = literal_start(word);
    return word.find(network) != std::string_view::npos ||
           (has_glob && (network.starts_with(start) || start.starts_with(network)));
}

} // namespace

bool is_safe_sed(const ShellCommand& command) {
    const auto& words = command.words;
    bool prints_all = true;
    std::size_t at = 1;
    for (; at < words.size() && is_listed("-n -E -r -nE -En -nr -rn", words[at]); ++at)
        prints_all = prints_all && words[at].find('n') == std::string::npos;
    const bool has_options = at < words.size() && words[at] == "-e";
    do {
        at += has_options ? 1 : 0;
        if (at >= words.size() || command.has_glob[at] || !SedScript(words[at]).is_safe(prints_all))
            return false;
        ++at;
    } while (has_options && at < words.size() && words[at] == "-e");
    for (; at < words.size(); ++at) {
        if (words[at].size() > 1 && words[at].front() == '-') return false;
        if (!is_clear_of_options(command, at)) return false;
    }
    return true;
}

bool is_safe_awk(const ShellCommand& command) {
    const auto read = read_words(command, 1, {.shorts = "F:v:", .stops_at_operand = true});
    if (!read || read->operands.empty()) return false;
    const std::size_t program = read->operands.front();
    for (std::size_t i = 1; i < command.words.size(); ++i)
        if (may_connect(command.words[i], command.has_glob[i])) return false;
    return !command.has_glob[program] && is_safe_awk_program(command.words[program]);
}

} // namespace ew::core
