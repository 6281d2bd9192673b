#include "protocol/envelope.h"

#include "json/reader.h"
#include "json/writer.h"
#include "protocol/methods.h"
#include "protocol/session.h"

#include <fmt/format.h>

namespace ew::protocol {

namespace {

enum class Member : std::uint8_t { id, method, params, result, error, other };

Member member_named(std::string_view name) {
    if (name == "id") return Member::id;
    if (name == "method") return Member::method;
    if (name == "params") return Member::params;
    if (name == "result") return Member::result;
    if (name == "error") return Member::error;
    return Member::other;
}

// The members of the envelope; each may occur at most once.
struct Envelope {
    std::optional<json::Element> id = {};
    std::optional<json::Element> method = {};
    std::optional<json::Element> params = {};
    std::optional<json::Element> result = {};
    std::optional<json::Element> error = {};
    std::string_view duplicate = {};

    void take(std::optional<json::Element>& place, simdjson::dom::key_value_pair member) {
        if (place) duplicate = member.key;
        place = member.value;
    }
};

Envelope read_envelope(simdjson::dom::object object) {
    Envelope envelope;
    for (const auto member : object) {
        switch (member_named(member.key)) {
        case Member::id: envelope.take(envelope.id, member); break;
        case Member::method: envelope.take(envelope.method, member); break;
        case Member::params: envelope.take(envelope.params, member); break;
        case Member::result: envelope.take(envelope.result, member); break;
        case Member::error: envelope.take(envelope.error, member); break;
        case Member::other: break;
        }
    }
    return envelope;
}

Message refuse(std::string message) {
    Message refused;
    refused.error = {ErrorKind::invalid_request, std::move(message)};
    return refused;
}

} // namespace

struct MessageReader::Params {
    json::Value value;
};

MessageReader::MessageReader() : params_(std::make_unique<Params>()) {}

MessageReader::~MessageReader() = default;

Message MessageReader::read(std::string_view text) {
    Message message;
    Result<const json::Value*> parsed = parser_.parse(text);
    if (!parsed) {
        message.error = std::move(parsed.error());
        return message;
    }
    simdjson::dom::object object;
    const json::Element element = (*parsed)->element;
    if (element.is_array()) return refuse("batches are not taken: send one message a line");
    if (element.get(object) != simdjson::SUCCESS) return refuse("a message is a JSON object");

    const Envelope envelope = read_envelope(object);
    if (!envelope.duplicate.empty())
        return refuse(fmt::format("the member \"{}\" occurs twice", envelope.duplicate));
    if (!envelope.method) {
        if (!envelope.result && !envelope.error)
            return refuse("neither a method nor an answer to something we asked");
        message.kind = Message::Kind::response;
        if (envelope.id) (void)json::read_value(*envelope.id, message.id, {}); // else it is empty
        message.is_error = envelope.error.has_value();
        params_->value.element = message.is_error ? *envelope.error : *envelope.result;
        message.params = &params_->value;
        return message;
    }
    if (envelope.id && json::read_value(*envelope.id, message.id, {}))
        return refuse("the id must be a string or a whole number of 64 bits");
    if (envelope.method->get(message.method) != simdjson::SUCCESS)
        return refuse("the method must be a string");
    if (envelope.params && !envelope.params->is_null()) {
        params_->value.element = *envelope.params;
        message.params = &params_->value;
    }
    message.kind = envelope.id ? Message::Kind::request : Message::Kind::notification;
    return message;
}

void write_error(ByteBuffer& out, const json::Id& id, const Error& error) {
    ErrorData data;
    data.kind = name_of(error.kind);
    if (!error.hint.empty()) data.hint = error.hint;
    if (!error.path.empty()) data.path = error.path;
    if (!error.process_id.empty()) data.process_id = error.process_id;

    out.append(std::string_view(R"({"jsonrpc":"2.0","id":)"));
    json::write_value(out, id);
    out.append(std::string_view(R"(,"error":{"code":)"));
    json::write_number(out, std::int64_t{code_of(error.kind)});
    out.append(std::string_view(R"(,"message":)"));
    json::write_string(out, error.message);
    out.append(std::string_view(R"(,"data":)"));
    json::write_value(out, data);
    out.append(std::string_view("}}"));
}

} // namespace ew::protocol
