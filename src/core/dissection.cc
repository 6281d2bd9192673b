#include "core/dissection.h"

#include <algorithm>

namespace ew::core {

namespace {

constexpr int deepest_shell = 4;
constexpr std::size_t most_words = 4096; // of a command that a rule or the safe list may allow

// Does `cd` lead out of the workspace, as far as its words tell?
bool leaves(const Words& words, std::string_view workspace) {
    std::size_t at = 1;
    while (at < words.size() && words[at].size() > 1 && words[at].front() == '-' &&
           words[at] != "--")
        ++at;
    if (at < words.size() && words[at] == "--") ++at;
    if (at >= words.size() || words[at] == "-" || words[at].empty()) return true;
    const std::string target = words[at] + "/";
    if (target.find("../") != std::string::npos) return true;
    if (!target.starts_with('/')) return false;
    return workspace.empty() || !target.starts_with(std::string(workspace) + "/");
}

// A shell's options and words around a script that are not looked into.
bool is_odd_shell_call(const Words& argv) {
    if (!is_shell(argv.front())) return false;
    for (std::size_t i = 1; i < argv.size(); ++i) {
        const std::string& word = argv[i];
        if (word.size() < 2 || (word.front() != '-' && word.front() != '+')) return false;
        if (!word.starts_with("--") && word.find('c') != std::string::npos) return true;
    }
    return false;
}

class Dissection {
public:
    Dissection(std::string_view workspace, const ProgramTrust& trust)
        : workspace_(workspace), trust_(trust) {}

    std::vector<Part> take_apart(const Words& argv) {
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
        if (command.words.front() == "cd" && depth > 0 &&
            (has_pattern || leaves(command.words, workspace_)))
            has_left_ = true;
    }

    void add_script(const ShellCommand& command, int depth) {
        const std::string& shell = command.words.front();
        if (!is_straight_path(shell) || !trust_(shell))
            return push(command, depth, shell + " is not known to be a shell of the system");
        if (depth >= deepest_shell) return push(command, depth, "too many shells in each other");
        const ShellCall call = shell_call(command.words);
        const Script script = decompose(call.script, call.dialect);
        if (!script.obstacle.empty()) return push(command, depth, script.obstacle);
        // The outermost shell is only how the script is run: no rule is about that.
        if (depth > 0) inner_shells_.push_back(command.words);
        for (const ShellCommand& inner : script.commands)
            add(inner, depth + 1);
        if (depth > 0) inner_shells_.pop_back();
    }

    void push(const ShellCommand& command, int depth, std::string obstacle) {
        Part part;
        part.command = command;
        part.obstacle = std::move(obstacle);
        if (part.obstacle.empty() && command.words.size() > most_words)
            part.obstacle = "there are too many words to look at";
        part.inner_shells = inner_shells_;
        part.is_in_shell = depth > 0;
        part.has_left_workspace = has_left_;
        parts_.push_back(std::move(part));
    }

    std::string_view workspace_;
    const ProgramTrust& trust_;
    std::vector<Part> parts_;
    std::vector<Words> inner_shells_;
    bool has_left_ = false;
};

} // namespace

std::vector<Part> take_apart(const Words& argv, std::string_view workspace,
                             const ProgramTrust& trust) {
    return Dissection(workspace, trust).take_apart(argv);
}

} // namespace ew::core
