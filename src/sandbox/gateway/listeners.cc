#include "sandbox/gateway/listeners.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace ew::sandbox {

namespace {

using Source = GatewayEvents::Source;

constexpr Millis longest_pause{120'000}; // between two packets of a connect (TCP_RTO_MAX)

} // namespace

Listeners::Opened Listeners::open(const Place& place, Passage passage, std::uint64_t question,
                                  TimePoint now) {
    using State = Opened::State;
    const bool is_held = question != 0;
    Listener wanted = {.port = place.second, .passage = std::move(passage)};
    wanted.until = now + longest_idle;
    wanted.question = question;
    wanted.asked_at = now;
    const auto known = listeners_.find(place);
    if (known != listeners_.end()) {
        Listener& listener = known->second;
        if (is_held && !hold(listener.socket.get())) return {State::full, place.second};
        wanted.socket = std::move(listener.socket);
        wanted.port = listener.port;
        wanted.serial = listener.serial;
        wanted.until = std::max(wanted.until, listener.until);
        listener = std::move(wanted);
        return {State::open, listener.port};
    }
    // Another place may have this port instead of its own: see listener_at().
    if (listeners_.size() >= most || is_listener(place)) return {State::full, place.second};
    UniqueFd fresh = fresh_socket(place.first);
    fill(now);
    if (!fresh) return {sockets_.is_filling() ? State::later : State::full, place.second};
    wanted.socket = listener_at(std::move(fresh), place, wanted.port, is_held);
    wanted.serial = next_serial_++;
    if (!wanted.socket ||
        !events_.watch(wanted.socket.get(), Source::listener, wanted.serial, EPOLLIN))
        return {State::full, place.second};
    const std::uint16_t port = wanted.port;
    listeners_.emplace(place, std::move(wanted));
    return {State::open, port};
}

void Listeners::close(const Place& place) {
    const auto at = listeners_.find(place);
    if (at != listeners_.end()) close(at);
}

void Listeners::close(Map::iterator at) {
    events_.unwatch(at->second.socket.get());
    listeners_.erase(at);
}

std::optional<Listeners::Waiting> Listeners::question_at(const Place& place) const {
    const auto at = listeners_.find(place);
    if (at == listeners_.end() || at->second.question == 0) return std::nullopt;
    return Waiting{at->second.question, at->second.port};
}

std::size_t Listeners::open_questions() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        listeners_, [](const auto& entry) { return entry.second.question != 0; }));
}

Listeners::Map::iterator Listeners::find_question(std::uint64_t question) {
    return std::ranges::find_if(
        listeners_, [&](const auto& entry) { return entry.second.question == question; });
}

void Listeners::note_caller(std::uint64_t question, const Place& caller) {
    const auto at = find_question(question);
    if (at == listeners_.end() || is_listener(caller)) return;
    std::vector<Place>& callers = at->second.callers;
    if (callers.size() < most_callers) callers.push_back(caller); // others send their packet again
}

std::vector<Listeners::Arrival> Listeners::admit(std::uint64_t question, const std::string& rule,
                                                 TimePoint now) {
    const auto at = find_question(question);
    if (at == listeners_.end()) return {};
    const core::Internet& address = at->first.first;
    Listener& listener = at->second;
    listener.question = 0;
    listener.passage.rule = rule;
    // A packet comes again after at most the time that has passed, or a second, or TCP's longest.
    const auto has_waited = std::min<TimePoint::duration>(now - listener.asked_at, longest_pause);
    listener.until = now + longest_idle + has_waited;
    release(listener.socket.get());
    std::vector<Arrival> connected;
    for (const Place& caller : std::exchange(listener.callers, {})) {
        if (is_listener(caller)) continue;
        UniqueFd socket = fresh_socket(address);
        if (!socket) break;
        if (connect_back(socket.get(), {address, listener.port}, caller))
            connected.push_back({std::move(socket), listener.passage});
    }
    fill(now);
    return connected;
}

std::optional<Passage> Listeners::refuse(std::uint64_t question) {
    const auto at = find_question(question);
    if (at == listeners_.end()) return std::nullopt;
    Passage passage = std::move(at->second.passage);
    close(at);
    return passage;
}

// A program may bind its socket to a listener's place, too (SO_REUSEPORT).
bool Listeners::is_listener(const Place& place) const {
    return std::ranges::any_of(listeners_, [&](const auto& entry) {
        return entry.first.first == place.first && entry.second.port == place.second;
    });
}

std::optional<Listeners::Arrival> Listeners::accept(const Place& place, TimePoint now) {
    return accept(listeners_.find(place), now);
}

std::optional<Listeners::Arrival> Listeners::accept(std::uint64_t serial, TimePoint now) {
    return accept(std::ranges::find_if(
                      listeners_, [&](const auto& entry) { return entry.second.serial == serial; }),
                  now);
}

std::optional<Listeners::Arrival> Listeners::accept(Map::iterator at, TimePoint now) {
    if (at == listeners_.end()) return std::nullopt; // closed in this turn
    Listener& listener = at->second;
    listener.until = now + longest_idle;
    UniqueFd socket(
        ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) return Arrival{std::move(socket), listener.passage};
    const bool has_descriptors = errno != EMFILE && errno != ENFILE;
    if (!has_descriptors) close(at); // it would be ready for ever: the callers are reset
    return std::nullopt;
}

UniqueFd Listeners::fresh_socket(const core::Internet& address) {
    return sockets_.take(core::is_ipv4(address) ? AF_INET : AF_INET6);
}

void Listeners::fill(TimePoint now) {
    if (sockets_.fill(now)) (void)events_.watch(sockets_.fd(), Source::sockets, 0, EPOLLIN);
}

bool Listeners::on_sockets(TimePoint now) {
    if (!sockets_.is_filling()) return false;
    const int fd = sockets_.fd();
    events_.unwatch(fd);
    if (sockets_.on_errand(now)) return true;
    (void)events_.watch(fd, Source::sockets, 0, EPOLLIN);
    return false;
}

bool Listeners::on_time(TimePoint now) {
    for (auto at = listeners_.begin(); at != listeners_.end();) {
        const auto here = at++;
        if (here->second.question == 0 && here->second.until <= now) close(here);
    }
    return sockets_.is_filling() && sockets_.deadline() <= now && on_sockets(now);
}

std::optional<TimePoint> Listeners::next_deadline() const {
    std::optional<TimePoint> next;
    if (sockets_.is_filling()) next = sockets_.deadline();
    for (const auto& [place, listener] : listeners_)
        if (listener.question == 0) next = earlier(next, listener.until);
    return next;
}

} // namespace ew::sandbox
