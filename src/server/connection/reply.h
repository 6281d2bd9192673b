// The answer to one request. Move-only; given exactly once.
#pragma once

#include "base/error.h"
#include "json/types.h"
#include "json/writer.h"
#include "server/connection/outbox.h"

#include <string>
#include <string_view>
#include <utility>

namespace ew::server {

class Reply {
public:
    Reply(Outbox& outbox, json::Id id) : outbox_(&outbox), id_(std::move(id)) {}

    Reply(Reply&& other) noexcept
        : outbox_(std::exchange(other.outbox_, nullptr)), id_(std::move(other.id_)) {}

    Reply& operator=(Reply&& other) noexcept {
        std::swap(outbox_, other.outbox_);
        std::swap(id_, other.id_);
        return *this;
    }

    Reply(const Reply&) = delete;
    Reply& operator=(const Reply&) = delete;

    // A reply that is destroyed unanswered is a bug. The client gets an error then, so that it does
    // not wait for ever.
    ~Reply();

    const json::Id& id() const { return id_; }

    // The id of the request as text, as the client knows it.
    std::string call_id() const;

    template <class Result>
    void send(const Result& result) {
        ByteBuffer& out = begin();
        json::write_value(out, result);
        end(out);
    }

    // `json` is the text of the result.
    void send_text(std::string_view json);
    void send_null();
    void fail(const Error& error);

private:
    ByteBuffer& begin();
    void end(ByteBuffer& out);

    Outbox* outbox_; // null: already answered
    json::Id id_;
};

} // namespace ew::server
