#include "core/judgement/loose_texts.h"

#include "core/judgement/shell_words.h"

#include <algorithm>

namespace ew::core {

namespace {

// Nothing in it is expanded.
void read_delimiter(std::string_view text, std::size_t& at, HereDocument& document) {
    char quote = '\0';
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (quote == '\0' && std::string_view(" \t\n;&|<>()").find(c) != std::string_view::npos)
            return;
        if (c == quote) {
            quote = '\0';
        } else if (quote == '\0' && (c == '\'' || c == '"')) {
            quote = c;
            document.is_literal = true;
        } else if (c == '\\' && quote != '\'' && at + 1 < text.size()) {
            document.end += text[++at];
            document.is_literal = true;
        } else {
            document.end += c;
        }
    }
}

std::string_view next_line(std::string_view text, std::size_t& at) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
    return line;
}

// An even number of them stands for backslashes.
bool ends_with_backslash(std::string_view line) {
    const std::size_t last = line.find_last_not_of('\\');
    const std::size_t count = last == std::string_view::npos ? line.size() : line.size() - last - 1;
    return count % 2 == 1;
}

// In $( ), bash also ends a document at a line that begins with the delimiter and holds the closing
// parenthesis, and reads on behind the delimiter.
bool may_end_in_bash(std::string_view line, const HereDocument& document, bool is_inside) {
    return is_inside && line.starts_with(document.end) &&
           line.find(')', document.end.size()) != std::string_view::npos;
}

} // namespace

bool is_assignment(std::string_view word) {
    std::size_t at = 0;
    while (at < word.size() && is_name_character(word[at]))
        ++at;
    if (at == 0 || at == word.size()) return false;
    if (word[at] == '[') return word.find("]=", at) != std::string_view::npos;
    if (word[at] == '+') ++at;
    return at < word.size() && word[at] == '=';
}

std::string_view enclosed_text(std::string_view text, std::size_t& at, char open, char close,
                               bool has_single_quotes) {
    const std::size_t begin = at + 1;
    int level = 0;
    bool is_quoted = false;
    while (at < text.size()) {
        const char c = text[at++];
        if (c == '\\') {
            ++at;
        } else if (c == '"') {
            is_quoted = !is_quoted;
        } else if (is_quoted) {
            continue;
        } else if (c == '\'' && has_single_quotes) {
            at = std::min(text.find('\'', at), text.size() - 1) + 1;
        } else if (c == open) {
            ++level;
        } else if (c == close && --level == 0) {
            return text.substr(begin, at - begin - 1);
        }
    }
    at = text.size();
    return text.substr(std::min(begin, text.size()));
}

bool is_in_arithmetic(std::string_view before) {
    constexpr std::size_t farthest = 4096; // that is looked back
    before.remove_prefix(before.size() - std::min(before.size(), farthest));
    const auto is_open = [before](std::string_view open, std::string_view close) {
        const std::size_t opened = before.rfind(open);
        const std::size_t closed = before.rfind(close);
        return opened != std::string_view::npos &&
               (closed == std::string_view::npos || closed < opened);
    };
    const std::size_t bracket = before.rfind('[');
    const bool is_subscript =
        bracket != std::string_view::npos && bracket > 0 &&
        (is_name_character(before[bracket - 1]) || before[bracket - 1] == '$');
    return is_open("((", "))") || (is_subscript && is_open("[", "]"));
}

HereDocument begin_here_document(std::string_view text, std::size_t& at) {
    HereDocument document;
    at += 2;
    if (text.substr(at).starts_with('-')) {
        document.strips_tabs = true;
        ++at;
    }
    at = std::min(text.find_first_not_of(" \t", at), text.size());
    read_delimiter(text, at, document);
    return document;
}

HereText read_here_document(std::string_view text, std::size_t& at, const HereDocument& document,
                            bool is_inside) {
    HereText found;
    while (at < text.size()) {
        const std::size_t begin = at;
        std::string line(next_line(text, at));
        // The shell joins lines before it looks for the end.
        bool is_joined = false;
        while (!document.is_literal && ends_with_backslash(line) && at < text.size()) {
            line.pop_back();
            line += next_line(text, at);
            is_joined = true;
        }
        const std::size_t tabs =
            document.strips_tabs ? std::min(line.find_first_not_of('\t'), line.size()) : 0;
        line.erase(0, tabs);
        if (line == document.end) break;
        if (may_end_in_bash(line, document, is_inside)) {
            found.is_certain = false;
            if (!is_joined) at = begin + tabs + document.end.size();
            break;
        }
        found.text.append(line).append("\n");
    }
    return found;
}

} // namespace ew::core
