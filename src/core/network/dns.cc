#include "core/network/dns.h"

#include "core/network/lower.h"

#include <algorithm>

namespace ew::core::dns {

namespace {

constexpr std::size_t header_size = 12;
constexpr std::size_t longest_name = 255; // bytes in a message
constexpr std::size_t longest_label = 63;
constexpr std::uint16_t internet = 1;
constexpr std::uint32_t lifetime = 60; // seconds: an address stays the name's as long as we live
constexpr std::string_view reverse_zone = ".in-addr.arpa";

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
    const auto high = static_cast<unsigned char>(bytes[at]);
    const auto low = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<std::uint16_t>(high << 8U | low);
}

void put(std::string& to, std::uint16_t number) {
    to += static_cast<char>(number >> 8U);
    to += static_cast<char>(number & 0xffU);
}

bool is_printable(std::string_view label) {
    return std::ranges::all_of(label, [](char c) { return c > ' ' && c < '\x7f' && c != '.'; });
}

// Returns the size of the name at the beginning, or 0 if it is none. A question has no compressed
// name, since nothing stands before it.
std::size_t read_name(std::string_view bytes, std::string& name) {
    bool is_readable = true;
    std::size_t at = 0;
    while (at < bytes.size() && at < longest_name) {
        const auto size = static_cast<unsigned char>(bytes[at]);
        ++at;
        if (size == 0) {
            if (!is_readable) name.clear();
            return at;
        }
        if (size > longest_label || bytes.size() - at < size) return 0;
        const std::string_view label = bytes.substr(at, size);
        is_readable = is_readable && is_printable(label);
        if (!name.empty()) name += '.';
        name += label;
        at += size;
    }
    return 0;
}

std::string begin_answer(const Query& query, Code code, std::uint16_t answers) {
    constexpr unsigned is_answer = 0x8000;
    constexpr unsigned is_recursive = 0x0080;
    constexpr unsigned recursion_wanted = 0x0100;
    std::string answer;
    put(answer, query.id);
    put(answer, static_cast<std::uint16_t>(is_answer | is_recursive |
                                           (query.wants_recursion ? recursion_wanted : 0) |
                                           static_cast<unsigned>(code)));
    put(answer, 1);
    put(answer, answers);
    put(answer, 0);
    put(answer, 0);
    return answer + query.question;
}

void begin_record(std::string& answer, Type type, std::size_t size) {
    constexpr std::uint16_t name_of_question = 0xc000 | header_size;
    put(answer, name_of_question);
    put(answer, static_cast<std::uint16_t>(type));
    put(answer, internet);
    put(answer, lifetime >> 16U);
    put(answer, lifetime & 0xffffU);
    put(answer, static_cast<std::uint16_t>(size));
}

} // namespace

std::optional<Query> read_query(std::string_view bytes) {
    if (bytes.size() < header_size) return std::nullopt;
    const std::uint16_t flags = number_at(bytes, 2);
    constexpr unsigned is_answer_or_no_query = 0xf800;
    constexpr unsigned recursion_wanted = 0x0100;
    if ((flags & is_answer_or_no_query) != 0 || number_at(bytes, 4) != 1) return std::nullopt;
    Query query;
    query.id = number_at(bytes, 0);
    query.wants_recursion = (flags & recursion_wanted) != 0;
    const std::string_view rest = bytes.substr(header_size);
    const std::size_t size = read_name(rest, query.name);
    if (size == 0 || rest.size() < size + 4) return std::nullopt;
    query.question = rest.substr(0, size + 4);
    query.type = number_at(rest, size);
    query.is_internet = number_at(rest, size + 2) == internet;
    return query;
}

std::string empty_answer(const Query& query, Code code) {
    return begin_answer(query, code, 0);
}

std::string address_answer(const Query& query, const Internet& ipv4) {
    std::string answer = begin_answer(query, Code::fine, 1);
    begin_record(answer, Type::a, 4);
    for (std::size_t i = ipv4.size() - 4; i < ipv4.size(); ++i)
        answer += static_cast<char>(ipv4[i]);
    return answer;
}

std::string name_answer(const Query& query, std::string_view name) {
    std::string answer = begin_answer(query, Code::fine, 1);
    begin_record(answer, Type::ptr, name.size() + 2);
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find('.', begin), name.size());
        answer += static_cast<char>(end - begin);
        answer += name.substr(begin, end - begin);
        begin = end + 1;
    }
    answer += '\0';
    return answer;
}

std::optional<Internet> reverse_of(std::string_view name) {
    const std::string lower = in_lower_case(name);
    if (!lower.ends_with(reverse_zone)) return std::nullopt;
    const std::string_view labels =
        std::string_view(lower).substr(0, lower.size() - reverse_zone.size());
    std::string forward;
    for (std::size_t end = labels.size();;) {
        const std::size_t dot = end == 0 ? std::string_view::npos : labels.rfind('.', end - 1);
        const std::size_t begin = dot == std::string_view::npos ? 0 : dot + 1;
        forward += labels.substr(begin, end - begin);
        if (dot == std::string_view::npos) break;
        forward += '.';
        end = dot;
    }
    const std::optional<Internet> address = read_internet(forward);
    return address && is_ipv4(*address) ? address : std::nullopt;
}

} // namespace ew::core::dns
