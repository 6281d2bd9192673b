#include "core/network/name_table.h"

#include <cstdint>

namespace ew::core {

namespace {

constexpr std::uint32_t range = 0xc6120000; // 198.18.0.0
constexpr std::uint32_t size = 1U << 17U;   // of a /15
constexpr std::uint32_t margin = 256;       // addresses at both ends that stand for nothing

// FNV-1a, 64 bits, folded. A collision costs another place, and nothing else.
std::uint32_t place_of(std::string_view name) {
    std::uint64_t number = 0xcbf29ce484222325;
    for (const char letter : name)
        number = (number ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    return static_cast<std::uint32_t>((number ^ (number >> 32U)) % (size - 2 * margin));
}

Internet address_at(std::uint32_t place) {
    const std::uint32_t number = range + margin + place;
    Internet address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    for (std::size_t i = 0; i < 4; ++i)
        address[12 + i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
    return address;
}

} // namespace

std::optional<Internet> NameTable::address_of(const std::string& name) {
    if (const auto known = addresses_.find(name); known != addresses_.end()) return known->second;
    if (addresses_.size() >= most) return std::nullopt;
    std::uint32_t place = place_of(name);
    while (names_.contains(address_at(place)))
        place = (place + 1) % (size - 2 * margin);
    const Internet address = address_at(place);
    addresses_.emplace(name, address);
    names_.emplace(address, name);
    return address;
}

std::optional<std::string> NameTable::name_of(const Internet& address) const {
    const auto found = names_.find(address);
    if (found == names_.end()) return std::nullopt;
    return found->second;
}

bool NameTable::has_range(const Internet& address) {
    return is_ipv4(address) && address[12] == 198 && (address[13] & 0xfeU) == 18;
}

} // namespace ew::core
