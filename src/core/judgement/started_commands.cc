// Programs that start other programs, and where in their words these stand.
#include "core/judgement/started_commands.h"

#include "core/judgement/command_safety.h"
#include "core/judgement/launchers.h"
#include "core/judgement/literal_commands.h"
#include "core/judgement/program_options.h"

#include <algorithm>

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

// Launchers with more options than are listed, or with an operand that may be missing.
constexpr std::string_view with_other_options =
    "firejail ltrace nsenter setarch setpriv strace systemd-run unshare valgrind";

// Programs with an option whose value is a shell script.
constexpr std::string_view script_runners = "emulate script runuser su sg";

std::string joined(const Words& words, std::size_t first) {
    std::string text;
    for (std::size_t i = first; i < words.size(); ++i)
        text.append(text.empty() ? "" : " ").append(words[i]);
    return text;
}

// Puts a * in place of the text. Returns true if any word had it.
bool put_unknown(Words& words, std::string_view text) {
    bool has_text = false;
    for (std::string& word : words)
        for (std::size_t at = 0; (at = word.find(text, at)) != std::string::npos; ++at) {
            word.replace(at, text.size(), "*");
            has_text = true;
        }
    return has_text;
}

class Search {
public:
    explicit Search(FoundCommands& found)
        : found_(found.commands), is_whole_(found.is_whole), has_unknown_(found.has_unknown) {}

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
            Words started = between(words, i + 1, end);
            has_unknown_ = put_unknown(started, "{}") || has_unknown_;
            add(started, depth + 1);
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
        Words started = from(words, at);
        if (is_listed("xargs parallel", launcher.name) && !started.empty()) {
            for (const std::string_view text : replaced_texts(launcher, words, at))
                put_unknown(started, text);
            started.emplace_back("*");
            has_unknown_ = true;
        }
        add(started, depth + 1);
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
    bool& has_unknown_;
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
