#include "store/types.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

namespace ew::store {

namespace {

constexpr std::array<std::string_view, 5> scopes = {"directory", "workspace", "session", "project",
                                                    "always"};
constexpr std::array<std::string_view, 5> kinds = {"command", "prefix", "denial", "question",
                                                   "host"};

template <class Enum, std::size_t size>
std::optional<Enum> find(const std::array<std::string_view, size>& names, std::string_view name) {
    for (std::size_t i = 0; i < size; ++i)
        if (names[i] == name) return static_cast<Enum>(i);
    return {};
}

} // namespace

Moment Moment::now() {
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<Millis>(wall).count(), clock_now()};
}

std::string_view name_of(GrantScope scope) {
    return scopes[static_cast<std::size_t>(scope)];
}

std::string_view name_of(GrantKind kind) {
    return kinds[static_cast<std::size_t>(kind)];
}

std::optional<GrantScope> scope_of(std::string_view name) {
    return find<GrantScope>(scopes, name);
}

std::optional<GrantKind> kind_of(std::string_view name) {
    return find<GrantKind>(kinds, name);
}

std::string name_of(GrantKind kind, std::int64_t id) {
    const bool is_grant = kind != GrantKind::denial && kind != GrantKind::question;
    return fmt::format("{} {}", is_grant ? "grant" : name_of(kind), id);
}

} // namespace ew::store
