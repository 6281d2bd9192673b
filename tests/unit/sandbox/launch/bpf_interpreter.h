// Runs and checks classic BPF as seccomp(2) uses it, without the kernel, so that one program can be
// tested with calls of any architecture.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace ew::test {

namespace bpf {

constexpr std::uint16_t load_word = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t and_constant = BPF_ALU | BPF_AND | BPF_K;
constexpr std::uint16_t jump_always = BPF_JMP | BPF_JA;
constexpr std::uint16_t jump_equal = BPF_JMP | BPF_JEQ | BPF_K;
constexpr std::uint16_t jump_above = BPF_JMP | BPF_JGT | BPF_K;
constexpr std::uint16_t jump_from = BPF_JMP | BPF_JGE | BPF_K;
constexpr std::uint16_t jump_any_bit = BPF_JMP | BPF_JSET | BPF_K;
constexpr std::uint16_t give_constant = BPF_RET | BPF_K;

inline bool is_test(std::uint16_t code) {
    return code == jump_equal || code == jump_above || code == jump_from || code == jump_any_bit;
}

inline bool holds(const sock_filter& test, std::uint32_t accumulator) {
    switch (test.code) {
    case jump_equal: return accumulator == test.k;
    case jump_above: return accumulator > test.k;
    case jump_from: return accumulator >= test.k;
    default: return (accumulator & test.k) != 0;
    }
}

} // namespace bpf

// Returns the program's result for the call, or nullopt if the program is invalid: see fault_of().
inline std::optional<std::uint32_t> run(const std::vector<sock_filter>& program,
                                        const seccomp_data& call) {
    std::uint32_t accumulator = 0;
    // Jumps only go forward, so this ends.
    for (std::size_t at = 0; at < program.size(); ++at) {
        const sock_filter& step = program[at];
        if (step.code == bpf::give_constant) return step.k;
        if (step.code == bpf::load_word) {
            if (step.k % 4 != 0 || step.k + 4 > sizeof(call)) return std::nullopt;
            std::memcpy(&accumulator, reinterpret_cast<const char*>(&call) + step.k, 4);
        } else if (step.code == bpf::and_constant) {
            accumulator &= step.k;
        } else if (step.code == bpf::jump_always) {
            at += step.k;
        } else if (bpf::is_test(step.code)) {
            at += bpf::holds(step, accumulator) ? step.jt : step.jf;
        } else {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

// Returns what is wrong with the program, or an empty string. Checks every instruction, and so
// every path: each must be reachable, known, stay inside the program and inside the data, and no
// path may run off the end.
inline std::string fault_of(const std::vector<sock_filter>& program) {
    if (program.empty() || program.size() > BPF_MAXINSNS) return "its length is not allowed";
    std::vector<bool> reached(program.size() + 1, false);
    reached[0] = true;
    const auto reach = [&reached](std::size_t target) {
        if (target + 1 < reached.size()) reached[target] = true;
        return target + 1 < reached.size();
    };
    for (std::size_t at = 0; at < program.size(); ++at) {
        const sock_filter& step = program[at];
        const std::string where = " at " + std::to_string(at);
        if (!reached[at]) return "never reached:" + where;
        if (step.code == bpf::give_constant) continue;
        if (bpf::is_test(step.code)) {
            if (!reach(at + 1 + step.jt) || !reach(at + 1 + step.jf)) return "jumps out" + where;
            continue;
        }
        const bool is_load = step.code == bpf::load_word;
        if (is_load && (step.k % 4 != 0 || step.k + 4 > sizeof(seccomp_data)))
            return "loads what is not there" + where;
        const bool is_jump = step.code == bpf::jump_always;
        if (!is_load && !is_jump && step.code != bpf::and_constant) return "unknown code" + where;
        if (!reach(at + 1 + (is_jump ? step.k : 0))) return "runs off the end" + where;
    }
    return {};
}

} // namespace ew::test
