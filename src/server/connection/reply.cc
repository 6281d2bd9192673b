#include "server/connection/reply.h"

#include "base/check.h"
#include "base/log.h"
#include "json/strings.h"
#include "protocol/envelope.h"

#include <fmt/format.h>

namespace ew::server {

Reply::~Reply() {
    if (outbox_ == nullptr) return;
    log::line(log::Level::error, "reply", "a request was dropped without an answer");
    fail({ErrorKind::internal, "the request was dropped: this is a bug of execward"});
}

void Reply::send_text(std::string_view json) {
    ByteBuffer& out = begin();
    out.append(json);
    end(out);
}

void Reply::send_null() {
    send_text("null");
}

void Reply::fail(const Error& error) {
    CHECK(outbox_ != nullptr);
    protocol::write_error(outbox_->begin(Lane::priority), id_, error);
    std::exchange(outbox_, nullptr)->end();
}

ByteBuffer& Reply::begin() {
    CHECK(outbox_ != nullptr);
    ByteBuffer& out = outbox_->begin(Lane::priority);
    out.append(std::string_view(R"({"jsonrpc":"2.0","id":)"));
    json::write_value(out, id_);
    out.append(std::string_view(R"(,"result":)"));
    return out;
}

void Reply::end(ByteBuffer& out) {
    out.append('}');
    std::exchange(outbox_, nullptr)->end();
}

std::string Reply::call_id() const {
    if (id_.json.empty() || id_.json.front() != '"') return id_.json;
    const auto strings = json::strings_from_json(fmt::format("[{}]", id_.json));
    return strings && !strings->empty() ? strings->front() : id_.json;
}

} // namespace ew::server
