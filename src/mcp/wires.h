// The two ends of the dialect: lines for the client, and messages of execward's own protocol for
// the server. The owner takes from both.
#pragma once

#include "base/byte_buffer.h"
#include "json/types.h"
#include "json/writer.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::mcp {

template <class Struct>
std::string json_of(const Struct& value) {
    ByteBuffer out;
    json::write_value(out, value);
    return std::string(out.view());
}

class Wires {
public:
    void to_client(std::string line) { for_client_.push_back(std::move(line)); }

    // Returns the id of the request.
    template <class Params>
    std::uint64_t request(std::string_view method, const Params& params) {
        return request_text(method, json_of(params));
    }

    // `params` is the JSON text of an object.
    std::uint64_t request_text(std::string_view method, std::string_view params) {
        send(method, params, ++last_id_);
        return last_id_;
    }

    template <class Params>
    void notify(std::string_view method, const Params& params) {
        send(method, json_of(params), std::nullopt);
    }

    // `result` is the JSON text of the answer to a question of the server.
    void answer(const json::Id& question, std::string_view result);

    bool has_for_server() const { return !for_server_.empty(); }

    // Return the next message, or everything so far.
    std::optional<std::string> next_for_server();

    std::vector<std::string> take_for_client() { return std::exchange(for_client_, {}); }

private:
    void send(std::string_view method, std::string_view params, std::optional<std::uint64_t> id);

    std::vector<std::string> for_client_;
    std::deque<std::string> for_server_;
    std::uint64_t last_id_ = 0;
};

} // namespace ew::mcp
