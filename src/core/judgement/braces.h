// Brace expansion of bash and zsh (bash(1), Brace Expansion): a{b,c} is ab and ac.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// `is_bare` has one item per character of `word`: it has no quotes around it. Only such braces and
// commas count. Returns nullopt if the braces are nested, unbalanced or without a comma, or if
// there would be more than `most` words.
std::optional<std::vector<std::string>>
expand_braces(std::string_view word, const std::vector<bool>& is_bare, std::size_t most);

} // namespace ew::core
