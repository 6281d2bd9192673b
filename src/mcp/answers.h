// Writes the answers and notifications for an MCP client, in the form of its era.
#pragma once

#include "json/types.h"
#include "mcp/wires.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::mcp {

enum class Era : std::uint8_t { legacy, modern };

// A client that does not take its messages gets no more notifications meanwhile.
enum class Reader : std::uint8_t { takes, is_behind };

// A request of the client that waits for its answer.
struct Asked {
    json::Id id = {};
    Era era = Era::legacy;
    bool can_ask = false;      // the client can show a form to a person
    bool takes_titles = false; // it knows enums whose values have titles (2025-11-25)
    std::optional<json::Id> progress_token = {};
};

// What a tool tells. A result with is_error has no structured part: some hosts would show only one
// of the two.
struct ToolResult {
    std::string text = {};
    std::string structured = {}; // a JSON object, or empty
    bool is_error = false;
};

constexpr int invalid_request_code = -32600;
constexpr int unknown_method_code = -32601;
constexpr int invalid_params_code = -32602;

class Answers {
public:
    Answers(Wires& wires, std::string version) : wires_(wires), version_(std::move(version)) {}

    // `members` are those of the result object, without its braces; may be empty.
    void complete(const Asked& asked, std::string_view members);
    // The result of a method whose answers clients may keep for a while.
    void cacheable(const Asked& asked, std::string_view members);
    // The same for what may be different the next time.
    void changeable(const Asked& asked, std::string_view members);
    void tool_result(const Asked& asked, const ToolResult& result);
    // `state` goes back to this process with the answers of the person.
    void input_required(const Asked& asked, std::string_view form, std::string_view state);

    // `data` is JSON text, or empty.
    void fail(const json::Id& id, int code, std::string_view message, std::string_view data = "");

    void progress(const json::Id& token, std::uint64_t value, std::string_view message);
    // `params` is the JSON text of an object.
    void notify(std::string_view method, std::string_view params);
    void request(std::string_view id, std::string_view method, std::string_view params);

    // {"name":…,"version":…}
    std::string server_info() const;

private:
    void send(const Asked& asked, std::string_view type, std::string_view members);

    Wires& wires_;
    std::string version_;
};

std::string json_string(std::string_view text);

} // namespace ew::mcp
