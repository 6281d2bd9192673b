// The structs against schema/, in both directions: what is only on one side fails, and is named.
#include "core/screen/screen.h"
#include "files/wire.h"
#include "json/reader.h"
#include "json/writer.h"
#include "protocol/approval.h"
#include "protocol/cast.h"
#include "protocol/environment.h"
#include "protocol/exec.h"
#include "protocol/exec_events.h"
#include "protocol/exec_list.h"
#include "protocol/files.h"
#include "protocol/framing.h"
#include "protocol/methods.h"
#include "protocol/network_policy.h"
#include "protocol/patch.h"
#include "protocol/permissions.h"
#include "protocol/policy.h"
#include "protocol/process.h"
#include "protocol/process_output.h"
#include "protocol/process_start.h"
#include "protocol/sandbox.h"
#include "protocol/screen.h"
#include "protocol/session.h"
#include "protocol/settings.h"
#include "protocol/stored_approvals.h"
#include "sandbox/policy/policy.h"
#include "sandbox/supervise/denials.h"
#include "server/fs/file_service.h"
#include "server/patch/patch_service.h"
#include "server/process/screen_requests.h"
#include "server/worker.h"
#include "support/parsed.h"
#include "support/shape.h"
#include "support/testing.h"
#include "test_places.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ew::json {

// Only tests read what the server writes.
static std::optional<Mismatch> read_value(Element element, FlagMap& out, Bounds) {
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) return Mismatch{"", "an object of flags"};
    for (const auto member : object) {
        bool flag = false;
        if (member.value.get(flag) != simdjson::SUCCESS)
            return Mismatch{std::string(member.key), "true or false"};
        out.emplace_back(std::string(member.key), flag);
    }
    return {};
}

} // namespace ew::json

namespace ew::protocol {

// Defined in decode.cc.
std::optional<json::Mismatch> read_value(json::Element element, EntryPath& out, Bounds bounds);
std::optional<json::Mismatch> read_value(json::Element element, FileSystemPolicy& out,
                                         Bounds bounds);
std::optional<json::Mismatch> read_value(json::Element element, PermissionProfile& out,
                                         Bounds bounds);
std::optional<json::Mismatch> read_value(json::Element element, SandboxPolicy& out, Bounds bounds);
std::optional<json::Mismatch> read_value(json::Element element, PolicyOrMode& out, Bounds bounds);
std::optional<json::Mismatch> read_value(json::Element element, ConfinementSettings& out,
                                         Bounds bounds);
std::optional<json::Mismatch> read_value(json::Element element, SandboxRequest& out, Bounds bounds);
std::optional<json::Mismatch> read_value(json::Element element, NetworkRequest& out, Bounds bounds);

// What is in it is not kept, so it cannot be written back; no example has any.
static void write_value(ByteBuffer& out, const NetworkRequest&) {
    out.append(std::string_view("{}"));
}

} // namespace ew::protocol

namespace ew::test {

#define EXECWARD_NAME(Type)                                                                        \
    template <>                                                                                    \
    struct StructName<protocol::Type> {                                                            \
        static constexpr const char* value = #Type;                                                \
    }

EXECWARD_NAME(AdditionalPermissions);
EXECWARD_NAME(ApprovalAnswer);
EXECWARD_NAME(ApprovalChoice);
EXECWARD_NAME(NetworkTarget);
EXECWARD_NAME(NetworkPolicyRequest);
EXECWARD_NAME(NetworkPolicyTarget);
EXECWARD_NAME(NetworkPolicyAnswer);
EXECWARD_NAME(NetworkPolicyDecision);
EXECWARD_NAME(ApprovalDisplay);
EXECWARD_NAME(ApprovalInfo);
EXECWARD_NAME(ApprovalRequest);
EXECWARD_NAME(ApprovalsGrantParams);
EXECWARD_NAME(ApprovalsGrantResult);
EXECWARD_NAME(ApprovalsListResult);
EXECWARD_NAME(ApprovalsRevokeParams);
EXECWARD_NAME(ApprovalsRevokeResult);
EXECWARD_NAME(CancelParams);
EXECWARD_NAME(CanonicalizeParams);
EXECWARD_NAME(CanonicalizeResult);
EXECWARD_NAME(CastParams);
EXECWARD_NAME(CastResult);
EXECWARD_NAME(ClientCapabilities);
EXECWARD_NAME(ClientInfo);
EXECWARD_NAME(CloseParams);
EXECWARD_NAME(CloseStdinParams);
EXECWARD_NAME(ClosedEvent);
EXECWARD_NAME(CommandVerdict);
EXECWARD_NAME(Confinement);
EXECWARD_NAME(ConfinementSettings);
EXECWARD_NAME(CopyParams);
EXECWARD_NAME(CreateDirectoryParams);
EXECWARD_NAME(Denial);
EXECWARD_NAME(DirectoryEntry);
EXECWARD_NAME(Empty);
EXECWARD_NAME(EntryPath);
EXECWARD_NAME(EnvPolicy);
EXECWARD_NAME(EnvironmentInfo);
EXECWARD_NAME(EnvironmentEntry);
EXECWARD_NAME(EnvironmentListResult);
EXECWARD_NAME(EnvironmentServer);
EXECWARD_NAME(EnvironmentStatus);
EXECWARD_NAME(ErrorData);
EXECWARD_NAME(ExecAttemptEvent);
EXECWARD_NAME(ExecBeginEvent);
EXECWARD_NAME(ExecCallInfo);
EXECWARD_NAME(ExecCommandParams);
EXECWARD_NAME(ExecEndEvent);
EXECWARD_NAME(ExecEdit);
EXECWARD_NAME(ExecFailure);
EXECWARD_NAME(ExecInputStateEvent);
EXECWARD_NAME(ExecInteractionEvent);
EXECWARD_NAME(InputState);
EXECWARD_NAME(ExecListParams);
EXECWARD_NAME(ExecListResult);
EXECWARD_NAME(ExecOutputDeltaEvent);
EXECWARD_NAME(ExecProcessInfo);
EXECWARD_NAME(ExecResult);
EXECWARD_NAME(ExecTerminateAllParams);
EXECWARD_NAME(ExecTerminateAllResult);
EXECWARD_NAME(ExecWaitParams);
EXECWARD_NAME(ExecWriteParams);
EXECWARD_NAME(ExitedEvent);
EXECWARD_NAME(FileMetadata);
EXECWARD_NAME(FileSystemEntry);
EXECWARD_NAME(FileSystemPermission);
EXECWARD_NAME(FileSystemPolicy);
EXECWARD_NAME(GetMetadataParams);
EXECWARD_NAME(GranularSettings);
EXECWARD_NAME(InitializeParams);
EXECWARD_NAME(InitializeResult);
EXECWARD_NAME(Limits);
EXECWARD_NAME(NetworkProxyRequest);
EXECWARD_NAME(NetworkProxySettings);
EXECWARD_NAME(ListResult);
EXECWARD_NAME(MissingChanged);
EXECWARD_NAME(NetworkPermission);
EXECWARD_NAME(OpenParams);
EXECWARD_NAME(OpenResult);
EXECWARD_NAME(OutputChunk);
EXECWARD_NAME(OutputEvent);
EXECWARD_NAME(PermissionProfile);
EXECWARD_NAME(PolicyContext);
EXECWARD_NAME(PolicyExplainParams);
EXECWARD_NAME(PolicyExplainResult);
EXECWARD_NAME(PolicyOrMode);
EXECWARD_NAME(PatchApplyParams);
EXECWARD_NAME(PatchApplyResult);
EXECWARD_NAME(PatchBeginEvent);
EXECWARD_NAME(PatchCheckParams);
EXECWARD_NAME(PatchCheckResult);
EXECWARD_NAME(PatchEndEvent);
EXECWARD_NAME(PatchMatch);
EXECWARD_NAME(PatchedFile);
EXECWARD_NAME(ProcessInfo);
EXECWARD_NAME(ReadBlockParams);
EXECWARD_NAME(ReadBlockResult);
EXECWARD_NAME(ReadDirectoryParams);
EXECWARD_NAME(ReadDirectoryResult);
EXECWARD_NAME(ReadFileParams);
EXECWARD_NAME(ReadFileResult);
EXECWARD_NAME(ReadParams);
EXECWARD_NAME(ReadResult);
EXECWARD_NAME(RemoveParams);
EXECWARD_NAME(ResizeParams);
EXECWARD_NAME(RuleInput);
EXECWARD_NAME(SandboxPolicy);
EXECWARD_NAME(SandboxRequest);
EXECWARD_NAME(ScreenCursor);
EXECWARD_NAME(ScreenParams);
EXECWARD_NAME(ScreenResult);
EXECWARD_NAME(ScreenRow);
EXECWARD_NAME(ScreenRun);
EXECWARD_NAME(ServerInfo);
EXECWARD_NAME(Settings);
EXECWARD_NAME(Shell);
EXECWARD_NAME(SignalParams);
EXECWARD_NAME(SpecialPlace);
EXECWARD_NAME(StartParams);
EXECWARD_NAME(StartResult);
EXECWARD_NAME(TerminateParams);
EXECWARD_NAME(TerminateResult);
EXECWARD_NAME(Timings);
EXECWARD_NAME(Until);
EXECWARD_NAME(UntilMatch);
EXECWARD_NAME(UntilPattern);
EXECWARD_NAME(Usage);
EXECWARD_NAME(WaitEnd);
EXECWARD_NAME(WalkEntry);
EXECWARD_NAME(WalkError);
EXECWARD_NAME(WalkOptions);
EXECWARD_NAME(WalkParams);
EXECWARD_NAME(WalkResult);
EXECWARD_NAME(WarningEvent);
EXECWARD_NAME(WatchMissingParams);
EXECWARD_NAME(WatchMissingResult);
EXECWARD_NAME(Widening);
EXECWARD_NAME(WindowSize);
EXECWARD_NAME(WriteBlockParams);
EXECWARD_NAME(WriteFileParams);
EXECWARD_NAME(WriteParams);
EXECWARD_NAME(WriteResult);

#undef EXECWARD_NAME

// Objects that are passed on unread have no type of their own in the schema.
template <>
struct StructName<protocol::NetworkRequest> {
    static constexpr const char* value = "object";
};

} // namespace ew::test

using ew::json::Element;
using ew::test::Member;
using ew::test::Parsed;
using ew::test::Shape;
using namespace ew::protocol;

namespace {

const std::filesystem::path source = EXECWARD_SOURCE_DIR;

// ---------------------------------------------------------------- reading the schema

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    REQUIRE_MESSAGE(file.good(), path.string());
    return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<Element> member_of(Element object, std::string_view name) {
    Element found;
    if (object.at_key(name).get(found) != simdjson::SUCCESS) return std::nullopt;
    return found;
}

std::string text_of(Element element) {
    std::string_view text;
    return element.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(element);
}

std::string text_of(Element object, std::string_view name) {
    const std::optional<Element> member = member_of(object, name);
    return member ? text_of(*member) : "";
}

std::uint64_t number_of(std::optional<Element> element, std::uint64_t otherwise) {
    std::uint64_t number = 0;
    return element && element->get(number) == simdjson::SUCCESS ? number : otherwise;
}

std::vector<Element> elements_of(Element list) {
    simdjson::dom::array array;
    REQUIRE(list.get(array) == simdjson::SUCCESS);
    return {array.begin(), array.end()};
}

std::map<std::string, Element> members_of(Element element) {
    simdjson::dom::object object;
    REQUIRE(element.get(object) == simdjson::SUCCESS);
    std::map<std::string, Element> members;
    for (const auto member : object)
        members.emplace(std::string(member.key), member.value);
    return members;
}

std::set<std::string> texts_of(std::optional<Element> list) {
    std::set<std::string> texts;
    if (!list) return texts;
    for (const Element element : elements_of(*list))
        texts.insert(text_of(element));
    return texts;
}

class Schema {
public:
    Schema() : types_(content_of(source / "schema/types.json")) { REQUIRE(types_.is_json()); }

    std::map<std::string, Element> definitions() {
        return members_of(types_.element()["$defs"].value_unsafe());
    }

    Element object(const std::string& name) {
        const std::map<std::string, Element> all = definitions();
        REQUIRE_MESSAGE(all.contains(name), name);
        return all.at(name);
    }

    // A type of the schema in the form of a struct's. Plain values with a meaning of their own are
    // what they are in C++ too; ProcessId and Seq are a string and a number there.
    Shape shape(Element type) {
        if (const auto choices = member_of(type, "anyOf")) {
            Shape referred = shape(elements_of(*choices).front());
            referred.has_value_or_none = true;
            return referred;
        }
        if (const auto reference = member_of(type, "$ref")) return referred_to(text_of(*reference));
        Shape result;
        const Element name = type["type"].value_unsafe();
        result.has_value_or_none = name.is_array();
        result.name = text_of(name.is_array() ? elements_of(name).front() : name);
        if (const auto items = member_of(type, "items")) result.element = {shape(*items)};
        if (const auto values = member_of(type, "additionalProperties")) {
            result.name = "map";
            result.element = {shape(*values)};
        }
        if (const auto choices = member_of(type, "enum"))
            for (const Element choice : elements_of(*choices))
                if (!choice.is_null()) result.choices.push_back(text_of(choice));
        return result;
    }

    ew::json::Bounds bounds(Element type) {
        ew::json::Bounds bounds;
        for (const std::string_view name : {"minimum", "minLength", "minItems"})
            bounds.minimum = number_of(member_of(type, name), bounds.minimum);
        for (const std::string_view name : {"maximum", "maxLength"})
            bounds.maximum = number_of(member_of(type, name), bounds.maximum);
        return bounds;
    }

private:
    Shape referred_to(const std::string& reference) {
        const std::string name = reference.substr(reference.rfind('/') + 1);
        const bool is_plain = name == "ProcessId" || name == "Seq";
        return is_plain ? shape(object(name)) : Shape{name};
    }

    Parsed types_;
};

std::string shown(const Shape& shape) {
    std::string text = shape.name;
    for (const std::string& choice : shape.choices)
        text += "|" + choice;
    for (const Shape& element : shape.element)
        text += "<" + shown(element) + ">";
    return text;
}

// ---------------------------------------------------------------- comparing

enum class Direction { read, written };

using Problems = std::vector<std::string>;

// What is read may be null where it may be without a value. What is written is null only where it
// is always there.
bool may_be_null(const Member& member, Direction direction) {
    return member.shape.has_value_or_none && (direction == Direction::read || member.is_required);
}

void compare_member(Problems& problems, Schema& schema, const Member& member, Element described,
                    Direction direction) {
    const auto expect = [&](const std::string& what, const auto& in_struct, const auto& in_schema) {
        if (in_struct != in_schema)
            problems.push_back(fmt::format("{}: {} is {} in the struct, {} in the schema",
                                           member.name, what, in_struct, in_schema));
    };
    const Shape shape = schema.shape(described);
    expect("type", shown(member.shape), shown(shape));
    expect("null", may_be_null(member, direction), shape.has_value_or_none);
    expect("default", member.default_json,
           member_of(described, "default") ? simdjson::minify(described["default"].value_unsafe())
                                           : "");
    if (direction == Direction::written) return; // nobody checks bounds of what we write
    expect("minimum", member.bounds.minimum, schema.bounds(described).minimum);
    expect("maximum", member.bounds.maximum, schema.bounds(described).maximum);
}

Problems compare(Schema& schema, const std::string& name, const std::vector<Member>& members,
                 Direction direction) {
    Problems problems;
    const Element object = schema.object(name);
    std::map<std::string, Element> described = members_of(object["properties"].value_unsafe());
    const std::set<std::string> required = texts_of(member_of(object, "required"));
    for (const Member& member : members) {
        const auto found = described.find(member.name);
        if (found == described.end()) {
            problems.push_back(member.name + ": is not in the schema");
            continue;
        }
        if (member.is_required != required.contains(member.name))
            problems.push_back(member.name + ": is required on one side only");
        compare_member(problems, schema, member, found->second, direction);
        described.erase(found);
    }
    for (const auto& [missing, type] : described)
        problems.push_back(missing + ": is not in the struct");
    return problems;
}

// Equal, but for members of `example` that say nothing: null, or their default.
bool is_same(Schema& schema, const std::string& type, Element written, Element example);

bool is_left_out(Schema& schema, const std::string& type, const std::string& name, Element value) {
    if (value.is_null()) return true;
    const auto definitions = schema.definitions();
    if (!definitions.contains(type)) return false;
    const auto member = member_of(definitions.at(type)["properties"].value_unsafe(), name);
    const auto otherwise = member ? member_of(*member, "default") : std::nullopt;
    return otherwise && simdjson::minify(*otherwise) == simdjson::minify(value);
}

std::string type_of_member(Schema& schema, const std::string& type, const std::string& name) {
    const auto definitions = schema.definitions();
    if (!definitions.contains(type)) return "";
    const auto member = member_of(definitions.at(type)["properties"].value_unsafe(), name);
    if (!member) return "";
    const Shape shape = schema.shape(*member);
    return shape.element.empty() ? shape.name : shape.element.front().name;
}

bool is_same_object(Schema& schema, const std::string& type, Element written, Element example) {
    std::map<std::string, Element> expected = members_of(example);
    for (const auto& [name, value] : members_of(written)) {
        const auto found = expected.find(name);
        if (found == expected.end()) return false;
        if (!is_same(schema, type_of_member(schema, type, name), value, found->second))
            return false;
        expected.erase(found);
    }
    for (const auto& [name, value] : expected)
        if (!is_left_out(schema, type, name, value)) return false;
    return true;
}

bool is_same(Schema& schema, const std::string& type, Element written, Element example) {
    if (written.is_object() && example.is_object())
        return is_same_object(schema, type, written, example);
    if (!written.is_array() || !example.is_array())
        return simdjson::minify(written) == simdjson::minify(example);
    const std::vector<Element> left = elements_of(written);
    const std::vector<Element> right = elements_of(example);
    bool same = left.size() == right.size();
    for (std::size_t i = 0; same && i < left.size(); ++i)
        same = is_same(schema, type, left[i], right[i]);
    return same;
}

// ---------------------------------------------------------------- every struct

struct Checked {
    Problems shape;
    Problems example;
};

template <class Struct>
Problems try_example(Schema& schema, const std::string& name) {
    const std::string text = content_of(source / "schema/examples" / (name + ".json"));
    Parsed example(text);
    if (!example.is_json()) return {"the example is not JSON"};
    Struct value;
    if (const auto wrong = ew::json::read_value(example.element(), value, {}))
        return {wrong->path + ": expected " + wrong->expected};

    ew::ByteBuffer out;
    ew::json::write_value(out, value);
    Parsed written(out.view());
    if (!written.is_json()) return {"what is written is not JSON: " + std::string(out.view())};
    if (is_same(schema, name, written.element(), example.element())) return {};
    return {"what was read is written as " + std::string(out.view())};
}

class Structs {
public:
    Structs() {
        using enum Direction;
        add<InitializeParams, ClientInfo, ClientCapabilities, StartParams, WindowSize, EnvPolicy,
            ew::protocol::Limits, NetworkProxyRequest, NetworkProxySettings, ReadParams,
            WriteParams, CloseStdinParams, SignalParams, TerminateParams, ResizeParams,
            ScreenParams, CastParams, CancelParams>(read);
        add<SandboxRequest, PermissionProfile, FileSystemPolicy, FileSystemEntry, EntryPath,
            SpecialPlace, PolicyContext, SandboxPolicy, ConfinementSettings>(read);
        add<ExecCommandParams, ExecWriteParams, ExecWaitParams, ExecListParams,
            ExecTerminateAllParams, Until, UntilPattern, AdditionalPermissions, NetworkPermission,
            FileSystemPermission, Settings, GranularSettings, ApprovalAnswer, ApprovalsRevokeParams,
            ApprovalsGrantParams, PolicyExplainParams, RuleInput, NetworkPolicyAnswer,
            NetworkPolicyDecision>(read);
        add<ReadFileParams, WriteFileParams, CreateDirectoryParams, GetMetadataParams,
            CanonicalizeParams, ReadDirectoryParams, WalkParams, WalkOptions, RemoveParams,
            CopyParams, OpenParams, ReadBlockParams, WriteBlockParams, CloseParams,
            WatchMissingParams, PatchCheckParams, PatchApplyParams>(read);
        add<InitializeResult, ServerInfo, Shell, EnvironmentInfo, EnvironmentStatus,
            EnvironmentListResult, EnvironmentEntry, EnvironmentServer, StartResult, OutputChunk,
            Usage, ReadResult, WriteResult, TerminateResult, ProcessInfo, ListResult, OutputEvent,
            ExitedEvent, ClosedEvent, WarningEvent, ErrorData, Empty, ScreenResult, ScreenCursor,
            ScreenRow, ScreenRun, CastResult>(written);
        add<ExecResult, WaitEnd, UntilMatch, Timings, Confinement, Denial, ExecEdit, ExecFailure,
            ExecListResult, ExecProcessInfo, ExecCallInfo, ExecTerminateAllResult, ExecBeginEvent,
            ExecAttemptEvent, ExecOutputDeltaEvent, ExecInteractionEvent, ExecInputStateEvent,
            InputState, ExecEndEvent>(written);
        add<ReadFileResult, FileMetadata, CanonicalizeResult, ReadDirectoryResult, DirectoryEntry,
            WalkResult, WalkEntry, WalkError, OpenResult, ReadBlockResult, WatchMissingResult,
            MissingChanged>(written);
        add<ApprovalRequest, ApprovalDisplay, ApprovalChoice, ApprovalsListResult, ApprovalInfo,
            ApprovalsRevokeResult, ApprovalsGrantResult, PolicyExplainResult, CommandVerdict,
            Widening, NetworkTarget, NetworkPolicyRequest, NetworkPolicyTarget, PatchedFile,
            PatchMatch, PatchCheckResult, PatchApplyResult, PatchBeginEvent, PatchEndEvent>(
            written);
    }

    const std::map<std::string, std::function<Checked(Schema&)>>& all() const { return all_; }

    std::set<std::string> names() const {
        std::set<std::string> names;
        for (const auto& [name, check] : all_)
            names.insert(name);
        return names;
    }

private:
    template <class... Struct>
    void add(Direction direction) {
        (add_one<Struct>(direction), ...);
    }

    template <class Struct>
    void add_one(Direction direction) {
        const std::string name = ew::test::StructName<Struct>::value;
        all_[name] = [name, direction](Schema& schema) {
            return Checked{compare(schema, name, ew::test::members_of<Struct>(), direction),
                           try_example<Struct>(schema, name)};
        };
    }

    std::map<std::string, std::function<Checked(Schema&)>> all_;
};

void report(const std::string& name, const Problems& problems) {
    for (const std::string& problem : problems)
        FAIL_CHECK(name << ": " << problem);
    CHECK(problems.empty());
}

// Structs that the headers give a fields() to.
std::set<std::string> structs_in_headers() {
    std::set<std::string> names;
    const std::regex declaration(R"(void fields\(Visitor&(?: visit)?, (\w+)&)");
    for (const std::string_view header :
         {"approval.h",         "cast.h",      "environment.h",    "exec.h",
          "exec_events.h",      "exec_list.h", "files.h",          "input_state.h",
          "network_policy.h",   "patch.h",     "patched_file.h",   "permissions.h",
          "policy.h",           "process.h",   "process_output.h", "process_start.h",
          "sandbox.h",          "screen.h",    "session.h",        "settings.h",
          "stored_approvals.h", "until.h"}) {
        const std::string text = content_of(source / "src/protocol" / header);
        for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at)
            names.insert((*at)[1]);
    }
    return names;
}

std::string listed(const std::map<std::string, std::string>& codes) {
    std::string list;
    for (const auto& [name, code] : codes)
        list += name + " " + code + "\n";
    return list;
}

class Protocol {
public:
    Protocol() : json_(content_of(source / "schema/protocol.json")) { REQUIRE(json_.is_json()); }

    std::vector<Element> list(std::string_view name) {
        return elements_of(json_.element()[name].value_unsafe());
    }

    std::string text(std::string_view name) { return text_of(json_.element(), name); }

    std::uint64_t limit(std::string_view name) {
        for (const Element limit : list("limits"))
            if (text_of(limit, "name") == name) return number_of(member_of(limit, "value"), 0);
        FAIL("no limit of that name: " << name);
        return 0;
    }

private:
    Parsed json_;
};

} // namespace

TEST_SUITE_BEGIN("schema");

TEST_CASE("every struct of a message has the members that the schema describes") {
    Schema schema;
    const Structs structs;
    for (const auto& [name, check] : structs.all())
        report(name, check(schema).shape);
}

TEST_CASE("the example of every type is read, and written again the same") {
    Schema schema;
    const Structs structs;
    for (const auto& [name, check] : structs.all())
        report(name, check(schema).example);
}

TEST_CASE("every object type of the schema is compared here, and nothing else") {
    Schema schema;
    std::set<std::string> described;
    for (const auto& [name, type] : schema.definitions())
        if (text_of(type, "type") == "object") described.insert(name);
    const std::set<std::string> compared = Structs().names();

    for (const std::string& name : described)
        CHECK_MESSAGE(compared.contains(name), name << " is only in the schema");
    for (const std::string& name : compared)
        CHECK_MESSAGE(described.contains(name), name << " is not in the schema");
}

TEST_CASE("every struct that has fields is compared here") {
    const std::set<std::string> compared = Structs().names();

    CHECK(structs_in_headers() == compared);
}

TEST_CASE("every request of the schema is known, and every method that is served is described") {
    Protocol protocol;
    std::set<Method> described;
    for (const Element entry : protocol.list("methods")) {
        const std::string name = text_of(entry, "name");
        const bool is_request =
            text_of(entry, "direction") == "clientToServer" && text_of(entry, "kind") == "request";
        const std::optional<Method> method = method_named(name);
        CAPTURE(name);
        CHECK(method.has_value() == is_request);
        CHECK(method != Method::reserved);
        if (method) CHECK(described.insert(*method).second);
    }

    CHECK(described.size() == static_cast<std::size_t>(Method::reserved));
}

TEST_CASE("params and results of methods are types of the schema") {
    Schema schema;
    Protocol protocol;
    for (const Element entry : protocol.list("methods")) {
        for (const std::string_view part : {"params", "result"}) {
            const std::string type = text_of(entry, part);
            CAPTURE(type);
            CHECK((type == "null" || schema.definitions().contains(type)));
        }
    }
}

TEST_CASE("error kinds have the names and codes that the schema lists, in both directions") {
    Protocol protocol;
    std::map<std::string, std::string> described;
    for (const Element kind : protocol.list("errorKinds"))
        described[text_of(kind, "kind")] = text_of(kind, "code");
    std::map<std::string, std::string> known;
    for (int value = 0; value <= static_cast<int>(ew::ErrorKind::internal); ++value) {
        const auto kind = static_cast<ew::ErrorKind>(value);
        known[std::string(name_of(kind))] = std::to_string(code_of(kind));
    }

    CHECK(known.size() == static_cast<std::size_t>(ew::ErrorKind::internal) + 1);
    CHECK(listed(known) == listed(described));
}

TEST_CASE("the version of the protocol is that of the schema") {
    CHECK(Protocol().text("protocolVersion") == protocol_version);
}

TEST_CASE("the limits have the values that the schema names") {
    Protocol protocol;
    const ew::json::ParseLimits parse;
    const ew::core::OutputLimits output;
    using ew::server::ProcessService;
    using ew::server::ProcessTable;

    CHECK(protocol.limit("message size") == Deframer::longest_message);
    CHECK(protocol.limit("nesting depth of a message") == parse.depth);
    CHECK(protocol.limit("JSON values in a message") == parse.values);
    CHECK(protocol.limit("process entries") == std::size_t{ProcessTable::places});
    CHECK(protocol.limit("process entries before a warning") ==
          std::size_t{ProcessTable::warning_mark});
    CHECK(protocol.limit("entries of a sandbox policy") == ew::sandbox::most_entries);
    CHECK(protocol.limit("different denials of a process") ==
          std::size_t{ew::sandbox::DenialLog::most_kept});
    CHECK(protocol.limit("readable output of a process") == output.retained_bytes);
    CHECK(protocol.limit("indexed chunks of a process") == output.entries);
    CHECK(protocol.limit("chunk size") == output.chunk_bytes);
    CHECK(protocol.limit("hold of an unfinished UTF-8 character") ==
          static_cast<std::uint64_t>(output.utf8_hold.count()));
    CHECK(protocol.limit("queued input of a process") ==
          std::size_t{ew::server::InputQueue::most_queued});
    CHECK(protocol.limit("held writes of a process") ==
          std::size_t{ew::server::InputQueue::most_held});
    CHECK(protocol.limit("length of a processId, callId or writeId") == longest_name);
    CHECK(protocol.limit("output of an answer of exec/*") == most_output_tokens);
    CHECK(protocol.limit("rows of a screen") == std::size_t{ew::core::Screen::most_rows});
    CHECK(protocol.limit("columns of a screen") == std::size_t{ew::core::Screen::most_cols});
    CHECK(protocol.limit("cells of a screen") == std::size_t{ew::core::Screen::most_cells});
    CHECK(protocol.limit("screens that are kept up") ==
          std::size_t{ew::server::ScreenRequests::most_screens});
    CHECK(protocol.limit("output that is drawn without a request for the screen") ==
          std::uint64_t{ew::server::LiveScreen::most_unseen});
    CHECK(protocol.limit("requests for earlier screens that wait") ==
          std::size_t{ew::server::ScreenRequests::most_past});
    CHECK(protocol.limit("times of the output of a terminal") ==
          std::size_t{ew::core::OutputTimes::most});
    CHECK(protocol.limit("waiting process/read with until of a process") ==
          std::size_t{ew::server::ReadQueue::most_watching});
    CHECK(protocol.limit("remembered writeIds of a process") ==
          std::size_t{ew::server::InputQueue::remembered_ids});
    CHECK(protocol.limit("end of everything when the connection ends") ==
          static_cast<std::uint64_t>(ew::server::Worker::ending_time.count()));
}

TEST_CASE("the limits of files have the values that the schema names") {
    Protocol protocol;
    namespace files = ew::files;

    CHECK(protocol.limit("content of a file in one message") == files::longest_content);
    CHECK(protocol.limit("block of a file") == files::longest_block);
    CHECK(protocol.limit("depth of a walk") == files::deepest_walk);
    CHECK(protocol.limit("directories of a walk") == files::most_walk_directories);
    CHECK(protocol.limit("entries of a walk") == files::most_walk_entries);
    CHECK(protocol.limit("paths of a walk") == files::longest_walk);
    CHECK(protocol.limit("entries of a directory that is read") == files::most_entries);
    CHECK(protocol.limit("paths of a watch") == files::most_missing);
    CHECK(protocol.limit("length of a handleId") == longest_name);
    CHECK(protocol.limit("unanswered patches") ==
          std::size_t{ew::server::PatchService::most_calls});
    CHECK(protocol.limit("open handles") == std::size_t{ew::server::FileHandles::most});
    CHECK(protocol.limit("watches") == std::size_t{ew::server::FileWatches::most});
    CHECK(protocol.limit("unanswered requests of fs/*") ==
          std::size_t{ew::server::FileTasks::most});
    CHECK(protocol.limit("content of unanswered requests of fs/*") ==
          std::size_t{ew::server::FileTasks::most_bytes});
    CHECK(protocol.limit("file processes at once") == std::size_t{ew::server::FileProcesses::most});
    CHECK(protocol.limit("file processes in sandboxes at once") ==
          std::size_t{ew::server::FileProcesses::most_confined});
}

TEST_SUITE_END();
