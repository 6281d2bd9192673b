// What the fuzz targets do with one input. The corpus is played through the same functions in every
// test run. A promise that does not hold ends the program, in builds of every kind.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace ew::fuzz {

void client_hello(std::string_view input);
void dns(std::string_view input);
void framing(std::string_view input);
void dispatch(std::string_view input);
void patch(std::string_view input);
void proxy_answer(std::string_view input);
void rules(std::string_view input);
void screen(std::string_view input);
void shell_words(std::string_view input);
void utf8(std::string_view input);

inline void require(bool holds) {
    if (!holds) std::abort();
}

// Cuts an input by itself: a byte says how many of the bytes behind it belong together.
std::vector<std::string> cut(std::string_view input);

} // namespace ew::fuzz
