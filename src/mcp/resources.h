// The output of processes, and what their terminals show, as resources of an MCP client: their
// list, their texts, and notifications about changes for those that want them.
#pragma once

#include "base/clock.h"
#include "json/types.h"
#include "mcp/answers.h"
#include "mcp/resource_list.h"
#include "mcp/wires.h"
#include "protocol/envelope.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::mcp {

class Resources {
public:
    // How many requests may be unanswered.
    static constexpr std::size_t most_open = 64;
    // How many subscriptions a modern client may have open.
    static constexpr std::size_t most_listening = 64;
    // How many resources one subscription, or a legacy client, may name.
    static constexpr std::size_t most_named = 64;
    // The time between two notifications about the same thing.
    static constexpr Millis pause{1'000};

    Resources(Wires& wires, Answers& answers) : wires_(wires), answers_(answers) {}

    // Takes a request of a client. Returns false if it is not about resources.
    bool take(const Asked& asked, const protocol::Message& message);

    // A legacy client is told that the list has changed, and of the resources that it names.
    void begin_legacy();

    // The client no longer waits for this request.
    void cancel(const json::Id& request);

    // The server has answered a request. Returns false if it is not of a resource.
    bool on_answer(std::uint64_t request, const protocol::Message& answer);

    void note_new_process() { has_new_process_ = true; }

    // The output of the process, or its state.
    void note_change(std::string_view process);

    // Returns true if note_change() is worth its price.
    bool wants_changes() const;

    void on_time(TimePoint now, Reader reader);
    std::optional<TimePoint> next_deadline() const;

private:
    struct Request {
        std::uint64_t id = 0;
        Asked asked = {};
        std::string uri = {}; // to be read; empty: the list
    };

    struct Listener {
        json::Id id = {}; // of the request; empty: the legacy client
        bool wants_list = false;
        std::vector<std::string> uris = {};
    };

    void list(const Asked& asked);
    void list_templates(const Asked& asked);
    void read(const Asked& asked, const protocol::Message& message);
    void subscribe(const Asked& asked, const protocol::Message& message);
    void unsubscribe(const Asked& asked, const protocol::Message& message);
    void listen(const Asked& asked, const protocol::Message& message);
    bool may_ask(const Asked& asked) const;
    std::uint64_t request(const ResourceName& name);
    void tell(const Listener& listener, std::string_view method, std::string_view uri);
    void tell_list(const Request& request, const protocol::Message& answer);
    void tell_text(const Request& request, const protocol::Message& answer);
    void fail_unknown(const Asked& asked, std::string_view uri);
    Listener* legacy();

    Wires& wires_;
    Answers& answers_;
    std::vector<Request> requests_;
    std::vector<Listener> listeners_;
    std::vector<std::string> changed_; // URIs that somebody has named
    bool has_new_process_ = false;
    TimePoint told_at_ = {};
};

} // namespace ew::mcp
