#include "os/shells.h"

#include "base/script_file.h"
#include "os/programs.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace ew::os {

namespace {

constexpr std::array<std::string_view, 5> known_shells = {"bash", "dash", "ksh", "sh", "zsh"};
constexpr std::array<const char*, 3> places = {"/bin", "/usr/bin", "/usr/local/bin"};

bool is_known(const std::string& name) {
    return std::find(known_shells.begin(), known_shells.end(), name) != known_shells.end();
}

std::string name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

bool is_executable_file(const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

std::optional<ShellProgram> find_in_system(const std::string& name) {
    for (const char* place : places) {
        const std::string path = fmt::format("{}/{}", place, name);
        if (is_executable_file(path)) return ShellProgram{name, path};
    }
    return std::nullopt;
}

Error unusable(const std::string& wanted, std::string_view why) {
    return {
        ErrorKind::invalid_params, fmt::format("shell: '{}' {}", wanted, why),
        fmt::format("give {} or the absolute path of one, or leave shell out for the user's own",
                    fmt::join(known_shells, ", ")),
        "shell"};
}

Result<ShellProgram> find_wanted(const std::string& wanted) {
    if (wanted.find('\0') != std::string::npos) return unusable("", "has a NUL in its name");
    const std::string name = name_of(wanted);
    if (!is_known(name)) return unusable(wanted, "is not a shell that is known here");
    if (wanted.front() == '/') {
        if (!is_executable_file(wanted)) return unusable(wanted, "is not an executable file");
        return ShellProgram{name, wanted};
    }
    if (name != wanted) return unusable(wanted, "is a relative path");
    std::optional<ShellProgram> found = find_in_system(name);
    if (!found) return unusable(wanted, fmt::format("is not in {}", fmt::join(places, ", ")));
    return std::move(*found);
}

std::string shell_in_user_database() {
    constexpr std::size_t room = 16384; // more than any reasonable entry of the user database
    std::vector<char> buffer(room);
    passwd entry = {};
    passwd* found = nullptr;
    if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) != 0) return "";
    return found != nullptr && found->pw_shell != nullptr ? found->pw_shell : "";
}

} // namespace

Result<ShellProgram> find_shell(const std::optional<std::string>& wanted) {
    if (wanted) return find_wanted(*wanted);
    const char* const variable = std::getenv("SHELL");
    return find_login_shell({variable != nullptr ? variable : "", shell_in_user_database()});
}

Result<ShellProgram> find_login_shell(const std::vector<std::string>& candidates) {
    const TrustedPrograms trust(TrustPlaces{});
    for (const std::string& path : candidates) {
        if (path.empty() || path.front() != '/' || !is_known(name_of(path))) continue;
        if (is_executable_file(path) && trust.is_trusted_file(path))
            return ShellProgram{name_of(path), path};
    }
    for (const char* name : {"bash", "sh"})
        if (std::optional<ShellProgram> found = find_in_system(name)) return std::move(*found);
    return Error{
        ErrorKind::spawn_not_found,
        fmt::format("there is no shell: neither bash nor sh in {}", fmt::join(places, ", ")),
        "install one, or name a shell by its absolute path"};
}

ScriptInFile script_in_file(const std::string& program, const std::string& script) {
    // These read all of a script before they run it, or know `return` in a file that is sourced.
    const std::string name = name_of(program);
    const bool evaluates = name.starts_with("bash") || name.starts_with("zsh");
    const std::string close = fmt::format("exec {}<&-; ", script_fd);
    if (!evaluates) return {fmt::format(". /proc/self/fd/{}", script_fd), close + script};
    // $(…) takes the newlines from the end, also one that a backslash joins to nothing.
    const std::size_t end = script.find_last_not_of('\n');
    const bool goes_on = end != std::string::npos && script[end] == '\\';
    return {fmt::format("eval \"{}$(</proc/self/fd/{})\"", close, script_fd),
            goes_on ? script + "\n#" : script};
}

std::vector<std::string> shell_argv(const ShellProgram& shell, bool login,
                                    const std::string& script) {
    return {shell.path, login ? "-lc" : "-c", script};
}

} // namespace ew::os
