#include "sandbox/launch/filter_code.h"

#include "base/check.h"

#include <linux/audit.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>

namespace ew::sandbox {

namespace {

// The assembler. Code is built from the inside out: each test is put in front of the code that it
// guards and jumps over it, so no labels are needed, and a call that does not match continues after
// it.

constexpr sock_filter statement(int code, std::uint32_t operand) {
    return {static_cast<std::uint16_t>(code), 0, 0, operand};
}

constexpr sock_filter load(std::size_t offset) {
    return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

// Both architectures are little-endian: the low half comes first.
constexpr sock_filter load_argument(const Condition& condition) {
    const std::size_t half = condition.half == Condition::Half::high ? sizeof(std::uint32_t) : 0;
    return load(offsetof(seccomp_data, args) + condition.argument * sizeof(std::uint64_t) + half);
}

constexpr sock_filter jump(int test, std::uint32_t operand, std::size_t if_true,
                           std::size_t if_false) {
    CHECK(if_true <= 0xff && if_false <= 0xff);
    return {static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), static_cast<std::uint8_t>(if_true),
            static_cast<std::uint8_t>(if_false), operand};
}

Code guarded(const Condition& condition, const Code& inner) {
    Code code = {load_argument(condition)};
    if (condition.mask != all_bits)
        code.push_back(statement(BPF_ALU | BPF_AND | BPF_K, condition.mask));
    if (condition.test == Condition::Test::equal)
        code.push_back(jump(BPF_JEQ, condition.value, 0, inner.size()));
    else
        code.push_back(jump(BPF_JEQ, condition.value, inner.size(), 0));
    append(code, inner);
    return code;
}

Code code_of(const Rule& rule) {
    Code code = {finish(rule.action)};
    std::for_each(rule.conditions.rbegin(), rule.conditions.rend(),
                  [&code](const Condition& condition) { code = guarded(condition, code); });
    return code;
}

Code for_call(const std::pair<int, Code>& call) {
    const auto& [number, inner] = call;
    Code code = {jump(BPF_JEQ, static_cast<std::uint32_t>(number), 0, inner.size())};
    append(code, inner);
    code.push_back(finish(allow));
    return code;
}

Code choice_between(std::span<const std::pair<int, Code>> calls) {
    if (calls.empty()) return {finish(allow)};
    if (calls.size() == 1) return for_call(calls.front());
    const std::size_t half = calls.size() / 2;
    const Code lower = choice_between(calls.first(half));
    const auto first_upper = static_cast<std::uint32_t>(calls[half].first);
    // A conditional jump has eight bits for its distance, this one has 32.
    Code code = {jump(BPF_JGE, first_upper, 0, 1),
                 statement(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(lower.size()))};
    append(code, lower);
    append(code, choice_between(calls.subspan(half)));
    return code;
}

} // namespace

void append(Code& code, const Code& more) {
    code.insert(code.end(), more.begin(), more.end());
}

Code code_of(const std::vector<Rule>& rules) {
    Code code;
    for (const Rule& rule : rules)
        append(code, code_of(rule));
    if (!rules.back().conditions.empty()) code.push_back(finish(allow));
    return code;
}

Code choice(const std::vector<std::pair<int, Code>>& calls) {
    return choice_between(calls);
}

Code prologue(Architecture architecture) {
    const bool is_x86 = architecture == Architecture::x86_64;
    Code code = {load(offsetof(seccomp_data, arch)),
                 jump(BPF_JEQ, is_x86 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, 1, 0),
                 finish(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
    if (!is_x86) return code;
    // x32 has the same architecture and a bit in the number. A number with all bits set is no x32
    // call: a tracer sets it to skip a call.
    constexpr std::uint32_t x32_bit = 0x4000'0000;
    constexpr std::uint32_t skipped = 0xffff'ffff;
    append(code,
           {jump(BPF_JGE, x32_bit, 0, 2), jump(BPF_JEQ, skipped, 1, 0), finish(fail_with(ENOSYS))});
    // Kernels before 5.4 take x32's own calls, an ioctl and a ptrace among them, without the bit.
    append(code, {jump(BPF_JGE, 512, 0, 2), jump(BPF_JGT, 547, 1, 0), finish(fail_with(ENOSYS))});
    return code;
}

} // namespace ew::sandbox
