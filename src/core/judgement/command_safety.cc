#include "core/judgement/command_safety.h"

#include "core/judgement/program_options.h"
#include "core/judgement/safe_git.h"
#include "core/judgement/started_commands.h"

#include <algorithm>

namespace ew::core {

namespace {

using Words = std::vector<std::string>;

bool has_short_option(const std::string& word, char letter) {
    return word.size() > 1 && word[0] == '-' && word[1] != '-' &&
           word.find(letter) != std::string::npos;
}

// Returns true if an option before "--" contains this letter or abbreviates this name.
bool has_option(const Words& words, char letter, std::string_view name) {
    for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
        if (has_short_option(words[i], letter)) return true;
        if (words[i].size() > 2 && words[i].starts_with("--") &&
            name.starts_with(words[i].substr(2)))
            return true;
    }
    return false;
}

// Removes ".", ".." and "//" from the text of a path, without looking at the file system.
std::string straightened(std::string_view path) {
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, end);
        if (part == ".." && !parts.empty())
            parts.pop_back();
        else if (!part.empty() && part != "." && part != "..")
            parts.push_back(part);
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    std::string text;
    for (const std::string_view part : parts)
        text.append("/").append(part);
    return text;
}

bool is_onto_device(std::string_view word) {
    if (!word.starts_with("of=/")) return false;
    const std::string path = straightened(word.substr(3));
    return path.starts_with("/dev/") && path != "/dev/null";
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
    if (name == "dd") return std::any_of(argv.begin(), argv.end(), is_onto_device);
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
    return danger_in({argv}) == Danger::certain;
}

Danger danger_in(const std::vector<Words>& commands) {
    const FoundCommands found = with_started_commands(commands);
    if (std::any_of(found.commands.begin(), found.commands.end(), destroys)) return Danger::certain;
    return found.is_whole ? Danger::none : Danger::possible;
}

bool is_shell(std::string_view program) {
    constexpr std::string_view shells = "bash sh dash zsh";
    constexpr std::string_view others =
        "ash ksh ksh93 mksh oksh yash rbash fish csh tcsh elvish nu";
    const std::string_view name = base_name(program);
    return is_listed(shells, name) || is_listed(others, name);
}

bool is_shell_builtin(std::string_view word) {
    return is_listed(": [ cd command echo exit false printf pwd set test true type", word);
}

bool is_plain_shell_call(const Words& argv) {
    return argv.size() == 3 && is_listed("bash sh dash zsh", base_name(argv[0])) &&
           (argv[1] == "-c" || argv[1] == "-lc") && !argv[2].starts_with('-') &&
           !argv[2].starts_with('+');
}

ShellCall shell_call(const Words& argv) {
    const std::string_view shell = base_name(argv[0]);
    return {.dialect = shell == "zsh"    ? Dialect::zsh
                       : shell == "bash" ? Dialect::bash
                                         : Dialect::sh,
            .script = argv[2],
            .is_login = argv[1] == "-lc"};
}

} // namespace ew::core
