#include "sandbox/gateway/look_up.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::size_t most_addresses = 64; // of one host, and of the machine

std::optional<core::Internet> internet_of(const sockaddr* address) {
    core::Internet internet = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (address == nullptr) return std::nullopt;
    const void* const bytes = address;
    if (address->sa_family == AF_INET) {
        const auto* const ipv4 = static_cast<const sockaddr_in*>(bytes);
        std::memcpy(internet.data() + 12, &ipv4->sin_addr, 4);
        return internet;
    }
    if (address->sa_family != AF_INET6) return std::nullopt;
    const auto* const ipv6 = static_cast<const sockaddr_in6*>(bytes);
    std::memcpy(internet.data(), &ipv6->sin6_addr, internet.size());
    return internet;
}

// Returns nullopt after an error: then any address could be the machine's.
std::optional<std::vector<core::Internet>> own_addresses() {
    std::vector<core::Internet> own;
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return std::nullopt;
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next)
        if (const std::optional<core::Internet> address = internet_of(one->ifa_addr))
            own.push_back(*address);
    ::freeifaddrs(first);
    return own;
}

} // namespace

std::string look_up_here(const std::string& host) {
    // A name with a dot is whole: the machine's search domains must not make another one of it.
    if (host.find('.') != std::string::npos) (void)::setenv("LOCALDOMAIN", ".", 1);
    addrinfo hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &first);
    if (error != 0) return std::string("trouble ") + ::gai_strerror(error) + '\n';
    const std::optional<std::vector<core::Internet>> own = own_addresses();
    if (!own) return "trouble the addresses of this machine are not known\n";
    std::string text;
    std::size_t count = 0;
    for (const addrinfo* one = first; one != nullptr && count < most_addresses;
         one = one->ai_next) {
        const std::optional<core::Internet> address = internet_of(one->ai_addr);
        if (!address) continue;
        const bool is_own = std::ranges::find(*own, *address) != own->end();
        text += (is_own ? "own " : "far ") + core::shown(*address) + '\n';
        ++count;
    }
    ::freeaddrinfo(first);
    return text + "end\n";
}

FoundHost decode_found(std::string_view text) {
    FoundHost found;
    bool is_whole = false;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        const std::string_view rest = line.substr(std::min<std::size_t>(4, line.size()));
        if (line.starts_with("trouble ")) return {{}, std::string(line.substr(8))};
        is_whole = line == "end";
        if (const std::optional<core::Internet> address = core::read_internet(rest))
            found.addresses.push_back({*address, line.starts_with("own ")});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (!is_whole || found.addresses.empty()) return {{}, "its look-up failed"};
    return found;
}

const FoundHost* LookUps::find(const std::string& host, TimePoint now) {
    const auto kept = kept_.find(host);
    if (kept == kept_.end() || kept->second.until <= now) return nullptr;
    return &kept->second.found;
}

bool LookUps::is_under_way(const std::string& host) const {
    return std::ranges::any_of(running_, [&](const auto& one) { return one.second.host == host; });
}

std::optional<LookUps::Begun> LookUps::begin(const std::string& host, TimePoint now) {
    if (running_.size() >= most) return std::nullopt;
    LookUpRoom::Place place = room_ != nullptr ? room_->enter() : nullptr;
    if (room_ != nullptr && !place) {
        try_again_ = now + pause;
        return std::nullopt;
    }
    Result<os::Errand> errand =
        os::Errand::begin([host] { return look_up_here(host); }, {}, now + patience);
    if (!errand) return std::nullopt;
    const std::uint64_t serial = next_serial_++;
    const auto at =
        running_.emplace(serial, Running{host, std::move(*errand), std::move(place)}).first;
    return Begun{serial, at->second.errand.fd()};
}

std::optional<std::string> LookUps::on_ready(std::uint64_t serial, TimePoint now) {
    const auto at = running_.find(serial);
    if (at == running_.end()) return std::nullopt;
    const std::optional<std::string> result = at->second.errand.take_result();
    if (!result) return std::nullopt;
    std::string host = std::move(at->second.host);
    running_.erase(at);
    keep(host, decode_found(*result), now);
    return host;
}

bool LookUps::on_time(TimePoint now) {
    bool has_news = is_due(try_again_, now);
    if (has_news) try_again_.reset();
    for (auto at = running_.begin(); at != running_.end();) {
        if (now < at->second.errand.deadline()) {
            ++at;
            continue;
        }
        keep(at->second.host, {{}, "its look-up took too long"}, now);
        at = running_.erase(at);
        has_news = true;
    }
    return has_news;
}

std::optional<TimePoint> LookUps::next_deadline() const {
    std::optional<TimePoint> next = try_again_;
    for (const auto& [serial, running] : running_)
        next = earlier(next, running.errand.deadline());
    return next;
}

void LookUps::keep(const std::string& host, FoundHost found, TimePoint now) {
    if (kept_.size() >= most_kept) kept_.clear(); // only a moment's memory
    // A failure is kept for those who wait for it now.
    const Millis time = found.trouble.empty() ? kept_for : Millis(500);
    kept_.insert_or_assign(host, Kept{std::move(found), now + time});
}

} // namespace ew::sandbox
