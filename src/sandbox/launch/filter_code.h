// Builds the seccomp program from conditions and actions (bpf(2) in its classic form, seccomp(2)).
#pragma once

#include "sandbox/launch/filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace ew::sandbox {

using Code = std::vector<sock_filter>;

constexpr std::uint32_t allow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t notify = SECCOMP_RET_USER_NOTIF;

constexpr std::uint32_t fail_with(int error) {
    return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

// A test of one half of an argument, usually the low 32 bits. The kernel takes most tested
// arguments as int or unsigned int and drops the high bits; a program could evade a test of all 64
// bits by setting some of them.
struct Condition {
    enum class Test : std::uint8_t { equal, unequal };
    enum class Half : std::uint8_t { low, high };

    std::uint32_t argument = 0;
    std::uint32_t mask = 0;
    std::uint32_t value = 0;
    Test test = Test::equal;
    Half half = Half::low;
};

constexpr std::uint32_t all_bits = 0xffff'ffff;

constexpr Condition masked(std::uint32_t argument, std::uint32_t mask, std::uint32_t value) {
    return {argument, mask, value};
}

constexpr Condition is(std::uint32_t argument, std::uint32_t value) {
    return masked(argument, all_bits, value);
}

constexpr Condition has_any_of(std::uint32_t argument, std::uint32_t bits) {
    return {argument, bits, 0, Condition::Test::unequal};
}

constexpr Condition is_not(std::uint32_t argument, std::uint32_t value) {
    return {argument, all_bits, value, Condition::Test::unequal};
}

constexpr Condition has_high_bits(std::uint32_t argument) {
    return {argument, all_bits, 0, Condition::Test::unequal, Condition::Half::high};
}

// The action is taken if all conditions hold.
struct Rule {
    std::vector<Condition> conditions;
    std::uint32_t action = allow;
};

constexpr sock_filter finish(std::uint32_t action) {
    return {static_cast<std::uint16_t>(BPF_RET | BPF_K), 0, 0, action};
}

void append(Code& code, const Code& more);

// The first rule that matches decides; if none does, the call is allowed.
Code code_of(const std::vector<Rule>& rules);

// Expects the number of the call in the accumulator, and allows a call that has no code. `calls` is
// sorted by number. Few tests lead to each call: the kernel runs the program once for every number
// when it is installed (seccomp_cache_prepare()).
Code choice(const std::vector<std::pair<int, Code>>& calls);

// Ends with the number of the call in the accumulator.
Code prologue(Architecture architecture);

} // namespace ew::sandbox
