#include "core/judgement/readings.h"

#include "core/judgement/literal_commands.h"
#include "core/judgement/program_options.h"
#include "core/judgement/safe_git.h"
#include "core/judgement/started_commands.h"

#include <algorithm>

namespace ew::core {

namespace {

constexpr std::size_t most_words = 1 << 17; // in all sequences of words
constexpr std::size_t most_text = 1 << 20;  // bytes of the texts that are read as scripts

// Programs whose words are names, numbers and texts, never programs or scripts.
constexpr std::string_view plain_programs =
    "cd chgrp chmod chown cp curl kill ln mkdir mv pkill rm rmdir sleep tee touch truncate";

// Builtins that compute what some of their words say.
constexpr std::string_view computing =
    "[ [[ (( declare export let local printf read readonly test typeset unset";

// Package managers and their subcommands that take only names.
constexpr std::string_view package_managers =
    "apk apt apt-get brew cargo dnf gem npm pacman pip pip3 pnpm yarn yum";
constexpr std::string_view about_packages =
    "add i info install remove rm search show uninstall update upgrade view";

// Options of these subcommands that neither name a program nor a setting, so that no other word is
// one. Of other options, the words are looked at (apt -o DPkg::Pre-Invoke::=PROGRAM).
constexpr std::string_view plain_package_options =
    "-D -E -S -U -V -d -f -g -n -q -qq -u -v -y --all --assume-yes --dev --dry-run --exact --force "
    "--global --locked --no-cache --no-deps --no-install-recommends --no-save --noconfirm "
    "--offline --only-upgrade --purge --quiet --recursive --reinstall --save --save-dev "
    "--save-exact --upgrade --user --verbose --yes";

// Options of wget that start nothing, by the manual of wget 1.21. Others do: --use-askpass names a
// program, and -e holds a setting that may name one.
constexpr KnownOptions plain_wget = {
    .shorts = "qvcNnbSx46O:P:T:t:U:w:",
    .longs = "quiet verbose no-verbose continue timestamping show-progress progress= "
             "output-document= directory-prefix= timeout= tries= user-agent= header= wait= spider "
             "server-response no-check-certificate no-clobber https-only max-redirect= post-data= "
             "method= body-data= content-disposition inet4-only inet6-only limit-rate= no-proxy"};

// Subcommands of git that start nothing that their words name.
constexpr std::string_view plain_git =
    "add blame branch checkout cherry-pick commit describe diff init log merge mv reset restore "
    "revert rm show stash status switch tag";

bool is_substituted(std::string_view word) {
    return word.find("$(") != std::string_view::npos || word.find('`') != std::string_view::npos;
}

bool names_packages_only(const Words& words) {
    return std::all_of(words.begin() + 2, words.end(), [](const std::string& word) {
        return !word.starts_with('-') || is_listed(plain_package_options, word);
    });
}

// Returns true if the command starts none of its words.
bool starts_no_word(const Words& words, const ProgramTrust& trust) {
    const std::string_view name = base_name(words.front());
    if (is_listed(computing, name))
        return name != "((" && std::none_of(words.begin(), words.end(), is_substituted);
    const bool is_bare = words.front().find('/') == std::string::npos;
    const auto is_system_program = [&](std::string_view word) { return is_bare || trust(word); };
    if (!is_system_program(words.front())) return false;
    if (is_listed(plain_programs, name)) return true;
    if (name == "wget")
        return read_words({words, std::vector<bool>(words.size(), false)}, 1, plain_wget)
            .has_value();
    if (is_listed(package_managers, name) && words.size() > 1)
        return is_listed(about_packages, words[1]) && names_packages_only(words);
    if (name == "git" && words.size() > 1 && is_listed(plain_git, words[1])) return true;
    return is_known_safe({words, std::vector<bool>(words.size(), false)}, is_system_program);
}

bool is_word_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("_./@%+-*?").find(c) != std::string_view::npos;
}

// The words of a text, whatever language it is in: ["git","push"] has git and push.
void append_words_of(std::string_view text, Words& words) {
    for (std::size_t at = 0; at < text.size();) {
        const auto* const begin = std::find_if(text.begin() + at, text.end(), is_word_character);
        const auto* const end = std::find_if_not(begin, text.end(), is_word_character);
        if (begin != end) words.emplace_back(begin, end);
        at = static_cast<std::size_t>(end - text.begin());
    }
}

// Some of the zeros stand for $?, which may be any number.
Words words_with_any_status(const ShellCommand& command) {
    Words words = command.words;
    for (std::size_t i = 0; i < words.size(); ++i)
        if (command.has_glob[i]) std::ranges::replace(words[i], '0', '*');
    return words;
}

class Reader {
public:
    Reader(const Part& part, const ProgramTrust& trust) : part_(part), trust_(trust) {}

    Readings read() {
        add_started({words_with_any_status(part_.command)});
        if (const Words words = words_of_program(part_); !words.empty()) add_started({words});
        add_started(part_.fed);
        readings_.is_whole = readings_.is_whole && part_.is_fed_whole;
        append(part_.inner_shells);
        add_other_names();
        const std::size_t count = readings_.commands.size();
        for (std::size_t i = 0; i < count; ++i)
            add_words_behind(readings_.commands[i]);
        const Words& words = part_.command.words;
        readings_.has_alias = std::any_of(words.begin(), words.end(), holds_alias);
        const auto& has_glob = part_.command.has_glob;
        readings_.has_pattern = readings_.has_pattern || !part_.obstacle.empty() ||
                                std::find(has_glob.begin(), has_glob.end(), true) != has_glob.end();
        return std::move(readings_);
    }

private:
    void add_started(const std::vector<Words>& commands) {
        const FoundCommands found = with_started_commands(commands);
        readings_.is_whole = readings_.is_whole && found.is_whole;
        readings_.has_pattern = readings_.has_pattern || found.has_unknown;
        append(found.commands);
    }

    void append(const std::vector<Words>& commands) {
        readings_.commands.insert(readings_.commands.end(), commands.begin(), commands.end());
    }

    // git-push is git push, and zsh reads =git as the path of git.
    void add_other_names() {
        const std::size_t count = readings_.commands.size();
        for (std::size_t i = 0; i < count; ++i) {
            Words words = readings_.commands[i];
            const std::string name(base_name(words.front()));
            if (name.starts_with("git-") && name.size() > 4) {
                words.front() = name.substr(4);
                words.insert(words.begin(), "git");
            } else if (words.front().starts_with('=')) {
                words.front().erase(0, 1);
            } else {
                words = git_without_options(words);
                if (words.size() == readings_.commands[i].size()) continue;
            }
            if (!words.empty() && !words.front().empty())
                readings_.commands.push_back(std::move(words));
        }
    }

    void add_words_behind(const Words& words) {
        if (words.size() < 2 || starts_no_word(words, trust_)) return;
        add_sequence({words.begin() + 1, words.end()});
        // What these start is among the commands already, and their scripts were read.
        const std::string_view name = base_name(words.front());
        const bool reads_option = is_listed("emulate runuser script sg su", name);
        if ((is_launcher(name) && !reads_option) || is_shell(name) ||
            is_listed("alias eval fd fdfind find trap", name))
            return;
        Words loose;
        for (std::size_t i = 1; i < words.size(); ++i) {
            append_words_of(words[i], loose);
            if (words[i].find_first_of(" \t\n'\"\\;") != std::string::npos) add_script(words[i]);
        }
        if (!std::equal(loose.begin(), loose.end(), words.begin() + 1, words.end()))
            add_sequence(std::move(loose));
    }

    // The text may be a script, also behind the name of a setting.
    void add_script(std::string_view text) {
        const std::size_t equals = text.find('=');
        for (const std::string_view script :
             {text,
              equals == std::string_view::npos ? text.substr(0, 0) : text.substr(equals + 1)}) {
            if (script.size() > text_left_) {
                readings_.is_whole = false;
                return;
            }
            text_left_ -= script.size();
            FoundCommands found = literal_commands(script);
            readings_.is_whole = readings_.is_whole && found.is_whole;
            for (Words& command : found.commands)
                add_sequence(std::move(command));
        }
    }

    void add_sequence(Words words) {
        if (words.empty()) return;
        if (words.size() > words_left_) {
            readings_.is_whole = false;
            return;
        }
        words_left_ -= words.size();
        readings_.behind.push_back(std::move(words));
    }

    const Part& part_;
    const ProgramTrust& trust_;
    Readings readings_;
    std::size_t words_left_ = most_words;
    std::size_t text_left_ = most_text;
};

} // namespace

Readings readings_of(const Part& part, const ProgramTrust& trust) {
    return Reader(part, trust).read();
}

} // namespace ew::core
