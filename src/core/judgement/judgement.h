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
    bool is_confined = true; // a sandbox of execward restricts the file system
    SandboxPermissions permissions = SandboxPermissions::use_default;
    Words requested_prefix = {};        // the rule that the caller wants to have proposed
    bool has_own_environment = false;   // the caller set variables that are not known to be inert
    bool keeps_own_environment = false; // also in a run that is harmless (Hardening::all)
    bool has_utf8_locale = true;        // the program reads text as UTF-8 or byte by byte
    // The file that argv[0] refers to: absolute, symlinks resolved. Empty if unknown.
    std::string program = {};
    bool is_script = false;    // the last word is a script, which may be longer than other words
    bool is_elsewhere = false; // on another machine, whose programs cannot be examined
    // Allow rules apply only in the workspace: the command must run in one of these directories or
    // below it. Absolute, symlinks resolved. Without roots nothing is inside.
    std::vector<std::string> workspace_roots = {};
    std::string workdir = {};
    // Returns true if this absolute path (symlinks resolved) is a directory in the workspace.
    // Without this function, every `cd` counts as leaving the workspace.
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
    std::string reason = {}; // for a person; begins with the deciding rule's justification
    std::vector<CommandVerdict> commands = {};
    std::string obstacle = {};             // why the script was not decomposed
    bool is_by_rule = false;               // a rule caused the deciding question or ban
    bool is_safe_listed = false;           // allowed because commands are known to be safe
    bool needs_safe_list = false;          // allowed for no other reason
    Hardening hardening = Hardening::none; // what the list requires of the environment
    Words proposed_prefix = {};            // a rule to offer with the question; may be empty
};

Judgement judge(const JudgedCommand& judged, const RuleSet& rules, const ProgramTrust& trust);

// Returns the key under which an approval is stored: the words of the only command in a shell's
// script, or the script, or the words themselves. Command lines with equal keys run the same.
Words canonical_argv(const Words& argv);

// Returns true if the directory decides which program runs: some command of it is a relative path.
// False also for scripts that cannot be taken apart.
bool starts_relative_program(const Words& argv);

} // namespace ew::core
