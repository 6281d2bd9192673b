// The addresses that stand for names inside a sandbox: 198.18.0.0/15, which no machine of the
// internet has (RFC 2544). A name has the same address in every sandbox, unless another name took
// it first; an address is never given to a second name.
#pragma once

#include "core/network/internet.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ew::core {

class NameTable {
public:
    static constexpr std::size_t most = 4096; // names

    // Returns nullopt if there is no room for a further name.
    std::optional<Internet> address_of(const std::string& name);

    // Returns nullopt for an address that stands for nothing.
    std::optional<std::string> name_of(const Internet& address) const;

    // Is it one of the addresses that may stand for names?
    static bool has_range(const Internet& address);

private:
    std::map<std::string, Internet, std::less<>> addresses_;
    std::map<Internet, std::string> names_;
};

} // namespace ew::core
