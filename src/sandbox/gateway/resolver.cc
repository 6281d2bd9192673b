#include "sandbox/gateway/resolver.h"

#include "core/network/dns.h"
#include "core/network/hosts.h"

#include <sys/socket.h>

#include <array>
#include <optional>

namespace ew::sandbox {

namespace {

namespace dns = core::dns;

constexpr core::Internet local_host = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};

bool is_local(std::string_view name) {
    return name == "localhost" || name.ends_with(".localhost"); // RFC 6761
}

std::string answer_reverse(const dns::Query& query, const core::NameTable& names) {
    const std::optional<core::Internet> address = dns::reverse_of(query.name);
    if (address == local_host) return dns::name_answer(query, "localhost");
    const std::optional<std::string> name = address ? names.name_of(*address) : std::nullopt;
    return name ? dns::name_answer(query, *name)
                : dns::empty_answer(query, dns::Code::no_such_name);
}

} // namespace

std::string answer_to(std::string_view message, core::NameTable& names) {
    const std::optional<dns::Query> query = dns::read_query(message);
    if (!query) return {};
    if (!query->is_internet) return dns::empty_answer(*query, dns::Code::refused);
    if (query->type == static_cast<std::uint16_t>(dns::Type::ptr))
        return answer_reverse(*query, names);
    const std::optional<std::string> name = core::host_name(query->name);
    if (!name) return dns::empty_answer(*query, dns::Code::no_such_name);
    if (query->type != static_cast<std::uint16_t>(dns::Type::a))
        return dns::empty_answer(*query, dns::Code::fine);
    if (is_local(*name)) return dns::address_answer(*query, local_host);
    const std::optional<core::Internet> address = names.address_of(*name);
    return address ? dns::address_answer(*query, *address)
                   : dns::empty_answer(*query, dns::Code::failed);
}

void Resolver::on_ready(core::NameTable& names) {
    std::array<char, dns::longest_query> block;
    for (int i = 0; i < most_queries; ++i) {
        sockaddr_storage from = {};
        socklen_t size = sizeof from;
        void* const address = &from;
        const ssize_t count = ::recvfrom(datagrams_.get(), block.data(), block.size(), MSG_DONTWAIT,
                                         static_cast<sockaddr*>(address), &size);
        if (count < 0) return;
        const std::string answer =
            answer_to({block.data(), static_cast<std::size_t>(count)}, names);
        if (answer.empty()) continue;
        (void)::sendto(datagrams_.get(), answer.data(), answer.size(), MSG_DONTWAIT,
                       static_cast<const sockaddr*>(address), size);
    }
}

} // namespace ew::sandbox
