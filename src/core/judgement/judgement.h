// The decision about one command line: run it, ask a person, or refuse it, and the reason.
#pragma once

#include "core/judgement/command_safety.h"
#include "core/judgement/policy_types.h"
#include "core/judgement/rules.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::core {

// A command line, and all that its judgement depends on.
struct JudgedCommand {
    Words argv;
    ApprovalPolicy policy = ApprovalPolicy::on_request;
    GranularFlags granular = {};
    bool is_confined = true; // a sandbox of ours restricts the file system
    SandboxPermissions permissions = SandboxPermissions::use_default;
    Words requested_prefix = {};        // the caller would like this rule to be proposed
    bool has_risky_environment = false; // the caller set variables that change what programs do
    bool has_utf8_locale = true;        // what runs reads text as UTF-8, or byte by byte
    // The file that argv[0] stands for: absolute, symlinks resolved. Empty: not known.
    std::string program = {};
    // Rules that allow speak about the workspace: where the command runs, and in which directories
    // and below that has to be. Absolute, symlinks resolved. No roots: nothing is inside.
    std::vector<std::string> workspace_roots = {};
    std::string workdir = {};
    // Is this absolute path, symlinks resolved, a directory in the workspace? Without an answer no
    // `cd` is known to stay there.
    std::function<bool(std::string_view path)> stays_inside = {};
};

struct CommandVerdict {
    Words words;
    Decision decision = Decision::prompt;
    std::string why = {}; // "known safe", "rule user.toml:3", "dangerous", …
    std::string rule_origin = {};
    std::int64_t grant = 0;
    std::string justification = {};
};

struct Judgement {
    Decision decision = Decision::prompt;
    std::string reason = {}; // for a person; the justification of the deciding rule comes first
    std::vector<CommandVerdict> commands = {};
    std::string obstacle = {};   // why the script was not taken apart
    bool is_by_rule = false;     // the deciding question or ban comes from a rule
    bool is_safe_listed = false; // allowed, and some command only because it is known to be safe:
                                 // give it the environment that the list relies on
    Words proposed_prefix = {};  // a rule to offer with the question; may be empty
};

Judgement judge(const JudgedCommand& judged, const RuleSet& rules, const ProgramTrust& trust);

// What an approval is kept for: the words of the one command in a shell's script, or the script, or
// the words as they are. Equal results run the same.
Words canonical_argv(const Words& argv);

} // namespace ew::core
