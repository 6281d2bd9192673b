#include "core/command_safety.h"

#include "core/program_options.h"

#include <algorithm>
#include <array>

namespace ew::core {

namespace {

using Words = std::vector<std::string>;

constexpr int deepest = 6; // of programs that start each other
constexpr std::size_t most_found = 4096;
constexpr std::size_t most_words = 1 << 17; // in all that is found

// Programs that start the program named by their operands.
struct Launcher {
    std::string_view name;
    std::string_view with_value =
        {}; // short options that take the next word, if nothing is attached
    std::string_view longs_with_value = {}; // long ones, without =
    std::size_t operands = 0;               // their own, in front of the program
    bool skips_assignments = false;
};

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
    Launcher{"env", "uCS", "unset chdir split-string", 0, true},
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
    Launcher{"nohup"},
    Launcher{"nsenter", "tSG", "target"},
    Launcher{"parallel", "jIC", "jobs"},
    Launcher{"pkexec", "u", "user"},
    Launcher{"prlimit", "p", "pid"},
    Launcher{"proot", "rbwk"},
    Launcher{"setarch", "", "", 1},
    Launcher{"setpriv", "", "reuid regid groups"},
    Launcher{"setsid"},
    Launcher{"softlimit", "mdsloapfcrt"},
    Launcher{"ssh-agent", "aEPt"},
    Launcher{"stdbuf", "ioe", "input output error"},
    Launcher{"strace", "abeEoOpPsSuUIX", "output expr"},
    Launcher{"sudo", "CDghpRrtTUu",
             "close-from chdir group host prompt chroot role type user other-user", 0, true},
    Launcher{"systemd-inhibit", "", "what who why mode"},
    Launcher{"systemd-run", "pEMuG", "property unit"},
    Launcher{"taskset", "", "", 1},
    Launcher{"time", "fo", "format output"},
    Launcher{"timeout", "ks", "kill-after signal", 1},
    Launcher{"toybox"},
    Launcher{"unbuffer"},
    Launcher{"unshare", "SGRw", "root wd"},
    Launcher{"valgrind"},
    Launcher{"watch", "n", "interval"},
    Launcher{"xargs", "adEIsnLP",
             "arg-file delimiter max-chars max-args max-lines max-procs process-slot-var"},
    Launcher{"xvfb-run", "nfpsew", "server-num server-args"},
};

// Programs with an option whose value is a script for a shell.
constexpr std::string_view script_runners = "script runuser su sg";

const Launcher* find_launcher(std::string_view name) {
    const auto* found =
        std::find_if(launchers.begin(), launchers.end(),
                     [&](const Launcher& launcher) { return launcher.name == name; });
    return found == launchers.end() ? nullptr : found;
}

std::string joined(const Words& words, std::size_t first) {
    std::string text;
    for (std::size_t i = first; i < words.size(); ++i)
        text.append(text.empty() ? "" : " ").append(words[i]);
    return text;
}

// How many words an option of a launcher takes: 1, or 2 with a value of its own.
std::size_t option_width(const Launcher& launcher, std::string_view word) {
    if (word.starts_with("--")) return is_listed(launcher.longs_with_value, word.substr(2)) ? 2 : 1;
    const std::size_t letter = word.find_first_of(launcher.with_value, 1);
    return letter == word.size() - 1 ? 2 : 1;
}

class Search {
public:
    explicit Search(std::vector<Words>& found) : found_(found) {}

    void add(const Words& words, int depth) {
        if (words.empty() || depth > deepest || found_.size() >= most_found) return;
        found_.push_back(words);
        const std::string_view name = base_name(words.front());
        if (is_shell(name)) return add_shell(words, depth);
        if (name == "find" || name == "fd" || name == "fdfind") return add_find(words, depth);
        if (name == "eval" || name == "trap") return add_script(joined(words, 1), depth);
        if (name == "alias") return add_aliases(words, depth);
        if (is_listed(script_runners, name)) return add_script_option(words, depth);
        if (const Launcher* launcher = find_launcher(name)) add_launched(*launcher, words, depth);
    }

private:
    void add_script(std::string_view script, int depth) {
        for (const Words& command : literal_commands(script))
            add(command, depth + 1);
    }

    void add_aliases(const Words& words, int depth) {
        for (std::size_t i = 1; i < words.size(); ++i)
            if (const std::size_t equals = words[i].find('='); equals != std::string::npos)
                add_script(std::string_view(words[i]).substr(equals + 1), depth);
    }

    // The word behind the options with a c in them, wherever that is.
    void add_shell(const Words& words, int depth) {
        bool has_script = false;
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::string& word = words[i];
            const bool is_option = word.size() > 1 && (word.front() == '-' || word.front() == '+');
            if (!is_option && has_script) return add_script(word, depth);
            has_script = has_script || (is_option && !word.starts_with("--") &&
                                        word.find('c') != std::string::npos);
        }
    }

    void add_script_option(const Words& words, int depth) {
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::string_view word = words[i];
            const bool is_long = word.starts_with("--");
            if (is_long && word.starts_with("--command="))
                add_script(word.substr(word.find('=') + 1), depth);
            const bool names_script = is_long ? word == "--command" || word == "--session-command"
                                              : word.starts_with('-') && word.ends_with('c');
            if (names_script && i + 1 < words.size()) add_script(words[i + 1], depth);
        }
        // runuser -u USER PROGRAM…
        for (std::size_t i = 1; i + 2 < words.size(); ++i)
            if (words[i] == "-u") add(from(words, i + 2), depth + 1);
    }

    void add_find(const Words& words, int depth) {
        constexpr std::string_view starters = "-exec -execdir -ok -okdir -x -X --exec --exec-batch";
        std::size_t end = 0; // of the command that begins behind a starter
        for (std::size_t i = 1; i < words.size(); ++i) {
            if (!is_listed(starters, words[i])) continue;
            end = std::max(end, i + 1);
            while (end < words.size() && words[end] != ";" && words[end] != "+")
                ++end;
            add(between(words, i + 1, end), depth + 1);
        }
    }

    void add_launched(const Launcher& launcher, const Words& words, int depth) {
        std::size_t own_operands = launcher.operands;
        std::size_t at = 1;
        for (; at < words.size(); ++at) {
            const std::string& word = words[at];
            if (word == "--") continue;
            if (word.size() > 1 && word.front() == '-') {
                add_split_string(launcher, words, at, depth);
                at += option_width(launcher, word) - 1;
            } else if (!(launcher.skips_assignments && word.find('=') != std::string::npos)) {
                if (own_operands == 0) break;
                --own_operands;
            }
        }
        // Launchers disagree about options: what begins with a digit is hardly a program.
        while (at < words.size() && !words[at].empty() && words[at].front() >= '0' &&
               words[at].front() <= '9')
            ++at;
        const bool is_script = at < words.size() && words[at].find(' ') != std::string::npos;
        if (is_script) return add_script(joined(words, at), depth); // watch 'PROGRAM WORDS'
        add(from(words, at), depth + 1);
    }

    // env -S 'PROGRAM WORDS'
    void add_split_string(const Launcher& launcher, const Words& words, std::size_t at, int depth) {
        if (launcher.name != "env") return;
        const std::string_view word = words[at];
        constexpr std::string_view long_form = "--split-string";
        if (word.starts_with(long_form)) {
            const std::string attached(word.substr(std::min(long_form.size() + 1, word.size())));
            return add_script(attached.empty() ? joined(words, at + 1) : attached, depth);
        }
        const std::size_t letter = word.find('S');
        if (word.starts_with("--") || letter == std::string_view::npos) return;
        add_script(std::string(word.substr(letter + 1)) + " " + joined(words, at + 1), depth);
    }

    // Nothing, when there is too much to look at.
    Words between(const Words& words, std::size_t first, std::size_t last) {
        if (first >= last || last - first > words_left_) return {};
        words_left_ -= last - first;
        return {words.begin() + static_cast<std::ptrdiff_t>(first),
                words.begin() + static_cast<std::ptrdiff_t>(last)};
    }

    Words from(const Words& words, std::size_t first) {
        return between(words, first, words.size());
    }

    std::vector<Words>& found_;
    std::size_t words_left_ = most_words;
};

bool has_short_option(const std::string& word, char letter) {
    return word.size() > 1 && word[0] == '-' && word[1] != '-' &&
           word.find(letter) != std::string::npos;
}

// In front of "--", does an option hold this letter or abbreviate this name?
bool has_option(const Words& words, char letter, std::string_view name) {
    for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
        if (has_short_option(words[i], letter)) return true;
        if (words[i].size() > 2 && words[i].starts_with("--") &&
            name.starts_with(words[i].substr(2)))
            return true;
    }
    return false;
}

bool is_destructive_git(const Words& argv) {
    const Words git = git_without_options(argv);
    if (git.size() < 2) return false;
    if (git[1] == "reset") return has_option(git, '\0', "hard");
    return git[1] == "clean" && has_option(git, 'f', "force");
}

bool destroys(const Words& argv) {
    const std::string_view name = base_name(argv.front());
    if (name == "rm") return has_option(argv, 'f', "force");
    if (name == "git") return is_destructive_git(argv);
    if (name == "dd")
        return std::any_of(argv.begin(), argv.end(), [](const std::string& word) {
            return word.starts_with("of=/dev/") && word != "of=/dev/null";
        });
    return name == "mkfs" || name.starts_with("mkfs.") || name == "wipefs" || name == "shutdown" ||
           name == "reboot" || name == "poweroff" || name == "halt";
}

} // namespace

std::string_view base_name(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_straight_path(std::string_view word) {
    if (word.find('/') == std::string_view::npos) return true;
    const std::string path = std::string(word) + "/";
    return path.starts_with('/') && path.find("/./") == std::string::npos &&
           path.find("/../") == std::string::npos && path.find("//") == std::string::npos;
}

bool is_dangerous(const Words& argv) {
    const std::vector<Words> commands = with_started_commands(argv);
    return std::any_of(commands.begin(), commands.end(), destroys);
}

std::vector<Words> with_started_commands(const Words& argv) {
    std::vector<Words> found;
    Search(found).add(argv, 0);
    return found;
}

bool is_launcher(std::string_view program) {
    const std::string_view name = base_name(program);
    return find_launcher(name) || is_listed(script_runners, name);
}

bool is_shell(std::string_view program) {
    constexpr std::string_view shells = "bash sh dash zsh";
    constexpr std::string_view others =
        "ash ksh ksh93 mksh oksh yash rbash fish csh tcsh elvish nu";
    const std::string_view name = base_name(program);
    return is_listed(shells, name) || is_listed(others, name);
}

bool is_plain_shell_call(const Words& argv) {
    return argv.size() == 3 && is_listed("bash sh dash zsh", base_name(argv[0])) &&
           (argv[1] == "-c" || argv[1] == "-lc") && !argv[2].starts_with('-') &&
           !argv[2].starts_with('+');
}

ShellCall shell_call(const Words& argv) {
    return {.dialect = base_name(argv[0]) == "zsh" ? Dialect::zsh : Dialect::bash,
            .script = argv[2],
            .is_login = argv[1] == "-lc"};
}

} // namespace ew::core
