// Prefixes that are never proposed as rules.
#include "core/command_safety.h"
#include "core/judgement.h"
#include "core/program_options.h"

#include <algorithm>
#include <array>

namespace ew::core {

namespace {

// Rules with only these words would allow everything their program can do. Shells and launchers are
// banned in general, see is_banned_prefix.
constexpr std::array banned_prefixes = {"cargo",
                                        "docker",

                                        "git",
                                        "irb",
                                        "java",
                                        "kubectl",

                                        "lua",
                                        "lua -e",
                                        "node",
                                        "node -e",
                                        "npm",
                                        "npm exec",
                                        "npx",
                                        "osascript",
                                        "perl",
                                        "perl -e",
                                        "php",
                                        "php -r",
                                        "pip",
                                        "pnpm",
                                        "podman",

                                        "powershell",
                                        "powershell -Command",
                                        "powershell -c",
                                        "powershell.exe",
                                        "powershell.exe -Command",
                                        "powershell.exe -c",
                                        "pwsh",
                                        "pwsh -Command",
                                        "pwsh -c",
                                        "py",
                                        "py -3",
                                        "pypy",
                                        "pypy3",
                                        "python",
                                        "python -",
                                        "python -c",
                                        "python3",
                                        "python3 -",
                                        "python3 -c",
                                        "pythonw",
                                        "pyw",
                                        "ruby",
                                        "ruby -e",

                                        "uv",
                                        "uv run",
                                        "yarn",
                                        "deno",
                                        "deno eval",
                                        "bun",
                                        "awk",
                                        "gawk",
                                        "mawk",
                                        "find",
                                        "tee",
                                        "rm"};

// Programs that run a command elsewhere, and how many words lead up to it at least.
struct Remote {
    std::string_view program;
    std::string_view subcommands; // none: the program itself
    std::size_t words;
};

constexpr std::array remotes = {
    Remote{"docker", "exec run", 3},
    Remote{"kubectl", "exec", 3},
    Remote{"podman", "exec run", 3},
    Remote{"ssh", "", 2},
};

bool is_remote_without_command(const Words& words) {
    return std::any_of(remotes.begin(), remotes.end(), [&](const Remote& remote) {
        const bool is_meant = words.front() == remote.program &&
                              (remote.subcommands.empty() ||
                               (words.size() > 1 && is_listed(remote.subcommands, words[1])));
        return is_meant && words.size() <= remote.words;
    });
}

} // namespace

bool is_banned_prefix(const Words& prefix) {
    if (prefix.empty()) return true;
    Words words = prefix;
    words.front() = base_name(prefix.front());
    std::string text;
    for (const std::string& word : words)
        text.append(text.empty() ? "" : " ").append(word);
    if (std::find(banned_prefixes.begin(), banned_prefixes.end(), text) != banned_prefixes.end())
        return true;
    if (is_remote_without_command(words)) return true;
    const bool is_short_shell = is_shell(words.front()) &&
                                std::all_of(words.begin() + 1, words.end(),
                                            [](const auto& word) { return word.starts_with('-'); });
    if (is_short_shell) return true;
    if (!is_launcher(words.front())) return false;
    const std::vector<Words> started = with_started_commands(words);
    return started.size() < 2 || is_banned_prefix(started[1]);
}

} // namespace ew::core
