// find: its words are a language of their own. Start directories, tests, printing actions and -exec
// are accepted.
#include "core/judgement/safe_find.h"

#include "core/judgement/program_options.h"

#include <algorithm>
#include <utility>

namespace ew::core {

namespace {

// find(1), findutils 4.9. Not listed are -delete, -execdir, -ok, -okdir, -fprint and the like, and
// -fls.
constexpr std::string_view without_value =
    "-a -and -o -or -not -d -daystart -depth -follow -ignore_readdir_race -noignore_readdir_race "
    "-mount -noleaf -xdev -warn -nowarn -empty -executable -false -nogroup -nouser -readable -true "
    "-writable -ls -print -print0 -prune -quit -help --help -version --version ! ( ) ,";
constexpr std::string_view with_value =
    "-maxdepth -mindepth -regextype -amin -anewer -atime -cmin -cnewer -ctime -fstype -gid -group "
    "-ilname -iname -inum -ipath -iregex -iwholename -links -lname -mmin -mtime -name -newer -path "
    "-perm -regex -samefile -size -type -uid -used -user -wholename -xtype -context -printf "
    "-files0-from";

// -newerXY compares a time of each file with a time of another file, or with a date.
bool is_newer(std::string_view word) {
    constexpr std::string_view times = "aBcmt";
    return word.size() == 8 && word.starts_with("-newer") && times.find(word[6]) < 4 &&
           times.find(word[7]) != std::string_view::npos;
}

bool begins_expression(std::string_view word) {
    return (word.size() > 1 && word.front() == '-') || word == "!" || word == "(" || word == ")" ||
           word == ",";
}

// Reads the command behind -exec, and moves `at` to its end. A file's path begins with a start
// directory or with ./, and so is no option. A word that is not known could end the command, and in
// busybox so does each +.
std::optional<ShellCommand> read_started(const ShellCommand& command, std::size_t& at) {
    ShellCommand started;
    for (++at; at < command.words.size(); ++at) {
        std::string word = command.words[at];
        if (command.has_glob[at]) return std::nullopt;
        const bool is_behind_file = command.words[at - 1] == "{}" && started.words.size() > 1;
        if (word == "+" && !is_behind_file) return std::nullopt;
        if ((word == ";" || word == "+") && !started.words.empty()) return started;
        bool has_glob = false;
        for (std::size_t i = 0; (i = word.find("{}", i)) != std::string::npos; has_glob = true)
            word.replace(i, 2, i == 0 ? "./*" : "*");
        started.words.push_back(std::move(word));
        started.has_glob.push_back(has_glob);
    }
    return std::nullopt;
}

bool is_safe_expression(const ShellCommand& command, std::size_t first,
                        std::vector<ShellCommand>& started) {
    const auto& words = command.words;
    // The paths of a list may look like options.
    const bool has_list = std::find(words.begin(), words.end(), "-files0-from") != words.end();
    for (std::size_t i = first; i < words.size(); ++i) {
        if (command.has_glob[i]) return false;
        if (words[i] == "-exec") {
            if (has_list) return false;
            std::optional<ShellCommand> next = read_started(command, i);
            if (!next) return false;
            started.push_back(std::move(*next));
            continue;
        }
        if (is_listed(without_value, words[i])) continue;
        if (!is_listed(with_value, words[i]) && !is_newer(words[i])) return false;
        ++i; // the value, whatever it looks like
        if (i >= words.size() || command.has_glob[i]) return false;
    }
    return true;
}

} // namespace

std::optional<std::vector<ShellCommand>> started_by_find(const ShellCommand& command) {
    const auto& words = command.words;
    std::vector<ShellCommand> started;
    std::size_t at = 1;
    while (at < words.size() && is_listed("-H -L -P -O0 -O1 -O2 -O3", words[at]))
        ++at;
    for (; at < words.size() && !begins_expression(words[at]); ++at)
        if (!is_clear_of_options(command, at)) return std::nullopt;
    if (!is_safe_expression(command, at, started)) return std::nullopt;
    return started;
}

} // namespace ew::core
