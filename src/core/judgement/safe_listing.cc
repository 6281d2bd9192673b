#include "core/judgement/safe_listing.h"

#include "core/judgement/program_options.h"

#include <algorithm>

namespace ew::core {

namespace {

// Returns true if the words from `first` on name files, and none can be an option.
bool are_files(const ShellCommand& command, std::size_t first) {
    for (std::size_t i = first; i < command.words.size(); ++i)
        if (command.words[i].starts_with('-') || !is_clear_of_options(command, i)) return false;
    return command.words.size() > first;
}

// Is the first word behind the program one of these?
bool has_way(const ShellCommand& command, std::string_view ways) {
    return command.words.size() > 1 && is_listed(ways, command.words[1]);
}

} // namespace

// -v names a program to start.
bool is_safe_getconf(const ShellCommand& command) {
    return (command.words.size() == 2 && command.words[1] == "-a") || are_files(command, 1);
}

// tar t lists. Other options can start programs (--to-command, --checkpoint-action, -I), and an
// archive with a colon in its name is on another host.
bool is_safe_tar(const ShellCommand& command) {
    if (command.words.size() < 3) return false;
    std::string_view letters = command.words[1];
    if (letters.starts_with('-')) letters.remove_prefix(1);
    const bool lists = letters.size() > 1 && letters.find('t') != std::string_view::npos &&
                       letters.ends_with('f') &&
                       letters.find_first_not_of("tvzjJf") == std::string_view::npos &&
                       std::ranges::count(letters, 'f') == 1;
    return lists && command.words[2].find(':') == std::string::npos && !command.has_glob[2] &&
           are_files(command, 2);
}

// tree(1) takes the value of a letter from the next word, even if more letters follow: -Po. -o
// writes a file, and -R writes one in each directory.
bool is_safe_tree(const ShellCommand& command) {
    constexpr std::string_view letters = "adfilFgpuDshxnNCASJXqQrtcUv";
    constexpr std::string_view longs = "--dirsfirst --filesfirst --noreport --nolinks --du --si "
                                       "--inodes --device --prune --gitignore --ignore-case --help";
    const auto& words = command.words;
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (!is_clear_of_options(command, i)) return false;
        if (is_listed("-L -P -I", words[i])) {
            ++i;
            if (i >= words.size() || command.has_glob[i] || words[i].starts_with('-')) return false;
        } else if (words[i].starts_with('-') && !is_listed(longs, words[i]) &&
                   words[i].find_first_not_of(letters, 1) != std::string::npos) {
            return false;
        }
    }
    return true;
}

bool is_safe_unzip(const ShellCommand& command) {
    return has_way(command, "-l -v -p -c") && are_files(command, 2);
}

bool is_safe_zipinfo(const ShellCommand& command) {
    return are_files(command, 1) ||
           (has_way(command, "-1 -2 -s -m -l -v -h -t") && are_files(command, 2));
}

// Otherwise it replaces the file.
bool is_safe_gzip(const ShellCommand& command) {
    return has_way(command, "-l -lv -t -tv -dc -cd --list --test") && are_files(command, 2);
}

// As it reads what is installed. A pager is started for a terminal: see hardened_environment().
bool is_safe_dpkg(const ShellCommand& command) {
    constexpr std::string_view ways = "-l -L -s -S --list --listfiles --status --search";
    const bool lists_all = command.words.size() == 2 && is_listed("-l --list", command.words[1]);
    return lists_all || (has_way(command, ways) && are_files(command, 2));
}

} // namespace ew::core
