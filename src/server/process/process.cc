#include "server/process/process.h"

#include "server/process/backend.h"
#include "server/process/consumer.h"

namespace ew::server {

bool Process::is_confined() const {
    return backend->sandbox_state(*this).is_confined;
}

protocol::Confinement Process::confinement() const {
    return backend->sandbox_state(*this).confinement;
}

std::vector<protocol::Denial> Process::denials() const {
    return backend->sandbox_state(*this).denials;
}

std::uint64_t Process::denial_count() const {
    return backend->sandbox_state(*this).denial_count;
}

std::vector<sandbox::HostUse> Process::host_uses() const {
    return backend->sandbox_state(*this).host_uses;
}

bool Process::is_settled(std::uint64_t bulk_sent) const {
    return is_closed && !log.has_undelivered() && bulk_sent >= delivery.bulk_end &&
           reads.size() == 0 && !ending && (consumer == nullptr || consumer->is_settled());
}

} // namespace ew::server
