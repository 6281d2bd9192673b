// Lines as messages: each is read or refused, params are decoded or refused, every error is JSON,
// and what was decoded and written is decoded the same again.
#include "base/byte_buffer.h"
#include "fuzz/scenes.h"
#include "json/writer.h"
#include "protocol/decode.h"
#include "protocol/envelope.h"
#include "protocol/methods.h"
#include "protocol/process.h"
#include "protocol/process_output.h"
#include "protocol/process_start.h"
#include "protocol/session.h"

#include <algorithm>

namespace ew::fuzz {

namespace {

using namespace ew::protocol;

// A text with the padding that the parser wants.
class Text {
public:
    explicit Text(std::string_view bytes) {
        bytes_.append(bytes);
        (void)bytes_.reserve(0); // the padding
    }

    std::string_view view() const { return bytes_.view(); }

private:
    ByteBuffer bytes_;
};

void require_json(std::string_view json) {
    const Text text(json);
    json::Parser parser;
    require(static_cast<bool>(parser.parse(text.view())));
}

void require_answerable(const json::Id& id, const Error& error) {
    ByteBuffer out;
    write_error(out, id, error);
    require_json(out.view());
}

template <class Params>
std::string written(const Params& params) {
    ByteBuffer out;
    json::write_value(out, params);
    return std::string(out.view());
}

template <class Params>
void require_same_again(const Params& params) {
    const std::string first = written(params);
    const Text text(first);
    json::Parser parser;
    Result<const json::Value*> value = parser.parse(text.view());
    require(static_cast<bool>(value));
    Result<Params> again = decode<Params>(*value);
    require(static_cast<bool>(again));
    require(written(*again) == first);
}

// What is asked of confinement is not kept, so a start cannot be written back.
void require_same_again(const StartParams& params) {
    require(!params.argv.empty());
    require(params.cwd.native.starts_with('/'));
}

template <class Params>
void try_decoding(const Message& message) {
    Result<Params> params = decode<Params>(message.params);
    if (params) return require_same_again(*params);
    require(params.error().kind == ErrorKind::invalid_params);
    require_answerable(message.id, params.error());
}

void handle(const Message& message) {
    (void)method_named(message.method); // whatever it is
    try_decoding<InitializeParams>(message);
    try_decoding<StartParams>(message);
    try_decoding<ReadParams>(message);
    try_decoding<WriteParams>(message);
    try_decoding<CloseStdinParams>(message);
    try_decoding<SignalParams>(message);
    try_decoding<TerminateParams>(message);
    try_decoding<ResizeParams>(message);
    try_decoding<CancelParams>(message);
}

} // namespace

void dispatch(std::string_view input) {
    MessageReader reader;
    while (!input.empty()) {
        const std::string_view line = input.substr(0, input.find('\n'));
        input.remove_prefix(std::min(line.size() + 1, input.size()));
        const Text text(line);
        const Message message = reader.read(text.view());
        if (!message.id.json.empty()) require_json(message.id.json);
        switch (message.kind) {
        case Message::Kind::request:
            require(!message.id.json.empty());
            handle(message);
            break;
        case Message::Kind::notification: handle(message); break;
        case Message::Kind::response: break;
        case Message::Kind::refused: require_answerable(message.id, message.error); break;
        }
    }
}

} // namespace ew::fuzz
