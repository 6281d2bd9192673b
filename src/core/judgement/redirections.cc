#include "core/judgement/redirections.h"

namespace ew::core {

namespace {

bool is_plain_name_start(std::string_view path) {
    const char c = path.empty() ? '/' : path.front();
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

} // namespace

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

bool ends_operator(std::string_view rest) {
    return rest.empty() || is_blank(rest.front()) || rest.front() == '\n' || rest.front() == ';' ||
           rest.front() == '|';
}

bool is_plain_in_zsh(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./:,@%+-").find(c) != std::string_view::npos;
}

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

OutputFile output_file(std::string_view rest) {
    const bool has_number = rest.front() == '1' || rest.front() == '2';
    std::size_t at = has_number ? 1 : 0;
    if (at >= rest.size() || rest[at] != '>') return {};
    at += rest.substr(at).starts_with(">>") ? 2 : 1;
    while (at < rest.size() && is_blank(rest[at]))
        ++at;
    std::size_t end = at;
    while (end < rest.size() && is_plain_in_zsh(rest[end]))
        ++end;
    if (end == at || !ends_operator(rest.substr(end))) return {};
    const std::string_view path = rest.substr(at, end - at);
    const std::string_view below = path.starts_with("./") ? path.substr(2) : path;
    const bool begins_plainly = is_plain_name_start(below);
    if (!begins_plainly || below.find("/.") != std::string_view::npos) return {};
    return {end, path};
}

} // namespace ew::core
