#include "protocol/decode.h"

#include "core/text/patterns.h"
#include "json/file_uri.h"
#include "json/reader.h"
#include "protocol/approval.h"
#include "protocol/cast.h"
#include "protocol/exec.h"
#include "protocol/exec_list.h"
#include "protocol/files.h"
#include "protocol/network_policy.h"
#include "protocol/patch.h"
#include "protocol/policy.h"
#include "protocol/process.h"
#include "protocol/process_output.h"
#include "protocol/process_start.h"
#include "protocol/sandbox.h"
#include "protocol/screen.h"
#include "protocol/session.h"
#include "protocol/settings.h"
#include "protocol/stored_approvals.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::protocol {

// The reader finds these functions through the namespace of the type. They check what the members
// of a struct cannot express: which members a type needs, and which exclude each other.

// Takes either name of a signal.
std::optional<json::Mismatch> read_value(json::Element element, SignalName& out, json::Bounds) {
    constexpr auto& names = json::Names<SignalName>::list;
    std::size_t index = 0;
    std::optional<json::Mismatch> wrong =
        json::read_name(element, index, names.data(), names.size());
    if (!wrong) out = static_cast<SignalName>(index % (names.size() / 2));
    return wrong;
}

namespace {

json::Mismatch excluded(std::string member, std::string_view other) {
    return {std::move(member), fmt::format("to be absent, because of {}", other)};
}

json::Mismatch missing(std::string member, std::string_view because) {
    return {std::move(member), fmt::format("to be present, {}", because)};
}

// Returns the alternative name of a member: some clients send "writable_roots" for "writableRoots".
std::string other_name_of(std::string_view name) {
    if (name == "type") return "kind";
    if (name == "policyCwd") return "sandboxPolicyCwd";
    std::string result;
    for (const char letter : name) {
        const bool is_upper = letter >= 'A' && letter <= 'Z';
        if (is_upper) result += '_';
        result += is_upper ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
    return result;
}

// Reads members that have two names. A message with both names is invalid, because it is unclear
// which one counts.
class EitherName {
public:
    explicit EitherName(simdjson::dom::object object) : object_(object), reader_(object) {}

    template <class T>
    void required(std::string_view name, T& out, Bounds bounds = {}) {
        reader_.required(name_in_use(name), out, bounds);
    }

    template <class T>
    void optional(std::string_view name, T& out, Bounds bounds = {}) {
        reader_.optional(name_in_use(name), out, bounds);
    }

    std::optional<json::Mismatch>& wrong() { return twice_ ? twice_ : reader_.wrong(); }

private:
    bool has(std::string_view name) const {
        json::Element element;
        return object_.at_key(name).get(element) == simdjson::SUCCESS && !element.is_null();
    }

    std::string name_in_use(std::string_view name) {
        std::string other = other_name_of(name);
        if (other == name || !has(other)) return std::string(name);
        if (has(name) && !twice_) twice_ = excluded(std::string(name), other);
        return other;
    }

    simdjson::dom::object object_;
    json::FieldReader reader_;
    std::optional<json::Mismatch> twice_;
};

template <class Struct>
std::optional<json::Mismatch> read_either_name(json::Element element, Struct& out) {
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) return json::Mismatch{"", "an object"};
    EitherName reader(object);
    fields(reader, out);
    return std::move(reader.wrong());
}

// Some clients send "workspaceWrite" for "workspace-write".
std::optional<json::Mismatch> read_mode(json::Element element, SandboxMode& out) {
    constexpr std::array<std::string_view, 4> other_names = {"dangerFullAccess", "readOnly",
                                                             "workspaceWrite", "externalSandbox"};
    std::string_view text;
    if (element.get(text) == simdjson::SUCCESS) {
        const auto* const found = std::find(other_names.begin(), other_names.end(), text);
        out = static_cast<SandboxMode>(found - other_names.begin());
        if (found != other_names.end()) return {};
    }
    return json::read_value(element, out, {});
}

// Older clients can restrict read access with these members. execward supports that only in a
// fileSystemPolicy, so only full access is accepted.
std::optional<json::Mismatch> expect_full_access(simdjson::dom::object policy) {
    for (const std::string_view member : {"access", "readOnlyAccess", "read_only_access"}) {
        json::Element access;
        if (policy.at_key(member).get(access) != simdjson::SUCCESS || access.is_null()) continue;
        std::string_view type;
        const bool is_told = access.at_key("type").get(type) == simdjson::SUCCESS;
        if (!is_told || (type != "full-access" && type != "fullAccess"))
            return json::Mismatch{std::string(member), "full access, else use fileSystemPolicy"};
    }
    return {};
}

// Converts file URIs to paths. A pattern may be relative to the roots of the workspace.
std::optional<json::Mismatch> make_native(std::vector<std::string>& patterns) {
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        std::string& pattern = patterns[i];
        const std::optional<std::string> path =
            pattern.starts_with("file:") ? json::path_from_text(pattern) : pattern;
        const bool is_pattern = path && core::is_pattern(*path);
        if (!path || (!path->starts_with('/') && !is_pattern))
            return json::Mismatch{fmt::format("[{}]", i),
                                  "an absolute path, a file URI or a pattern with * ? [ or {a,b}"};
        pattern = *path;
    }
    return {};
}

bool is_empty_array(json::Element element) {
    simdjson::dom::array array;
    return element.get(array) == simdjson::SUCCESS && array.size() == 0;
}

// A client that sends paths with a mode that confines no files expects them to have an effect, so
// they are refused.
std::optional<json::Mismatch> expect_no_paths(simdjson::dom::object policy) {
    for (const std::string_view member :
         {"denyRead", "deny_read", "writableRoots", "writable_roots"}) {
        json::Element paths;
        if (policy.at_key(member).get(paths) != simdjson::SUCCESS) continue;
        if (!paths.is_null() && !is_empty_array(paths))
            return excluded(std::string(member), "a mode that confines no files");
    }
    return {};
}

// Reads the options of a mode: all members of SandboxPolicy except the type.
std::optional<json::Mismatch> read_options(simdjson::dom::object object, SandboxPolicy& out) {
    EitherName reader(object);
    option_fields(reader, out);
    if (reader.wrong()) return std::move(reader.wrong());
    if (std::optional<json::Mismatch> wrong = make_native(out.deny_read))
        return json::below("denyRead", *wrong);
    return {};
}

} // namespace

std::optional<json::Mismatch> read_value(json::Element element, EntryPath& out, Bounds) {
    if (std::optional<json::Mismatch> wrong = json::read_members(element, out)) return wrong;
    switch (out.type) {
    case EntryPathType::path:
        if (!out.path) return missing("path", "as the type is \"path\"");
        break;
    case EntryPathType::glob_pattern:
        if (!out.pattern) return missing("pattern", "as the type is \"glob_pattern\"");
        break;
    case EntryPathType::special:
        if (!out.value) return missing("value", "as the type is \"special\"");
        break;
    }
    return {};
}

std::optional<json::Mismatch> read_value(json::Element element, FileSystemPolicy& out, Bounds) {
    if (std::optional<json::Mismatch> wrong = read_either_name(element, out)) return wrong;
    if (out.type == FileSystemType::restricted && !out.entries)
        return missing("entries", "as the type is \"restricted\"");
    return {};
}

std::optional<json::Mismatch> read_value(json::Element element, PermissionProfile& out, Bounds) {
    if (std::optional<json::Mismatch> wrong = json::read_members(element, out)) return wrong;
    if (out.type == PermissionsType::managed && !out.file_system)
        return missing("file_system", "as the type is \"managed\"");
    if (out.type != PermissionsType::disabled && !out.network)
        return missing("network", "as the type is not \"disabled\"");
    return {};
}

std::optional<json::Mismatch> read_value(json::Element element, SandboxPolicy& out, Bounds) {
    simdjson::dom::object object;
    json::Element type;
    if (element.get(object) != simdjson::SUCCESS)
        return json::Mismatch{"", "the name of a mode or an object"};
    if (object.at_key("type").get(type) != simdjson::SUCCESS)
        return json::Mismatch{"type", "to be present"};
    if (std::optional<json::Mismatch> wrong = read_mode(type, out.type))
        return json::below("type", *wrong);
    const bool confines =
        out.type == SandboxMode::read_only || out.type == SandboxMode::workspace_write;
    if (!confines) return expect_no_paths(object); // the other members have no meaning then
    if (std::optional<json::Mismatch> wrong = expect_full_access(object)) return wrong;
    return read_options(object, out);
}

std::optional<json::Mismatch> read_value(json::Element element, PolicyOrMode& out, Bounds bounds) {
    if (element.is_string()) return read_mode(element, out.type);
    return read_value(element, static_cast<SandboxPolicy&>(out), bounds);
}

std::optional<json::Mismatch> read_value(json::Element element, ConfinementSettings& out, Bounds) {
    if (std::optional<json::Mismatch> wrong = json::read_members(element, out)) return wrong;
    if (!out.deny_read) return {};
    if (std::optional<json::Mismatch> wrong = make_native(*out.deny_read))
        return json::below("denyRead", *wrong);
    return {};
}

namespace {

// Checks a request in the form with `mode` that asks for a sandbox.
std::optional<json::Mismatch> check_mode(const SandboxRequest& request) {
    if (!request.policy && !request.file_system_policy)
        return missing("policy", "or fileSystemPolicy, as the mode is not \"disabled\"");
    if (request.policy && request.file_system_policy) {
        if (!request.policy->deny_read.empty())
            return excluded("policy.denyRead", "fileSystemPolicy");
        if (request.policy->writable_roots && !request.policy->writable_roots->empty())
            return excluded("policy.writableRoots", "fileSystemPolicy");
    }
    if (request.mode != LaunchMode::require) return {};
    if (request.enforcement == Enforcement::best_effort)
        return json::Mismatch{"enforcement", "\"require\", as the mode is"};
    const std::string_view confined = "not to be external, as the mode is \"require\"";
    if (request.file_system_policy) {
        if (request.file_system_policy->type == FileSystemType::external)
            return json::Mismatch{"fileSystemPolicy.type", std::string(confined)};
    } else if (request.policy->type == SandboxMode::external_sandbox) {
        return json::Mismatch{"policy", std::string(confined)};
    }
    return {};
}

} // namespace

std::optional<json::Mismatch> read_value(json::Element element, SandboxRequest& out, Bounds) {
    if (!element.is_object()) return json::Mismatch{"", "an object or null"};
    if (std::optional<json::Mismatch> wrong = read_either_name(element, out)) return wrong;
    if (out.permissions) {
        if (out.mode) return excluded("mode", "permissions");
        if (out.policy) return excluded("policy", "permissions");
        if (out.file_system_policy) return excluded("fileSystemPolicy", "permissions");
        if (out.network_policy) return excluded("networkPolicy", "permissions");
        return {};
    }
    if (!out.mode) return json::Mismatch{"permissions", "to be present, or mode"};
    if (out.private_tmp) return excluded("privateTmp", "mode");
    return out.is_disabled() ? std::optional<json::Mismatch>() : check_mode(out);
}

std::optional<json::Mismatch> read_value(json::Element element, NetworkRequest&, Bounds) {
    if (!element.is_object()) return json::Mismatch{"", "an object or null"};
    return {};
}

namespace {

// Codex calls the directory of a command cwd.
template <class Params>
std::optional<json::Mismatch> read_with_directory(json::Element element, Params& out) {
    if (std::optional<json::Mismatch> wrong = json::read_members(element, out)) return wrong;
    if (out.cwd && out.workdir) return excluded("cwd", "workdir");
    if (out.cwd) out.workdir = std::exchange(out.cwd, std::nullopt);
    return {};
}

} // namespace

std::optional<json::Mismatch> read_value(json::Element element, ExecCommandParams& out, Bounds) {
    return read_with_directory(element, out);
}

std::optional<json::Mismatch> read_value(json::Element element, PolicyExplainParams& out, Bounds) {
    return read_with_directory(element, out);
}

std::optional<json::Mismatch> read_value(json::Element element, PatchApplyParams& out, Bounds) {
    return read_with_directory(element, out);
}

std::optional<json::Mismatch> read_value(json::Element element, PatchCheckParams& out, Bounds) {
    return read_with_directory(element, out);
}

namespace {

Error wrong_params(const json::Mismatch& wrong) {
    const std::string where = wrong.path.empty() ? "params" : wrong.path;
    return {ErrorKind::invalid_params, fmt::format("{}: expected {}", where, wrong.expected), "",
            wrong.path};
}

} // namespace

template <class Params>
Result<Params> decode(const json::Value* params) {
    using json::read_value; // a function of this namespace is preferred
    Params decoded;
    std::optional<json::Mismatch> wrong;
    if (params != nullptr && !is_empty_array(params->element)) {
        wrong = read_value(params->element, decoded, {});
    } else {
        json::FieldReader reader;
        fields(reader, decoded);
        wrong = std::move(reader.wrong());
    }
    if (wrong) return wrong_params(*wrong);
    return decoded;
}

template Result<StartParams> decode(const json::Value*);
template Result<ReadParams> decode(const json::Value*);
template Result<WriteParams> decode(const json::Value*);
template Result<CloseStdinParams> decode(const json::Value*);
template Result<SignalParams> decode(const json::Value*);
template Result<TerminateParams> decode(const json::Value*);
template Result<ResizeParams> decode(const json::Value*);
template Result<ScreenParams> decode(const json::Value*);
template Result<CastParams> decode(const json::Value*);
template Result<ExecCommandParams> decode(const json::Value*);
template Result<ExecWriteParams> decode(const json::Value*);
template Result<ExecWaitParams> decode(const json::Value*);
template Result<ExecListParams> decode(const json::Value*);
template Result<ExecTerminateAllParams> decode(const json::Value*);
template Result<PatchApplyParams> decode(const json::Value*);
template Result<PatchCheckParams> decode(const json::Value*);
template Result<ApprovalAnswer> decode(const json::Value*);
template Result<NetworkPolicyAnswer> decode(const json::Value*);
template Result<ApprovalsRevokeParams> decode(const json::Value*);
template Result<ApprovalsGrantParams> decode(const json::Value*);
template Result<PolicyExplainParams> decode(const json::Value*);
template Result<ReadFileParams> decode(const json::Value*);
template Result<WriteFileParams> decode(const json::Value*);
template Result<CreateDirectoryParams> decode(const json::Value*);
template Result<GetMetadataParams> decode(const json::Value*);
template Result<CanonicalizeParams> decode(const json::Value*);
template Result<ReadDirectoryParams> decode(const json::Value*);
template Result<WalkParams> decode(const json::Value*);
template Result<RemoveParams> decode(const json::Value*);
template Result<CopyParams> decode(const json::Value*);
template Result<OpenParams> decode(const json::Value*);
template Result<ReadBlockParams> decode(const json::Value*);
template Result<WriteBlockParams> decode(const json::Value*);
template Result<CloseParams> decode(const json::Value*);
template Result<WatchMissingParams> decode(const json::Value*);
template Result<Settings> decode(const json::Value*);
template Result<InitializeParams> decode(const json::Value*);
template Result<CancelParams> decode(const json::Value*);

} // namespace ew::protocol
