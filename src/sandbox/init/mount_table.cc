#include "sandbox/init/mount_table.h"

namespace ew::sandbox::init {

namespace {

std::string_view take_word(std::string_view& rest) {
    const std::size_t space = rest.find(' ');
    const std::size_t length = space == std::string_view::npos ? rest.size() : space;
    const std::string_view word(rest.data(), length);
    rest.remove_prefix(length == rest.size() ? length : length + 1);
    return word;
}

bool read_number(std::string_view digits, std::uint64_t& number) {
    constexpr std::size_t longest = 19; // digits that always fit into 64 bits
    if (digits.empty() || digits.size() > longest) return false;
    number = 0;
    for (const char digit : digits) {
        if (digit < '0' || digit > '9') return false;
        number = number * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return true;
}

// "MAJOR:MINOR"
bool read_device(std::string_view text, MountLine& mount) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return false;
    const std::string_view major(text.data(), colon);
    text.remove_prefix(colon + 1);
    return read_number(major, mount.major) && read_number(text, mount.minor);
}

bool is_octal(char digit) {
    return digit >= '0' && digit <= '7';
}

} // namespace

bool parse_mount(std::string_view line, MountLine& mount) {
    std::string_view rest = line;
    if (!read_number(take_word(rest), mount.id)) return false;
    take_word(rest); // the parent
    const std::string_view device = take_word(rest);
    const std::string_view root = take_word(rest);
    mount.source = {device.data(), device.size() + 1 + root.size()};
    mount.path = take_word(rest);
    std::string_view options = take_word(rest);
    // "ro" or "rw" is always the first option.
    mount.is_read_only = options == "ro" || options.starts_with("ro,");
    if (!read_device(device, mount) || root.empty() || !mount.path.starts_with('/')) return false;
    while (!rest.empty() && take_word(rest) != "-") {} // optional fields
    mount.type = take_word(rest);
    return !mount.type.empty();
}

std::size_t unescape(std::string_view escaped, char* to) {
    std::size_t length = 0;
    for (std::size_t at = 0; at < escaped.size(); ++length) {
        const char* const from = escaped.data() + at;
        const bool is_number = *from == '\\' && escaped.size() - at >= 4 && is_octal(from[1]) &&
                               is_octal(from[2]) && is_octal(from[3]);
        if (is_number) {
            to[length] =
                static_cast<char>((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0');
            at += 4;
        } else {
            to[length] = *from;
            ++at;
        }
    }
    return length;
}

bool is_within(std::string_view path, std::string_view directory) {
    if (directory == "/") return true;
    return path.starts_with(directory) &&
           (path.size() == directory.size() || path[directory.size()] == '/');
}

} // namespace ew::sandbox::init
