#include "sandbox/gateway/gateway.h"

#include "os/io.h"
#include "sandbox/gateway/candidates.h"
#include "sandbox/gateway/tcp.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <limits>

namespace ew::sandbox {

namespace {

constexpr unsigned source_bits = 3;
constexpr int most_events = 32;
constexpr Millis longest_pause{120'000}; // between two packets of a connect (TCP_RTO_MAX)
constexpr int most_accepted = 16;        // at one listener in one turn of the loop

// A link-local address says nothing without a link (scope).
bool is_of_a_host(const core::Internet& address) {
    const bool is_link_local =
        !core::is_ipv4(address) && address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
    return core::is_for_one_host(address) && !is_link_local;
}

std::string no_address_of(const core::Proxy& proxy) {
    return fmt::format("{} has no address", proxy.text());
}

} // namespace

Result<std::unique_ptr<Gateway>> Gateway::start(HostNetwork network,
                                                std::vector<core::HostRule> rules, WayOut* way,
                                                TimePoint now, HostAsking* asking) {
    if (!network.exists())
        return Error{ErrorKind::sandbox_unavailable, "the sandbox has no network by host"};
    std::unique_ptr<Gateway> made(new Gateway(std::move(network), std::move(rules), way, asking));
    made->epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    if (!made->epoll_) return os::system_error("epoll_create1", errno);
    if (!made->watch(made->resolver_.fd(), Source::resolver, 0, EPOLLIN))
        return os::system_error("epoll_ctl", errno);
    made->fill_sockets(now);
    return made;
}

// Descriptors are numbered from below. Those that are left are for everything else that the server
// does, for this command and others.
int Gateway::end_of_descriptors() {
    constexpr rlim_t reserve = 512;
    rlimit limit = {};
    constexpr rlim_t most = std::numeric_limits<int>::max();
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    const rlim_t count = std::min(limit.rlim_cur, most);
    return static_cast<int>(count - std::min(reserve, count / 2));
}

std::vector<HostUse> Gateway::finish() {
    const TimePoint until = clock_now() + longest_finish;
    for (auto& [serial, held] : crossings_) {
        held.crossing.finish(carrier_, until);
        note_use(held);
    }
    return uses_.list();
}

bool Gateway::watch(int fd, Source source, std::uint64_t serial, std::uint32_t events) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = serial << source_bits | static_cast<std::uint64_t>(source);
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

// Without a wish the descriptor is not watched at all: a hang-up would be reported for ever.
void Gateway::set_watch(int fd, Source source, std::uint64_t serial, std::uint32_t& from,
                        std::uint32_t to) {
    if (from == to) return;
    epoll_event event = {};
    event.events = to;
    event.data.u64 = serial << source_bits | static_cast<std::uint64_t>(source);
    const int operation = to == 0 ? EPOLL_CTL_DEL : from == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (::epoll_ctl(epoll_.get(), operation, fd, &event) == 0) from = to;
}

void Gateway::unwatch(int fd) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Gateway::on_ready(TimePoint now) {
    std::array<epoll_event, most_events> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), most_events, 0);
    const TimePoint end = clock_now() + longest_turn;
    for (int i = 0; i < count; ++i) {
        const std::uint64_t token = events[static_cast<std::size_t>(i)].data.u64;
        const std::uint64_t serial = token >> source_bits;
        switch (static_cast<Source>(token & ((1U << source_bits) - 1))) {
        case Source::resolver: resolver_.on_ready(names_); break;
        case Source::sockets: on_sockets(now); break;
        case Source::look_up: on_look_up(serial, now); break;
        case Source::listener: accept_at(serial, now); break;
        case Source::inside: on_crossing(serial, Crossing::Side::inside, now); break;
        case Source::outside: on_crossing(serial, Crossing::Side::outside, now); break;
        }
        if (clock_now() >= end) return; // the other events stay
    }
}

void Gateway::on_time(TimePoint now) {
    if (sockets_.is_filling() && sockets_.deadline() <= now) on_sockets(now);
    if (look_ups_.on_time(now)) seek_all(now);
    for (auto at = crossings_.begin(); at != crossings_.end();) {
        const auto here = at++;
        if (!is_due(here->second.crossing.deadline(), now)) continue;
        here->second.crossing.on_time(now);
        settle(here);
    }
    std::erase_if(listeners_, [&](const auto& entry) {
        const bool is_over = entry.second.question == 0 && entry.second.until <= now;
        if (is_over) unwatch(entry.second.socket.get());
        return is_over;
    });
}

std::optional<TimePoint> Gateway::next_deadline() const {
    std::optional<TimePoint> next = look_ups_.next_deadline();
    if (sockets_.is_filling()) next = earlier(next, sockets_.deadline());
    for (const auto& [serial, held] : crossings_)
        next = earlier(next, held.crossing.deadline());
    for (const auto& [place, listener] : listeners_)
        if (listener.question == 0) next = earlier(next, listener.until);
    return next;
}

core::Destination Gateway::destination_of(const core::Internet& address, std::uint16_t port) const {
    if (std::optional<std::string> name = names_.name_of(address))
        return {std::move(*name), std::nullopt, port};
    return {core::shown(address), address, port};
}

Gateway::Answer Gateway::open(const core::Internet& address, std::uint16_t port, const Asker& asker,
                              TimePoint now) {
    core::Destination there = destination_of(address, port);
    if (there.address && core::NameTable::has_range(address)) return {Way::nowhere, port};
    if (port == 0 || (there.address && !is_of_a_host(address)))
        return {Way::refused, port, {std::move(there), "nothing answers there", "", false, asker}};
    if (std::string reason = refusal_by_proxies(there); !reason.empty())
        return {Way::refused, port, {std::move(there), std::move(reason), "", false, asker}};
    const core::HostRuling ruling = core::rule_on(rules_, there);
    const Place place = {address, port};
    switch (ruling.decision) {
    case core::Decision::allow: {
        Listener listener = {.port = port, .there = std::move(there), .asker = asker};
        listener.rule = ruling.rule->origin;
        return listen(place, std::move(listener), now);
    }
    case core::Decision::forbidden: {
        shut(place);
        HostRefusal refusal = {std::move(there), "a rule forbids it: " + ruling.rule->origin};
        refusal.justification = ruling.rule->justification;
        refusal.asker = asker;
        return {Way::refused, port, std::move(refusal)};
    }
    case core::Decision::prompt: break;
    }
    HostQuestion question = {0, std::move(there), asker, ruling.rule ? ruling.rule->origin : ""};
    return ask(place, std::move(question), now);
}

bool Gateway::may_ask(const core::Internet& address, std::uint16_t port) const {
    return asking_ != nullptr &&
           core::rule_on(rules_, destination_of(address, port)).decision == core::Decision::prompt;
}

// What was allowed counts for this connect alone: the next one asks again what is known.
Gateway::Answer Gateway::ask(const Place& place, HostQuestion question, TimePoint now) {
    const auto known = listeners_.find(place);
    if (known != listeners_.end() && known->second.question != 0)
        return {Way::open, known->second.port, {}, known->second.question};
    std::optional<HostVerdict> verdict = asking_ ? asking_->known(question) : unasked(question);
    if (!verdict && (open_questions() >= most_questions || asked_ >= most_asked))
        verdict = HostVerdict{.reason = "the command has asked about too many hosts"};
    if (verdict && !verdict->is_allowed) {
        shut(place);
        return refused(question, *verdict);
    }
    Listener listener = {.port = place.second, .there = question.there, .asker = question.asker};
    listener.is_answered = true;
    if (verdict) {
        listener.rule = verdict->source;
        return listen(place, std::move(listener), now);
    }
    question.id = next_serial_++;
    listener.question = question.id;
    listener.asked_at = now;
    Answer answer = listen(place, std::move(listener), now);
    if (answer.way != Way::open) return answer;
    if (Result<void> asked = asking_->ask(question); !asked) {
        close(listeners_.find(place));
        return refused(question, {.reason = asked.error().message, .can_be_allowed = true});
    }
    ++asked_;
    answer.question = question.id;
    return answer;
}

HostVerdict Gateway::unasked(const HostQuestion& question) {
    if (question.rule.empty()) return {.reason = "no rule allows it", .can_be_allowed = true};
    return {.reason = "a rule wants a question, which cannot be asked: " + question.rule};
}

Gateway::Answer Gateway::refused(const HostQuestion& question, const HostVerdict& verdict) {
    HostRefusal refusal = {question.there, verdict.reason};
    refusal.can_be_allowed = verdict.can_be_allowed;
    refusal.asker = question.asker;
    return {Way::refused, question.there.port, std::move(refusal)};
}

std::size_t Gateway::open_questions() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        listeners_, [](const auto& entry) { return entry.second.question != 0; }));
}

Gateway::Listeners::iterator Gateway::find_question(std::uint64_t question) {
    return std::ranges::find_if(
        listeners_, [&](const auto& entry) { return entry.second.question == question; });
}

void Gateway::note_caller(std::uint64_t question, const Place& caller) {
    const auto at = find_question(question);
    if (at == listeners_.end() || is_listener(caller)) return;
    std::vector<Place>& callers = at->second.callers;
    if (callers.size() < most_callers) callers.push_back(caller); // others send their packet again
}

void Gateway::answer(std::uint64_t question, const HostVerdict& verdict, TimePoint now) {
    const auto at = find_question(question);
    if (at == listeners_.end()) return;
    Listener& listener = at->second;
    if (!verdict.is_allowed) {
        note({listener.there, verdict.reason, "", verdict.can_be_allowed, listener.asker});
        return close(at); // the kernel refuses the packets that follow
    }
    listener.question = 0;
    listener.rule = verdict.source;
    // A packet comes again after at most the time that has passed, or a second, or TCP's longest.
    const auto has_waited = std::min<TimePoint::duration>(now - listener.asked_at, longest_pause);
    listener.until = now + idle_listener + has_waited;
    release(listener.socket.get());
    for (const Place& caller : std::exchange(listener.callers, {})) {
        if (is_listener(caller)) continue;
        UniqueFd socket = sockets_.take(core::is_ipv4(at->first.first) ? AF_INET : AF_INET6);
        if (!socket) break;
        if (connect_back(socket.get(), {at->first.first, listener.port}, caller))
            take_in(std::move(socket), listener, now);
    }
    fill_sockets(now);
}

// What was allowed there before counts no more.
void Gateway::shut(const Place& place) {
    const auto at = listeners_.find(place);
    if (at != listeners_.end()) close(at);
}

// A program may bind its socket to a listener's place, too (SO_REUSEPORT).
bool Gateway::is_listener(const Place& place) const {
    return std::ranges::any_of(listeners_, [&](const auto& entry) {
        return entry.first.first == place.first && entry.second.port == place.second;
    });
}

void Gateway::close(Listeners::iterator at) {
    unwatch(at->second.socket.get());
    listeners_.erase(at);
}

Gateway::Answer Gateway::listen(const Place& place, Listener wanted, TimePoint now) {
    const bool is_held = wanted.question != 0;
    wanted.until = now + idle_listener;
    const auto known = listeners_.find(place);
    if (known != listeners_.end()) {
        Listener& listener = known->second;
        if (is_held && !hold(listener.socket.get())) return {Way::full, place.second};
        wanted.socket = std::move(listener.socket);
        wanted.port = listener.port;
        wanted.serial = listener.serial;
        wanted.until = std::max(wanted.until, listener.until);
        listener = std::move(wanted);
        return {Way::open, listener.port};
    }
    // Another place may have this port instead of its own: see listener_at().
    if (listeners_.size() >= most_listeners || is_listener(place)) return {Way::full, place.second};
    UniqueFd fresh = sockets_.take(core::is_ipv4(place.first) ? AF_INET : AF_INET6);
    fill_sockets(now);
    if (!fresh) return {sockets_.is_filling() ? Way::later : Way::full, place.second};
    wanted.socket = listener_at(std::move(fresh), place, wanted.port, is_held);
    wanted.serial = next_serial_++;
    if (!wanted.socket || !watch(wanted.socket.get(), Source::listener, wanted.serial, EPOLLIN))
        return {Way::full, place.second};
    const std::uint16_t port = wanted.port;
    listeners_.emplace(place, std::move(wanted));
    return {Way::open, port};
}

void Gateway::fill_sockets(TimePoint now) {
    if (sockets_.fill(now)) (void)watch(sockets_.fd(), Source::sockets, 0, EPOLLIN);
}

void Gateway::on_sockets(TimePoint now) {
    if (!sockets_.is_filling()) return;
    const int fd = sockets_.fd();
    // Before it is closed: see EventQueue::remove().
    unwatch(fd);
    if (sockets_.on_errand(now))
        has_news_ = true;
    else
        (void)watch(fd, Source::sockets, 0, EPOLLIN);
}

void Gateway::accept_at(std::uint64_t serial, TimePoint now) {
    const auto at = std::ranges::find_if(
        listeners_, [&](const auto& entry) { return entry.second.serial == serial; });
    if (at == listeners_.end()) return; // closed in this turn
    for (int i = 0; i < most_accepted; ++i)
        if (!accept_one(at, now)) return;
}

// Returns false if no further one can be accepted now.
bool Gateway::accept_one(Listeners::iterator at, TimePoint now) {
    Listener& listener = at->second;
    listener.until = now + idle_listener;
    UniqueFd socket(
        ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool has_descriptors = socket || (errno != EMFILE && errno != ENFILE);
    if (!has_descriptors) { // it would be ready for ever: the callers are reset
        unwatch(listener.socket.get());
        listeners_.erase(at);
    }
    if (!socket) return false;
    take_in(std::move(socket), listener, now);
    return true;
}

std::uint64_t Gateway::network() const {
    return network_of(resolver_.fd());
}

void Gateway::take_connection(const Place& place, TimePoint now) {
    const auto at = listeners_.find(place);
    if (at != listeners_.end()) (void)accept_one(at, now);
}

void Gateway::take_in(UniqueFd socket, const Listener& listener, TimePoint now) {
    if (crossings_.size() >= most_crossings || socket.get() >= end_of_descriptors_) {
        note({listener.there, "too many connections at once", "", false, listener.asker});
        return reset_on_close(socket.get());
    }
    const std::uint64_t serial = next_serial_++;
    const auto at = crossings_
                        .emplace(serial, Held{Crossing(std::move(socket), listener.there),
                                              listener.asker, listener.rule, listener.is_answered})
                        .first;
    seek(at->second, now);
    settle(at);
}

// A proxy that cannot be used lets nothing out: no connection goes beside it instead.
std::string Gateway::refusal_by_proxies(const core::Destination& there) const {
    for (const core::Proxy* const proxy : proxies_.on_port(there.port))
        if (proxy->host == there.host) return std::string(is_a_proxy);
    const core::Proxy* const proxy = proxies_.way_to(there);
    if (proxy == nullptr || proxy->trouble.empty()) return {};
    return proxy->unusable();
}

// Where a name goes through a proxy, the proxy looks it up. The addresses of proxies on that port
// must be known first, since no program may reach them.
void Gateway::seek(Held& held, TimePoint now) {
    const core::Destination& there = held.crossing.there();
    const core::Proxy* const proxy = proxies_.way_to(there);
    std::vector<core::Internet> taken;
    for (const core::Proxy* const one : proxies_.on_port(there.port)) {
        const FoundHost* const found = look_up(held, one->host, now);
        if (found == nullptr) return;
        if (found->addresses.empty()) return held.crossing.abort(no_address_of(*one));
        for (const FoundAddress& address : found->addresses)
            taken.push_back(address.address);
    }
    if (proxy == nullptr || there.address) {
        const FoundHost* const found = look_up(held, there.host, now);
        if (found == nullptr) return;
        Candidates candidates = candidates_for(rules_, there, held.is_answered, *found, taken);
        if (candidates.addresses.empty()) return held.crossing.abort(std::move(candidates.refusal));
        if (proxy == nullptr) return held.crossing.connect(std::move(candidates.addresses), now);
    }
    const FoundHost* const found = look_up(held, proxy->host, now);
    if (found == nullptr) return;
    if (found->addresses.empty()) return held.crossing.abort(no_address_of(*proxy));
    std::vector<core::Internet> addresses;
    for (const FoundAddress& address : found->addresses)
        addresses.push_back(address.address);
    held.crossing.connect_through(*proxy, std::move(addresses), now);
}

// Returns null if the host is not known yet: the crossing waits, also where there is no room for
// another look-up. If there are no processes for any, it is ended.
const FoundHost* Gateway::look_up(Held& held, const std::string& host, TimePoint now) {
    if (const FoundHost* const found = look_ups_.find(host, now)) return found;
    if (look_ups_.is_under_way(host)) return nullptr;
    const std::optional<LookUps::Begun> begun = look_ups_.begin(host, now);
    if (begun)
        (void)watch(begun->fd, Source::look_up, begun->serial, EPOLLIN);
    else if (!look_ups_.next_deadline())
        held.crossing.abort({});
    return nullptr;
}

void Gateway::seek_all(TimePoint now) {
    for (auto at = crossings_.begin(); at != crossings_.end();) {
        const auto here = at++;
        if (here->second.crossing.state() != Crossing::State::waiting) continue;
        seek(here->second, now);
        settle(here);
    }
}

void Gateway::on_look_up(std::uint64_t serial, TimePoint now) {
    if (look_ups_.on_ready(serial, now)) seek_all(now);
}

void Gateway::on_crossing(std::uint64_t serial, Crossing::Side side, TimePoint now) {
    const auto at = crossings_.find(serial);
    if (at == crossings_.end()) return; // it ended in this turn
    at->second.crossing.on_ready(side, carrier_, now);
    settle(at);
}

// Watches what the crossing waits for now, or removes it.
void Gateway::settle(Crossings::iterator at) {
    Held& held = at->second;
    const Crossing& crossing = held.crossing;
    const std::uint64_t serial = at->first;
    const bool is_closed = crossing.state() == Crossing::State::closed;
    if (held.attempt != crossing.attempt()) { // the socket before has been closed
        held.outside = 0;
        held.attempt = crossing.attempt();
    }
    set_watch(crossing.inside(), Source::inside, serial, held.inside,
              is_closed ? 0 : crossing.wanted_inside());
    if (crossing.outside() >= 0)
        set_watch(crossing.outside(), Source::outside, serial, held.outside,
                  is_closed ? 0 : crossing.wanted_outside());
    if (!is_closed) return;
    note_use(held);
    if (!crossing.refusal().empty())
        note({crossing.there(), crossing.refusal(), "", false, held.asker});
    crossings_.erase(at);
}

// A connection that was refused has reached nobody.
void Gateway::note_use(const Held& held) {
    const Crossing& crossing = held.crossing;
    if (!crossing.has_reached()) return;
    uses_.add(
        {crossing.there(), held.asker.program, held.rule, 1, crossing.sent(), crossing.received()});
}

void Gateway::note(HostRefusal refusal) {
    if (refusals_.size() < most_refusals) refusals_.push_back(std::move(refusal));
}

} // namespace ew::sandbox
