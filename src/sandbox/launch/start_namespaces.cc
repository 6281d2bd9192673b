#include "sandbox/launch/start_namespaces.h"

#include "sandbox/init/wire.h"
#include "sandbox/launch/report.h"

#include <cstdint>
#include <utility>

namespace ew::sandbox {

namespace {

// Returns the namespaces that the start has kept.
Namespaces kept_namespaces(const Namespaces& order) {
    Namespaces kept;
    kept.users = UniqueFd(namespace_fds[0]);
    kept.mounts = UniqueFd(namespace_fds[1]);
    if (order.network) kept.network = UniqueFd(namespace_fds[2]);
    kept.machine_mounts = order.machine_mounts;
    return kept;
}

void report(const Namespaces& made) {
    const auto tell = [&made](wire::Namespace which, const UniqueFd& descriptor) {
        wire::Record record;
        record.kind = wire::RecordKind::name_space;
        record.step = static_cast<std::uint32_t>(which);
        record.value = static_cast<std::int64_t>(made.machine_mounts);
        if (descriptor) send(record, "", descriptor.get());
    };
    tell(wire::Namespace::network, made.network);
    tell(wire::Namespace::mounts, made.mounts);
    tell(wire::Namespace::users, made.users);
}

} // namespace

Namespaces namespaces_for(const LaunchOrder& launch) {
    if (!launch.machine.has_mounts || !launch.machine.shares_namespaces) return {};
    if (launch.namespaces != nullptr) {
        Namespaces kept = kept_namespaces(*launch.namespaces);
        if (kept.machine_mounts == 0 || kept.machine_mounts == machine_mounts()) return kept;
        wire::Record record;
        send(record, "the session's /tmp begins anew, because the machine's mounts have changed");
    }
    Result<Namespaces> made = make_namespaces(launch.machine);
    if (!made) refuse(made.error());
    report(*made);
    return std::move(*made);
}

} // namespace ew::sandbox
