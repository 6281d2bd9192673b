// The listeners of a gateway: sockets inside, each at exactly the address and port to which a
// program connects. A listener is kept for the connects that follow, and closed when none comes.
// One whose question is open drops what arrives, and knows the callers that wait.
#pragma once

#include "base/clock.h"
#include "base/unique_fd.h"
#include "core/network/hosts.h"
#include "sandbox/gateway/gateway_events.h"
#include "sandbox/gateway/host_asking.h"
#include "sandbox/gateway/listening.h"
#include "sandbox/gateway/socket_pool.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::sandbox {

// To what a listener leads, for which program, and by what permission.
struct Passage {
    core::Destination there = {};
    Asker asker = {};
    std::string rule = {};    // which allows it; empty while a question is open
    bool is_answered = false; // no rule allows it: somebody did
};

class Listeners {
public:
    static constexpr std::size_t most = 256;
    static constexpr std::size_t most_callers = 32; // of one question that are connected at once
    // A listener keeps programs from having that port on all addresses.
    static constexpr Millis longest_idle{2000};

    // `network` is that of the sandbox. `events` outlives the listeners.
    Listeners(UniqueFd network, GatewayEvents& events)
        : sockets_(std::move(network)), events_(events) {}

    struct Opened {
        enum class State : std::uint8_t {
            open,
            later, // when on_sockets() or on_time() returns true
            full,  // no more descriptors, or too many listeners
        };

        State state = State::full;
        std::uint16_t port = 0; // differs from the wanted one if a program listens on that itself
    };

    // Listens at that place, also where there is a listener already: it leads there from now on.
    // With a question, which is not 0, nobody is let in until admit().
    Opened open(const Place& place, Passage passage, std::uint64_t question, TimePoint now);

    // Closes the listener of that place, if there is one: the kernel refuses the packets that
    // follow.
    void close(const Place& place);

    struct Waiting {
        std::uint64_t question = 0;
        std::uint16_t port = 0;
    };

    // Returns the question that is open about that place.
    std::optional<Waiting> question_at(const Place& place) const;

    std::size_t open_questions() const;

    // A connect for that question is under way, and comes from there.
    void note_caller(std::uint64_t question, const Place& caller);

    struct Arrival {
        UniqueFd socket;
        Passage passage;
    };

    // The answer is yes, by this permission. Returns the connections to the callers that wait,
    // which may still be under way.
    std::vector<Arrival> admit(std::uint64_t question, const std::string& rule, TimePoint now);

    // The answer is no: closes the listener. Returns nullopt if the question is not open.
    std::optional<Passage> refuse(std::uint64_t question);

    // Accepts a connection at a listener, by its place or by the serial of its event. Returns
    // nullopt if no further one can be accepted now.
    std::optional<Arrival> accept(const Place& place, TimePoint now);
    std::optional<Arrival> accept(std::uint64_t serial, TimePoint now);

    // Makes sockets ahead, if few are left.
    void fill(TimePoint now);

    // For the event of Source::sockets, and on time. Returns true if sockets have come, or will
    // not: a place that could not be opened for want of one can be tried again.
    bool on_sockets(TimePoint now);
    bool on_time(TimePoint now);
    std::optional<TimePoint> next_deadline() const;

private:
    struct Listener {
        UniqueFd socket = {};
        std::uint16_t port = 0;
        std::uint64_t serial = 0;
        Passage passage = {};
        TimePoint until = {};
        std::uint64_t question = 0; // open: nobody is let in
        TimePoint asked_at = {};
        std::vector<Place> callers = {}; // that wait for the answer
    };

    using Map = std::map<Place, Listener>;

    bool is_listener(const Place& place) const;
    Map::iterator find_question(std::uint64_t question);
    std::optional<Arrival> accept(Map::iterator at, TimePoint now);
    void close(Map::iterator at);
    UniqueFd fresh_socket(const core::Internet& address);

    SocketPool sockets_;
    GatewayEvents& events_;
    Map listeners_;
    std::uint64_t next_serial_ = 1;
};

} // namespace ew::sandbox
