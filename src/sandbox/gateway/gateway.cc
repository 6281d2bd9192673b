#include "sandbox/gateway/gateway.h"

#include "os/io.h"
#include "sandbox/gateway/candidates.h"
#include "sandbox/gateway/tcp.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace ew::sandbox {

namespace {

using Source = GatewayEvents::Source;

constexpr int most_accepted = 16; // at one listener in one turn of the loop

// Descriptors are numbered from below. Those that are left are for everything else that the server
// does, for this command and others.
int end_of_descriptors() {
    constexpr rlim_t reserve = 512;
    rlimit limit = {};
    constexpr rlim_t most = std::numeric_limits<int>::max();
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    const rlim_t count = std::min(limit.rlim_cur, most);
    return static_cast<int>(count - std::min(reserve, count / 2));
}

// A link-local address says nothing without a link (scope).
bool is_of_a_host(const core::Internet& address) {
    const bool is_link_local =
        !core::is_ipv4(address) && address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
    return core::is_for_one_host(address) && !is_link_local;
}

std::string no_address_of(const core::Proxy& proxy) {
    return fmt::format("{} has no address", proxy.text());
}

HostVerdict unasked(const HostQuestion& question) {
    if (question.rule.empty()) return {.reason = "no rule allows it", .can_be_allowed = true};
    return {.reason = "a rule wants a question, which cannot be asked: " + question.rule};
}

Gateway::Answer refused(const HostQuestion& question, const HostVerdict& verdict) {
    HostRefusal refusal = {question.there, verdict.reason};
    refusal.can_be_allowed = verdict.can_be_allowed;
    refusal.asker = question.asker;
    return {Gateway::Way::refused, question.there.port, std::move(refusal)};
}

} // namespace

Gateway::Gateway(HostNetwork network, std::vector<core::HostRule> rules, WayOut* way,
                 HostAsking* asking)
    : rules_(std::move(rules)),
      proxies_(way != nullptr ? way->proxies : core::Proxies()),
      asking_(asking),
      resolver_(std::move(network.datagrams)),
      listeners_(std::move(network.network), events_),
      look_ups_(way != nullptr ? &way->look_ups : nullptr),
      end_of_descriptors_(end_of_descriptors()),
      carrier_(end_of_descriptors_) {}

Result<std::unique_ptr<Gateway>> Gateway::start(HostNetwork network,
                                                std::vector<core::HostRule> rules, WayOut* way,
                                                TimePoint now, HostAsking* asking) {
    if (!network.exists())
        return Error{ErrorKind::sandbox_unavailable, "the sandbox has no network by host"};
    std::unique_ptr<Gateway> made(new Gateway(std::move(network), std::move(rules), way, asking));
    TRY(made->events_.open());
    if (!made->events_.watch(made->resolver_.fd(), Source::resolver, 0, EPOLLIN))
        return os::system_error("epoll_ctl", errno);
    made->listeners_.fill(now);
    return made;
}

std::vector<HostUse> Gateway::finish() {
    const TimePoint until = clock_now() + longest_finish;
    for (auto& [serial, held] : crossings_) {
        held.crossing.finish(carrier_, until);
        note_use(held);
    }
    return uses_.list();
}

void Gateway::on_ready(TimePoint now) {
    const TimePoint end = clock_now() + longest_turn;
    for (const auto& [source, serial] : events_.take()) {
        switch (source) {
        case Source::resolver: resolver_.on_ready(names_); break;
        case Source::sockets: has_news_ |= listeners_.on_sockets(now); break;
        case Source::look_up: on_look_up(serial, now); break;
        case Source::listener: accept_at(serial, now); break;
        case Source::inside: on_crossing(serial, Crossing::Side::inside, now); break;
        case Source::outside: on_crossing(serial, Crossing::Side::outside, now); break;
        }
        if (clock_now() >= end) return; // the other events stay
    }
}

void Gateway::on_time(TimePoint now) {
    has_news_ |= listeners_.on_time(now);
    if (look_ups_.on_time(now)) seek_all(now);
    for (auto at = crossings_.begin(); at != crossings_.end();) {
        const auto here = at++;
        if (!is_due(here->second.crossing.deadline(), now)) continue;
        here->second.crossing.on_time(now);
        settle(here);
    }
}

std::optional<TimePoint> Gateway::next_deadline() const {
    std::optional<TimePoint> next = earlier(look_ups_.next_deadline(), listeners_.next_deadline());
    for (const auto& [serial, held] : crossings_)
        next = earlier(next, held.crossing.deadline());
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
    case core::Decision::allow:
        return listen(place, {std::move(there), asker, ruling.rule->origin}, 0, now);
    case core::Decision::forbidden: {
        listeners_.close(place); // what was allowed there before counts no more
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
    if (const std::optional<Listeners::Waiting> waiting = listeners_.question_at(place))
        return {Way::open, waiting->port, {}, waiting->question};
    std::optional<HostVerdict> verdict = asking_ ? asking_->known(question) : unasked(question);
    if (!verdict && (listeners_.open_questions() >= most_questions || asked_ >= most_asked))
        verdict = HostVerdict{.reason = "the command has asked about too many hosts"};
    if (verdict && !verdict->is_allowed) {
        listeners_.close(place); // what was allowed there before counts no more
        return refused(question, *verdict);
    }
    Passage passage = {.there = question.there, .asker = question.asker, .is_answered = true};
    if (verdict) {
        passage.rule = verdict->source;
        return listen(place, std::move(passage), 0, now);
    }
    question.id = next_serial_++;
    Answer answer = listen(place, std::move(passage), question.id, now);
    if (answer.way != Way::open) return answer;
    if (Result<void> asked = asking_->ask(question); !asked) {
        listeners_.close(place);
        return refused(question, {.reason = asked.error().message, .can_be_allowed = true});
    }
    ++asked_;
    answer.question = question.id;
    return answer;
}

Gateway::Answer Gateway::listen(const Place& place, Passage passage, std::uint64_t question,
                                TimePoint now) {
    using State = Listeners::Opened::State;
    const Listeners::Opened opened = listeners_.open(place, std::move(passage), question, now);
    const Way way = opened.state == State::open    ? Way::open
                    : opened.state == State::later ? Way::later
                                                   : Way::full;
    return {way, opened.port};
}

void Gateway::note_caller(std::uint64_t question, const Place& caller) {
    listeners_.note_caller(question, caller);
}

void Gateway::answer(std::uint64_t question, const HostVerdict& verdict, TimePoint now) {
    if (!verdict.is_allowed) {
        if (const std::optional<Passage> refused = listeners_.refuse(question))
            note({refused->there, verdict.reason, "", verdict.can_be_allowed, refused->asker});
        return;
    }
    for (Listeners::Arrival& caller : listeners_.admit(question, verdict.source, now))
        take_in(std::move(caller), now);
}

void Gateway::accept_at(std::uint64_t serial, TimePoint now) {
    for (int i = 0; i < most_accepted; ++i) {
        std::optional<Listeners::Arrival> arrival = listeners_.accept(serial, now);
        if (!arrival) return;
        take_in(std::move(*arrival), now);
    }
}

std::uint64_t Gateway::network() const {
    return network_of(resolver_.fd());
}

void Gateway::take_connection(const Place& place, TimePoint now) {
    if (std::optional<Listeners::Arrival> arrival = listeners_.accept(place, now))
        take_in(std::move(*arrival), now);
}

void Gateway::take_in(Listeners::Arrival arrival, TimePoint now) {
    auto& [socket, passage] = arrival;
    if (crossings_.size() >= most_crossings || socket.get() >= end_of_descriptors_) {
        note({passage.there, "too many connections at once", "", false, passage.asker});
        return reset_on_close(socket.get());
    }
    const std::uint64_t serial = next_serial_++;
    Crossing crossing(std::move(socket), passage.there);
    const auto at = crossings_.emplace(serial, Held{std::move(crossing), std::move(passage)}).first;
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
        Candidates candidates =
            candidates_for(rules_, there, held.passage.is_answered, *found, taken);
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
        (void)events_.watch(begun->fd, Source::look_up, begun->serial, EPOLLIN);
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
    events_.change(crossing.inside(), {Source::inside, serial}, held.inside,
                   is_closed ? 0 : crossing.wanted_inside());
    if (crossing.outside() >= 0)
        events_.change(crossing.outside(), {Source::outside, serial}, held.outside,
                       is_closed ? 0 : crossing.wanted_outside());
    if (!is_closed) return;
    note_use(held);
    if (!crossing.refusal().empty())
        note({crossing.there(), crossing.refusal(), "", false, held.passage.asker});
    crossings_.erase(at);
}

// A connection that was refused has reached nobody.
void Gateway::note_use(const Held& held) {
    const Crossing& crossing = held.crossing;
    if (!crossing.has_reached()) return;
    uses_.add({crossing.there(), held.passage.asker.program, held.passage.rule, 1, crossing.sent(),
               crossing.received()});
}

void Gateway::note(HostRefusal refusal) {
    if (refusals_.size() < most_refusals) refusals_.push_back(std::move(refusal));
}

} // namespace ew::sandbox
