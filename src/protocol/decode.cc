#include "protocol/decode.h"

#include "json/reader.h"
#include "protocol/approval.h"
#include "protocol/exec.h"
#include "protocol/process.h"
#include "protocol/session.h"

namespace ew::protocol {

// Found by the reader through the namespace of the type.
json::Outcome read_value(json::Element element, SandboxRequest& out, Bounds) {
    if (!element.is_object()) return json::Mismatch{"", "an object or null"};
    std::string_view type;
    out.is_disabled = element.at_key("permissions").at_key("type").get(type) == simdjson::SUCCESS &&
                      type == "disabled";
    return {};
}

json::Outcome read_value(json::Element element, NetworkRequest&, Bounds) {
    if (!element.is_object()) return json::Mismatch{"", "an object or null"};
    return {};
}

namespace {

bool is_empty_array(json::Element element) {
    simdjson::dom::array array;
    return element.get(array) == simdjson::SUCCESS && array.size() == 0;
}

Error wrong_params(const json::Mismatch& wrong) {
    const std::string where = wrong.path.empty() ? "params" : wrong.path;
    return {ErrorKind::invalid_params, fmt::format("{}: expected {}", where, wrong.expected), "",
            wrong.path};
}

} // namespace

template <class Params>
Result<Params> decode(const json::Value* params) {
    Params decoded;
    json::Outcome wrong;
    if (params != nullptr && !is_empty_array(params->element)) {
        wrong = json::read_value(params->element, decoded, {});
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
template Result<ExecCommandParams> decode(const json::Value*);
template Result<ExecWriteParams> decode(const json::Value*);
template Result<ExecTerminateAllParams> decode(const json::Value*);
template Result<ApprovalAnswer> decode(const json::Value*);
template Result<ApprovalsRevokeParams> decode(const json::Value*);
template Result<ApprovalsGrantParams> decode(const json::Value*);
template Result<PolicyExplainParams> decode(const json::Value*);
template Result<Settings> decode(const json::Value*);
template Result<InitializeParams> decode(const json::Value*);
template Result<CancelParams> decode(const json::Value*);

Result<void> expect_no_params(const json::Value* params) {
    if (params == nullptr || is_empty_array(params->element)) return {};
    simdjson::dom::object object;
    if (params->element.get(object) == simdjson::SUCCESS && object.size() == 0) return {};
    return wrong_params({"", "no parameters"});
}

} // namespace ew::protocol
