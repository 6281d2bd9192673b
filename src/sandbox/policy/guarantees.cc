#include "sandbox/policy/guarantees.h"

namespace ew::sandbox {

namespace {

struct Words {
    std::string_view name;
    std::string_view meaning;
};

constexpr std::array<Words, guarantee_count> words = {{
    {"fsWrite", "files outside the writable roots stay as they are"},
    {"fsMetadata", "so do their modes, owners, times and attributes"},
    {"protectedPaths", "protected paths inside writable roots stay read-only"},
    {"denyRead", "denied paths cannot be read"},
    {"privateTmp", "/tmp is the session's own, /dev/shm the command's"},
    {"kernelSettings", "settings of the kernel in /proc cannot be written"},
    {"procHidden", "other processes are invisible"},
    {"signals", "other processes cannot be signalled or traced"},
    {"endsTogether", "nothing outlives the command"},
    {"netOff", "no network but a loopback of the session's own"},
    {"abstractSockets", "abstract sockets of the machine are out of reach"},
    {"socketFiles", "socket files outside the writable roots are out of reach"},
    {"namedPipes", "named pipes outside the writable roots cannot be written to"},
    {"systemCalls", "system calls that no ordinary program needs are refused"},
}};

} // namespace

std::string_view name_of(Guarantee guarantee) {
    return words[static_cast<std::size_t>(guarantee)].name;
}

std::string_view meaning_of(Guarantee guarantee) {
    return words[static_cast<std::size_t>(guarantee)].meaning;
}

std::vector<Guarantee> GuaranteeSet::list() const {
    std::vector<Guarantee> result;
    for (std::size_t i = 0; i < guarantee_count; ++i)
        if (has(static_cast<Guarantee>(i))) result.push_back(static_cast<Guarantee>(i));
    return result;
}

std::string names_of(GuaranteeSet set) {
    std::string result;
    for (const Guarantee guarantee : set.list()) {
        if (!result.empty()) result += ", ";
        result += name_of(guarantee);
    }
    return result;
}

} // namespace ew::sandbox
