#include "sandbox/aftermath/git_settings.h"

#include <algorithm>
#include <utility>

namespace ew::sandbox {

namespace {

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name_part(char c) {
    return is_alphanumeric(c) || c == '-';
}

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

// A tab is the only control character that a line may contain.
bool is_plain(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || c == '\t';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
        text.remove_suffix(1);
    return text;
}

std::string in_lower_case(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}

struct Header {
    std::string section;
    std::optional<std::string> subsection;
};

// `line` is trimmed and begins with '['. A setting on the same line is not understood.
std::optional<Header> read_header(std::string_view line) {
    line.remove_prefix(1);
    const auto end_of_name = std::ranges::find_if_not(line, is_name_part);
    const auto length = static_cast<std::size_t>(end_of_name - line.begin());
    if (length == 0) return std::nullopt;
    Header header{in_lower_case(line.substr(0, length)), {}};
    std::string_view rest = trimmed(line.substr(length));
    if (rest.starts_with('"')) {
        rest.remove_prefix(1);
        const std::size_t quote = rest.find('"');
        if (quote == std::string_view::npos) return std::nullopt;
        const std::string_view subsection = rest.substr(0, quote);
        if (subsection.find('\\') != std::string_view::npos) return std::nullopt;
        header.subsection = subsection;
        rest.remove_prefix(quote + 1);
    }
    if (!rest.starts_with(']')) return std::nullopt;
    rest = trimmed(rest.substr(1));
    if (!rest.empty() && rest.front() != '#' && rest.front() != ';') return std::nullopt;
    return header;
}

// Returns nullopt for a value that goes on in the next line or has an unknown escape.
std::optional<std::string> read_value(std::string_view text) {
    std::string value;
    std::size_t kept = 0; // blanks at the end count only within quotes
    bool is_quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"') {
            is_quoted = !is_quoted;
        } else if (c == '\\') {
            constexpr std::string_view names = "\\\"nt";
            constexpr std::string_view meant = "\\\"\n\t";
            const std::size_t which =
                at + 1 < text.size() ? names.find(text[at + 1]) : std::string_view::npos;
            if (which == std::string_view::npos) return std::nullopt;
            value.push_back(meant[which]);
            ++at;
        } else if (!is_quoted && (c == '#' || c == ';')) {
            break;
        } else {
            value.push_back(c);
        }
        if (is_quoted || !is_blank(c)) kept = value.size();
    }
    if (is_quoted) return std::nullopt;
    value.resize(kept);
    return value;
}

// `line` is trimmed and not empty.
std::optional<GitSetting> read_setting(std::string_view line, const Header& header) {
    const auto end_of_name = std::ranges::find_if_not(line, is_name_part);
    const auto length = static_cast<std::size_t>(end_of_name - line.begin());
    if (length == 0 || !is_alphanumeric(line.front())) return std::nullopt;
    GitSetting setting{
        header.section, header.subsection, in_lower_case(line.substr(0, length)), {}};
    const std::string_view rest = trimmed(line.substr(length));
    if (rest.empty()) return setting;
    if (!rest.starts_with('=')) return std::nullopt;
    setting.value = read_value(trimmed(rest.substr(1)));
    return setting.value ? std::optional(std::move(setting)) : std::nullopt;
}

// Returns false for a line that is not understood.
bool take_line(std::string_view whole, std::optional<Header>& header, GitSettings& result) {
    if (!std::ranges::all_of(whole, is_plain) || whole.ends_with('\\')) return false;
    const std::string_view line = trimmed(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') return true;
    if (line.front() == '[') {
        header = read_header(line);
        return header.has_value();
    }
    std::optional<GitSetting> setting = header ? read_setting(line, *header) : std::nullopt;
    if (!setting) return false;
    result.settings.push_back(std::move(*setting));
    return true;
}

} // namespace

std::string GitSetting::name() const {
    return subsection ? section + '.' + *subsection + '.' + key : section + '.' + key;
}

GitSettings read_git_settings(std::string_view text) {
    GitSettings result;
    std::optional<Header> header;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view whole = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (take_line(whole, header, result)) continue;
        result.odd_lines.push_back(number);
    }
    return result;
}

} // namespace ew::sandbox
