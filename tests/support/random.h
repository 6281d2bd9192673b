// Random numbers that are the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace ew::test {

class Random {
public:
    explicit Random(std::uint32_t seed) : generator_(seed) {}

    std::size_t below(std::size_t limit) { return generator_() % limit; }

    std::string bytes(std::size_t count) {
        std::string result;
        while (result.size() < count)
            result += static_cast<char>(generator_() & 0xff);
        return result;
    }

private:
    std::mt19937 generator_;
};

} // namespace ew::test
