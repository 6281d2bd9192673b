// Sends a notification as one whole message, in the order of the messages in its lane.
#pragma once

#include "json/writer.h"
#include "server/connection/outbox.h"

#include <string_view>

namespace ew::server {

template <class Params>
void notify(Outbox& outbox, std::string_view method, const Params& params,
            Lane lane = Lane::priority) {
    ByteBuffer& out = outbox.begin(lane);
    out.append(std::string_view(R"({"jsonrpc":"2.0","method":)"));
    json::write_string(out, method);
    out.append(std::string_view(R"(,"params":)"));
    json::write_value(out, params);
    out.append('}');
    outbox.end();
}

} // namespace ew::server
