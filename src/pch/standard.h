// Precompiled for src: the headers that take longest to parse. Nothing includes this file in builds
// without precompiled headers, so each file of src has to include all that it uses.
// It has no #pragma once, because GCC compiles it like a main file.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
