// What a confined program sends to the resolver, and as the beginning of a connection, and what a
// proxy answers. A prefix of a message never reads as something else than the whole, and no answer
// is longer than its limit.
#include "core/network/client_hello.h"
#include "core/network/dns.h"
#include "core/network/hosts.h"
#include "core/network/proxy.h"
#include "fuzz/scenes.h"
#include "sandbox/gateway/resolver.h"

namespace ew::fuzz {

void dns(std::string_view input) {
    core::NameTable names;
    for (const std::string& message : cut(input)) {
        const std::string answer = sandbox::answer_to(message, names);
        const auto query = core::dns::read_query(message);
        require(query.has_value() == !answer.empty());
        if (!query) continue;
        require(answer.size() <= core::dns::longest_answer);
        require(answer.substr(0, 2) == message.substr(0, 2));
        require((static_cast<unsigned char>(answer[2]) & 0x80U) != 0);
        require(answer.substr(12).starts_with(query->question));
        if (const auto name = core::host_name(query->name)) require(core::host_name(*name) == name);
    }
}

void client_hello(std::string_view input) {
    using State = core::ClientHello::State;
    const core::ClientHello whole = core::read_client_hello(input);
    bool was_decided = false;
    for (std::size_t size = 0; size <= input.size() && size < 512; ++size) {
        const core::ClientHello part = core::read_client_hello(input.substr(0, size));
        if (was_decided) require(part.state != State::incomplete);
        was_decided = part.state != State::incomplete;
        if (!was_decided) continue;
        require(part.state == whole.state);
        require(part.server_name == whole.server_name);
    }
    require(whole.state == State::whole || whole.server_name.empty());
}

void proxy_answer(std::string_view input) {
    using State = core::ProxyAnswer::State;
    const core::ProxyAnswer whole = core::read_proxy_answer(input);
    require(whole.size <= input.size() && whole.size <= core::longest_proxy_answer);
    bool was_decided = false;
    for (std::size_t size = 0; size <= input.size() && size < 512; ++size) {
        const core::ProxyAnswer part = core::read_proxy_answer(input.substr(0, size));
        if (was_decided) require(part.state != State::incomplete);
        was_decided = part.state != State::incomplete;
        if (!was_decided) continue;
        require(part.state == whole.state);
        require(part.status == whole.status && part.size == whole.size);
    }
    require(whole.state == State::whole || (whole.status == 0 && whole.size == 0));
}

} // namespace ew::fuzz
