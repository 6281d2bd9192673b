// Programs that start other programs, and where in their words these stand.
#include "core/judgement/started_commands.h"

#include "core/judgement/command_safety.h"
#include "core/judgement/literal_commands.h"
#include "core/judgement/program_options.h"

#include <algorithm>
#include <array>

namespace ew::core {

namespace {

using Words = std::vector<std::string>;

constexpr int deepest = 6; // nesting of programs that start each other
constexpr std::size_t most_found = 4096;
constexpr std::size_t most_words = 1 << 17;  // words in all commands found
constexpr std::size_t most_text = 1 << 20;   // bytes of scripts in scripts
constexpr std::size_t most_copied = 4 << 20; // bytes of words, besides the first ones
constexpr int most_aliases = 16;             // aliases in one git command
constexpr std::size_t most_arguments = 256;  // arguments behind ::: of parallel

// Programs that start another program, which their operands name.
struct Launcher {
    std::string_view name;
    std::string_view with_value =
        {}; // short options that take the next word as value if none is attached
    std::string_view longs_with_value = {}; // the same for long options, without "="
    std::size_t operands = 0;               // number of own operands before the program
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
             "arg-file delimiter max-chars max-args max-lines max-procs process-slot-var"},
    Launcher{"xvfb-run", "nfpsew", "server-num server-args"},
};

// Launchers with more options than are listed, or with an operand that may be missing.
constexpr std::string_view with_other_options =
    "firejail ltrace nsenter setarch setpriv strace systemd-run unshare valgrind";

// Programs with an option whose value is a shell script.
constexpr std::string_view script_runners = "emulate script runuser su sg";

// The dynamic linker starts the program whose name follows its options (ld.so(8)).
constexpr Launcher linker = {"ld.so", "",
                             "library-path preload audit argv0 glibc-hwcaps-prepend "
                             "glibc-hwcaps-mask"};

bool is_linker(std::string_view name) {
    return name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so");
}

const Launcher* find_launcher(std::string_view name) {
    if (is_linker(name)) return &linker;
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

// Returns true if `name` is the beginning of a word of `list`, since long options may be
// abbreviated.
bool abbreviates_one(std::string_view list, std::string_view name) {
    if (name.empty() || name.find(' ') != std::string_view::npos) return false;
    return list.starts_with(name) || list.find(" " + std::string(name)) != std::string_view::npos;
}

// Returns the number of words that an option of a launcher takes: 1, or 2 with a separate value.
std::size_t option_width(const Launcher& launcher, std::string_view word) {
    if (word.starts_with("--"))
        return abbreviates_one(launcher.longs_with_value, word.substr(2)) ? 2 : 1;
    const std::size_t letter = word.find_first_of(launcher.with_value, 1);
    return letter == word.size() - 1 ? 2 : 1;
}

class Search {
public:
    explicit Search(FoundCommands& found) : found_(found.commands), is_whole_(found.is_whole) {}

    // The script that a shell gets is always read.
    void begin(const Words& argv) {
        for (const std::string& word : argv) {
            text_left_ = std::max(text_left_, most_text + word.size());
            bytes_left_ += word.size();
        }
        add(argv, 0);
    }

    void add(const Words& words, int depth) {
        if (words.empty()) return;
        if (depth > deepest || found_.size() >= most_found || bytes_left_ == 0) {
            is_whole_ = false;
            return;
        }
        found_.push_back(words);
        const std::string_view name = base_name(words.front());
        if (is_shell(name)) return add_shell(words, depth);
        if (name == "find" || name == "fd" || name == "fdfind") return add_find(words, depth);
        if (name == "eval" || name == "trap") return add_joined("", words, 1, depth);
        if (name == "alias") return add_aliases(words, depth);
        if (name == "git") return add_git_alias(words, depth);
        if (is_listed("[ break continue exit kill let return shift test", name))
            return add_computed(words, depth);
        if (is_listed(script_runners, name)) return add_script_option(words, depth);
        if (const Launcher* launcher = find_launcher(name)) add_launched(*launcher, words, depth);
    }

private:
    void add_script(std::string_view script, int depth) {
        if (script.size() > text_left_) {
            is_whole_ = false;
            return;
        }
        text_left_ -= script.size();
        const FoundCommands inner = literal_commands(script);
        is_whole_ = is_whole_ && inner.is_whole;
        for (const Words& command : inner.commands)
            add(command, depth + 1);
    }

    // `head` and these words are a script.
    void add_joined(const std::string& head, const Words& words, std::size_t first, int depth) {
        if (spend(words, first, words.size())) add_script(head + joined(words, first), depth);
    }

    void add_aliases(const Words& words, int depth) {
        for (std::size_t i = 1; i < words.size(); ++i)
            if (const std::size_t equals = words[i].find('='); equals != std::string::npos)
                add_script(std::string_view(words[i]).substr(equals + 1), depth);
    }

    // The script is the first word behind the options if one of them contains a c.
    void add_shell(const Words& words, int depth) {
        bool has_script = false;
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::string& word = words[i];
            const bool is_option = word.size() > 1 && (word.front() == '-' || word.front() == '+');
            if (!is_option && has_script) return add_script(word, depth);
            // zsh accepts a script that begins with the modifier "-".
            if (has_script && word.find(' ') != std::string::npos) add_script(word, depth);
            if (!is_option) continue;
            if (word.starts_with("--")) {
                i += word == "--rcfile" || word == "--init-file" ? 1 : 0;
                continue;
            }
            has_script = has_script || word.find('c') != std::string::npos;
            // -o NAME and -O NAME take one word each, anywhere among the letters
            i += static_cast<std::size_t>(std::count_if(
                word.begin(), word.end(), [](char c) { return c == 'o' || c == 'O'; }));
        }
    }

    // Finds commands in a subscript: test -v 'a[$(PROGRAM WORDS)]'
    void add_computed(const Words& words, int depth) {
        for (std::size_t i = 1; i < words.size(); ++i)
            if (words[i].find_first_of("$`") != std::string::npos)
                add_script(": " + words[i], depth);
    }

    // git -c alias.NAME=WORDS NAME, where WORDS that begin with ! are a shell script
    void add_git_alias(const Words& words, int depth) {
        int aliases = 0;
        for (std::size_t i = 1; i + 1 < words.size() && aliases < most_aliases; ++i) {
            if (words[i] != "-c") continue;
            const std::string_view setting = words[i + 1];
            const std::size_t equals = setting.find('=');
            if (!holds_alias(setting) || equals == std::string_view::npos) continue;
            if (++aliases == most_aliases) is_whole_ = false;
            const std::string_view value = setting.substr(equals + 1);
            if (value.starts_with('!')) add_script(value.substr(1), depth);
            const std::size_t rest = std::min(i + 3, words.size());
            add_joined("git " + std::string(value) + " ", words, rest, depth);
        }
    }

    void add_script_option(const Words& words, int depth) {
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::string_view word = words[i];
            if (word.size() < 2 || word.front() != '-') continue;
            const bool is_long = word.starts_with("--");
            const std::size_t end = is_long ? word.find('=') : word.find('c');
            if (is_long ? !abbreviates_one("command session-command", word.substr(2, end - 2))
                        : end == std::string_view::npos)
                continue;
            if (end != std::string_view::npos) add_script(word.substr(end + 1), depth);
            if (i + 1 < words.size()) add_script(words[i + 1], depth);
        }
        // script FILE -- PROGRAM…
        const auto dashes = std::find(words.begin(), words.end(), "--");
        if (dashes != words.end())
            add(from(words, static_cast<std::size_t>(dashes - words.begin()) + 1), depth + 1);
        // runuser -u USER PROGRAM…
        for (std::size_t i = 1; i + 2 < words.size(); ++i)
            if (words[i] == "-u") add(from(words, i + 2), depth + 1);
    }

    void add_find(const Words& words, int depth) {
        constexpr std::string_view starters = "-exec -execdir -ok -okdir -x -X --exec --exec-batch";
        std::size_t end = 0; // the end of the command behind a starter
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
            if (word == "--" || (word == "-" && launcher.name == "env")) continue;
            if (word.size() > 1 && word.front() == '-') {
                add_split_string(launcher, words, at, depth);
                at += option_width(launcher, word) - 1;
            } else if (!(launcher.skips_assignments && word.find('=') != std::string::npos)) {
                if (own_operands == 0) break;
                --own_operands;
            }
        }
        // The options of launchers differ. A word that begins with a digit is probably not a
        // program.
        while (at < words.size() && !words[at].empty() && words[at].front() >= '0' &&
               words[at].front() <= '9')
            ++at;
        if (launcher.name == "parallel") add_arguments(words, at, depth);
        const bool is_script = at < words.size() && words[at].find(' ') != std::string::npos;
        if (is_script) return add_joined("", words, at, depth); // watch 'PROGRAM WORDS'
        add(from(words, at), depth + 1);
        // One of the options may have taken a word.
        if (is_listed(with_other_options, launcher.name)) add(from(words, at + 1), depth + 1);
    }

    // parallel PROGRAM WORDS ::: WORD…
    void add_arguments(const Words& words, std::size_t first, int depth) {
        std::size_t at = first;
        std::string head;
        for (; at < words.size() && !words[at].starts_with(":::"); ++at)
            if (words[at] != "{}") head += words[at] + " ";
        const std::size_t end = std::min(words.size(), at + most_arguments);
        if (end < words.size()) is_whole_ = false;
        for (; at < end; ++at)
            if (!words[at].starts_with(":::") && spend(head.size() + words[at].size()))
                add_script(head + words[at], depth);
    }

    // env -S 'WORDS OF env'
    void add_split_string(const Launcher& launcher, const Words& words, std::size_t at, int depth) {
        if (launcher.name != "env") return;
        const std::string_view word = words[at];
        const bool is_long = word.starts_with("--");
        const std::size_t end = is_long ? word.find('=') : word.find('S');
        if (is_long ? !abbreviates_one("split-string", word.substr(2, end - 2))
                    : end == std::string_view::npos)
            return;
        const std::string_view attached =
            end == std::string_view::npos ? std::string_view() : word.substr(end + 1);
        if (!spend(words, at, words.size())) return;
        std::string text = "env " + std::string(attached) + " " + joined(words, at + 1);
        for (std::size_t blank = 0; (blank = text.find("\\_", blank)) != std::string::npos;)
            text.replace(blank, 2, " "); // as env reads it
        add_script(text, depth);
    }

    // Returns no words if there are too many to examine.
    Words between(const Words& words, std::size_t first, std::size_t last) {
        if (first >= last) return {};
        if (last - first > words_left_) {
            is_whole_ = false;
            return {};
        }
        words_left_ -= last - first;
        if (!spend(words, first, last)) return {};
        return {words.begin() + static_cast<std::ptrdiff_t>(first),
                words.begin() + static_cast<std::ptrdiff_t>(last)};
    }

    // Each copy is paid for, so that the time of a search does not grow with the square of its
    // text. Returns false, also from then on, if there is too much.
    bool spend(std::size_t bytes) {
        if (bytes < bytes_left_) {
            bytes_left_ -= bytes;
            return true;
        }
        bytes_left_ = 0;
        is_whole_ = false;
        return false;
    }

    bool spend(const Words& words, std::size_t first, std::size_t last) {
        std::size_t bytes = 0;
        for (std::size_t i = first; i < last && bytes_left_ > 0; ++i)
            bytes += words[i].size() + 1;
        return spend(bytes);
    }

    Words from(const Words& words, std::size_t first) {
        return between(words, first, words.size());
    }

    std::vector<Words>& found_;
    bool& is_whole_;
    std::size_t words_left_ = most_words;
    std::size_t text_left_ = most_text;
    std::size_t bytes_left_ = most_copied;
};

} // namespace

bool holds_alias(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower.find("alias.") != std::string::npos ||
           lower.find("include.path") != std::string::npos ||
           lower.find("includeif.") != std::string::npos;
}

FoundCommands with_started_commands(const Words& argv) {
    FoundCommands found;
    Search(found).begin(argv);
    return found;
}

FoundCommands with_started_commands(const std::vector<Words>& commands) {
    FoundCommands found;
    Search search(found);
    for (const Words& command : commands)
        search.begin(command);
    return found;
}

bool is_launcher(std::string_view program) {
    const std::string_view name = base_name(program);
    return find_launcher(name) || is_listed(script_runners, name);
}

} // namespace ew::core
