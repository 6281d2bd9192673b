#include "core/judgement/dissection.h"

#include "core/judgement/judgement.h"
#include "core/judgement/literal_commands.h"
#include "core/judgement/program_options.h"
#include "core/judgement/started_commands.h"
#include "core/text/paths.h"

#include <algorithm>
#include <utility>

namespace ew::core {

namespace {

constexpr int deepest_shell = 4;
constexpr std::size_t most_words = 4096; // of a command that a rule or the safe list may allow

// Returns the directory that `cd` names. Returns an empty string if it is computed, if it is a
// previous directory, or if there are two words (`cd OLD NEW` of zsh).
std::string cd_target(const Words& words) {
    std::size_t at = 1;
    while (at < words.size() && words[at].size() > 1 && words[at].front() == '-' &&
           words[at] != "--")
        ++at;
    if (at < words.size() && words[at] == "--") ++at;
    if (at + 1 != words.size() || words[at] == "-" || words[at].starts_with('+')) return {};
    if ((words[at] + "/").find("../") != std::string::npos) return {};
    return words[at];
}

bool is_inside(std::string_view path, const std::vector<std::string>& roots) {
    return std::any_of(roots.begin(), roots.end(),
                       [&](const std::string& root) { return is_at_or_below(path, root); });
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Returns the name of a shell's file without its version: "zsh" for /usr/bin/zsh-5.9.
std::string_view family(std::string_view program) {
    const std::string_view name = base_name(program);
    return name.substr(0, name.find_first_of("-.0123456789"));
}

// Returns true if a shell has options or words around its script that are not parsed here.
bool is_odd_shell_call(const Words& argv) {
    if (!is_shell(argv.front())) return false;
    for (std::size_t i = 1; i < argv.size(); ++i) {
        const std::string& word = argv[i];
        if (word.size() < 2 || (word.front() != '-' && word.front() != '+')) return false;
        if (!word.starts_with("--") && word.find('c') != std::string::npos) return true;
    }
    return false;
}

// Returns true if the command, or one that it starts, runs its input.
bool may_run_input(const Words& words) {
    return std::any_of(words.begin(), words.end(), is_shell) ||
           std::ranges::any_of(with_started_commands(words).commands, [](const Words& started) {
               return is_listed("at batch parallel ssh", base_name(started.front()));
           });
}

class Dissection {
public:
    Dissection(const JudgedCommand& judged, const ProgramTrust& trust)
        : judged_(judged),
          trust_(trust),
          has_left_(!is_inside(judged.workdir, judged.workspace_roots)) {}

    std::vector<Part> take_apart() {
        const Words& argv = judged_.argv;
        add({argv, std::vector<bool>(argv.size(), false)}, 0);
        return std::move(parts_);
    }

private:
    void add(const ShellCommand& command, int depth) {
        const bool has_pattern = std::find(command.has_glob.begin(), command.has_glob.end(),
                                           true) != command.has_glob.end();
        if (is_plain_shell_call(command.words) && !has_pattern) return add_script(command, depth);
        const bool is_odd = is_odd_shell_call(command.words);
        push(command, depth, is_odd ? "a shell with unusual options or words" : "");
        if (command.words.front() == "cd" && depth > 0)
            has_left_ = has_left_ || has_pattern || leads_out(command.words);
    }

    // Returns true if the directory after this `cd` may be outside the workspace. The `cd` may also
    // fail, or not be reached. So a second relative `cd` could begin in several directories.
    bool leads_out(const Words& words) {
        std::string target = cd_target(words);
        if (target.empty()) return true;
        if (target == ".") return false;
        if (!target.starts_with('/')) {
            if (has_moved_) return true;
            target = judged_.workdir + "/" + target;
        }
        has_moved_ = true;
        return !judged_.stays_inside || !judged_.stays_inside(target);
    }

    // Returns why a script for this shell is not decomposed. Returns an empty string if it is.
    std::string obstacle_of_shell(const ShellCommand& command, int depth) const {
        const std::string& shell = command.words.front();
        if (!is_trusted_start(part_of(command, depth), trust_))
            return shell + " is not known to be a shell of the system";
        if (depth >= deepest_shell) return "too many shells in each other";
        const bool is_known =
            depth > 0 || judged_.program.empty() ||
            is_listed("ash bash busybox dash rbash sh zsh", family(judged_.program));
        if (!is_known) return shell + " stands for " + judged_.program;
        if (!judged_.has_utf8_locale && !is_ascii(command.words[2]))
            return "letters that are not ASCII, in a locale that may read them otherwise";
        return {};
    }

    // The file decides, not only the name: bash may be a link to another shell, and bash that is
    // called as sh is in its POSIX mode.
    Dialect dialect_of_program(Dialect by_name) const {
        const std::string_view program = family(judged_.program);
        if (program.empty()) return by_name;
        if (program == "zsh" || by_name == Dialect::zsh) return Dialect::zsh;
        return program == "bash" ? by_name : Dialect::sh;
    }

    void add_script(const ShellCommand& command, int depth) {
        std::string obstacle = obstacle_of_shell(command, depth);
        if (!obstacle.empty()) return push(command, depth, std::move(obstacle));
        ShellCall call = shell_call(command.words);
        if (depth == 0) call.dialect = dialect_of_program(call.dialect);
        const Script script = decompose(call.script, call.dialect, output_files());
        if (!script.obstacle.empty()) return push(command, depth, script.obstacle);
        // No rule concerns the outermost shell, because it only runs the script.
        if (depth > 0) inner_shells_.push_back(command.words);
        // Only the first shell gets the script.
        bool is_fed = script.commands.size() < 2 && !script.has_input;
        const bool had_input = std::exchange(has_input_, has_input_ || script.has_input);
        const bool was_plain = std::exchange(is_plain_, is_plain_ && script.is_plain);
        for (const ShellCommand& inner : script.commands) {
            const std::size_t first = parts_.size();
            add(inner, depth + 1);
            if (is_fed || !may_run_input(inner.words)) continue;
            FoundCommands found = literal_commands(call.script);
            parts_[first].fed = std::move(found.commands);
            parts_[first].is_fed_whole = found.is_whole && script.is_plain;
            is_fed = true;
        }
        has_input_ = had_input;
        is_plain_ = was_plain;
        if (depth > 0) inner_shells_.pop_back();
    }

    // The shell opens these files inside the sandbox of the call. Without a sandbox, or if the call
    // asks for more than it gives, nothing bounds them. A policy that trusts nothing asks about
    // every file that is written.
    OutputFiles output_files() const {
        const bool is_bounded = judged_.is_confined && !judged_.is_elsewhere && !has_left_ &&
                                judged_.permissions == SandboxPermissions::use_default;
        return is_bounded && judged_.policy != ApprovalPolicy::untrusted ? OutputFiles::told
                                                                         : OutputFiles::refused;
    }

    Part part_of(const ShellCommand& command, int depth) const {
        Part part;
        part.command = command;
        part.inner_shells = inner_shells_;
        part.is_in_shell = depth > 0;
        part.has_input = has_input_;
        part.is_plain = is_plain_;
        part.has_left_workspace = has_left_;
        part.is_elsewhere = judged_.is_elsewhere;
        if (depth == 0) part.program = judged_.program;
        return part;
    }

    void push(const ShellCommand& command, int depth, std::string obstacle) {
        Part part = part_of(command, depth);
        part.obstacle = std::move(obstacle);
        if (part.obstacle.empty() && command.words.size() > most_words)
            part.obstacle = "there are too many words to look at";
        parts_.push_back(std::move(part));
    }

    const JudgedCommand& judged_;
    const ProgramTrust& trust_;
    std::vector<Part> parts_;
    std::vector<Words> inner_shells_;
    bool has_input_ = false; // see Part
    bool is_plain_ = true;   // see Part
    bool has_left_;
    bool has_moved_ = false; // a `cd` before this may have been carried out or not
};

} // namespace

std::vector<Part> take_apart(const JudgedCommand& judged, const ProgramTrust& trust) {
    return Dissection(judged, trust).take_apart();
}

Words words_of_program(const Part& part) {
    const std::string_view name = base_name(part.program);
    if (name.empty() || name == base_name(part.command.words.front())) return {};
    Words words = part.command.words;
    words.front() = part.program;
    return words;
}

bool is_trusted_start(const Part& part, const ProgramTrust& trust) {
    const std::string& word = part.command.words.front();
    if (!is_straight_path(word) || !trust(word)) return false;
    if (part.program.empty()) return true;
    if (is_shell(part.program) && !is_shell(word)) return false;
    return !word.starts_with('/') || trust(part.program);
}

} // namespace ew::core
