#include "core/judgement/launchers.h"

#include <algorithm>
#include <array>

namespace ew::core {

namespace {

constexpr std::array launchers = {
    Launcher{"builtin"},
    Launcher{"busybox"},
    Launcher{"caffeinate", "tw"},
    Launcher{"chroot", "", "userspec groups", 1},
    Launcher{"chrt", "TPD", "", 1},
    Launcher{"command"},
    Launcher{"coproc"},
    Launcher{"dbus-run-session", "", "config-file dbus-daemon"},
    Launcher{"doas", "uC"},
    Launcher{"env", "uCSa", "unset chdir split-string argv0", 0, true},
    Launcher{"exec", "a"},
    Launcher{"fakeroot", "lsib", "lib faked"},
    Launcher{"firejail"},
    Launcher{"flock", "wE", "wait timeout conflict-exit-code", 1},
    Launcher{"gtime", "fo", "format output"},
    Launcher{"ionice", "cnpPu", "class classdata"},
    Launcher{"linux32"},
    Launcher{"linux64"},
    Launcher{"ltrace", "eopsnuaAlFx", "output"},
    Launcher{"nice", "n", "adjustment"},
    Launcher{"nocorrect"},
    Launcher{"noglob"},
    Launcher{"nohup"},
    Launcher{"nsenter", "tSG", "target"},
    Launcher{"parallel", "jIC", "jobs"},
    Launcher{"pkexec", "u", "user"},
    Launcher{"prlimit", "p", "pid"},
    Launcher{"proot", "rbwk"},
    Launcher{"repeat", "", "", 1},
    Launcher{"setarch"},
    Launcher{"setpriv", "", "reuid regid groups"},
    Launcher{"setsid"},
    Launcher{"softlimit", "mdsloapfcrt"},
    Launcher{"ssh-agent", "aEPt"},
    Launcher{"stdbuf", "ioe", "input output error"},
    Launcher{"strace", "abeEoOpPsSuUIX", "output expr"},
    Launcher{"sudo", "CDghpRrtTUu",
             "close-from chdir group host prompt chroot role type user other-user command-timeout",
             0, true},
    Launcher{"systemd-inhibit", "", "what who why mode"},
    Launcher{"systemd-run", "pEMu", "property unit"},
    Launcher{"taskset", "", "", 1},
    Launcher{"time", "fo", "format output"},
    Launcher{"timeout", "ks", "kill-after signal", 1},
    Launcher{"toybox"},
    Launcher{"unbuffer"},
    Launcher{"unshare", "SGRw", "root wd"},
    Launcher{"valgrind"},
    Launcher{"watch", "n", "interval"},
    Launcher{"xargs", "adEIsnLP",
             "arg-file delimiter max-chars max-args max-lines max-procs process-slot-var", 0, false,
             "eil"},
    Launcher{"xvfb-run", "nfpsew", "server-num server-args"},
};

// The dynamic linker starts the program whose name follows its options (ld.so(8)).
constexpr Launcher linker = {"ld.so", "",
                             "library-path preload audit argv0 glibc-hwcaps-prepend "
                             "glibc-hwcaps-mask"};

bool is_linker(std::string_view name) {
    return name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so");
}

// Returns the offset of the first letter of the options that takes what follows.
std::size_t letter_with_value(const Launcher& launcher, std::string_view word) {
    return std::min(word.find_first_of(launcher.with_value, 1),
                    word.find_first_of(launcher.with_attached, 1));
}

} // namespace

const Launcher* find_launcher(std::string_view name) {
    if (is_linker(name)) return &linker;
    const auto* found =
        std::find_if(launchers.begin(), launchers.end(),
                     [&](const Launcher& launcher) { return launcher.name == name; });
    return found == launchers.end() ? nullptr : found;
}

bool abbreviates_one(std::string_view list, std::string_view name) {
    if (name.empty() || name.find(' ') != std::string_view::npos) return false;
    return list.starts_with(name) || list.find(" " + std::string(name)) != std::string_view::npos;
}

std::size_t option_width(const Launcher& launcher, std::string_view word) {
    if (word.starts_with("--"))
        return abbreviates_one(launcher.longs_with_value, word.substr(2)) ? 2 : 1;
    const std::size_t letter = letter_with_value(launcher, word);
    return letter == word.size() - 1 &&
                   launcher.with_value.find(word[letter]) != std::string_view::npos
               ? 2
               : 1;
}

std::vector<std::string> replaced_texts(const Launcher& launcher,
                                        const std::vector<std::string>& words, std::size_t end) {
    std::vector<std::string> texts = {"{}"};
    for (std::size_t i = 1; i < end; ++i) {
        const std::string& word = words[i];
        if (word.starts_with("--replace=")) texts.push_back(word.substr(10));
        if (word.size() < 2 || word.front() != '-' || word[1] == '-') continue;
        const std::size_t letter = letter_with_value(launcher, word);
        if (letter == std::string::npos || (word[letter] != 'I' && word[letter] != 'i')) continue;
        const bool is_next = letter + 1 == word.size();
        if (!is_next)
            texts.push_back(word.substr(letter + 1));
        else if (word[letter] == 'I' && i + 1 < end)
            texts.push_back(words[i + 1]);
    }
    std::erase(texts, "");
    return texts;
}

} // namespace ew::core
