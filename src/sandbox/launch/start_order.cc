#include "sandbox/launch/start_order.h"

#include "base/plain_bytes.h"
#include "base/unique_fd.h"
#include "sandbox/init/wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <utility>

namespace ew::sandbox {

namespace {

// See plain_bytes.h.
template <class Way>
void pass(Way& way, Like<Entry> auto& entry) {
    way.plain(entry.kind);
    way.text(entry.path);
    way.plain(entry.special);
    way.plain(entry.access);
    way.plain(entry.skip_if_missing);
    way.plain(entry.is_granted);
}

template <class Way>
void pass(Way& way, Like<Policy> auto& policy) {
    way.plain(policy.file_system);
    way.list(policy.entries, [&way](auto& entry) { pass(way, entry); });
    way.plain(policy.glob_depth);
    way.plain(policy.network);
    way.plain(policy.has_private_tmp);
    way.plain(policy.keeps_writes);
    way.plain(policy.protects_metadata);
    way.texts(policy.read_only);
    way.plain(policy.reports_writes);
    way.plain(policy.caches);
    way.plain(policy.enforcement);
    way.plain(policy.is_wanted);
}

template <class Way>
void pass(Way& way, Like<os::KnownDirectory> auto& known) {
    way.text(known.name);
    way.text(known.path);
    way.plain(known.device);
    way.plain(known.inode);
}

template <class Way>
void pass(Way& way, Like<Context> auto& context) {
    way.text(context.cwd);
    way.texts(context.workspace_roots);
    way.text(context.tmpdir);
    way.texts(context.hidden);
    way.texts(context.read_only);
    way.text(context.home);
    way.plain(context.looks_afterwards);
    way.list(context.known, [&way](auto& known) { pass(way, known); });
}

template <class Way>
void pass(Way& way, Like<Trouble> auto& trouble) {
    way.text(trouble.mechanism);
    way.text(trouble.step);
    way.text(trouble.advice);
}

template <class Way>
void pass(Way& way, Like<Machine> auto& machine) {
    way.text(machine.bubblewrap);
    way.text(machine.init);
    way.plain(machine.has_mounts);
    way.plain(machine.has_proc);
    way.plain(machine.shares_namespaces);
    way.plain(machine.has_network_namespace);
    way.plain(machine.landlock);
    way.plain(machine.has_filter);
    way.plain(machine.has_notify);
    way.plain(machine.takes_size);
    way.plain(machine.is_root);
    way.plain(machine.broken);
    way.list(machine.troubles, [&way](auto& trouble) { pass(way, trouble); });
}

template <class Way>
void pass(Way& way, Like<os::SpawnRequest> auto& request) {
    way.texts(request.argv);
    bool has_name = request.arg0.has_value();
    way.plain(has_name);
    if (has_name && !request.arg0) {
        if constexpr (std::same_as<Way, PlainReader>) request.arg0.emplace();
    }
    if (has_name) way.text(*request.arg0);
    way.list(request.environment, [&way](auto& variable) {
        way.text(variable.first);
        way.text(variable.second);
    });
    way.text(request.directory);
    way.plain(request.terminal);
    way.list(request.limits, [&way](auto& limit) { way.plain(limit); });
    way.text(request.script);
}

// Places in EncodedStart::passed, or -1.
struct Places {
    std::array<int, 3> stdio = {-1, -1, -1};
    int status = -1;
    int end = -1;
    int lifeline = -1;
    int guarded = -1;
    int walker = -1;
    bool has_namespaces = false;
    int users = -1;
    int mounts = -1;
    int network = -1;
};

// Calls `convert` with each place.
void convert_all(Places& places, const auto& convert) {
    for (int* const place : {&places.stdio[0], &places.stdio[1], &places.stdio[2], &places.status,
                             &places.end, &places.lifeline, &places.guarded, &places.walker,
                             &places.users, &places.mounts, &places.network})
        *place = convert(*place);
}

// Returns false if no order comes in time. Then none can come any more.
bool wait_for_order(int orders) {
    constexpr int longest = 10'000; // milliseconds
    pollfd ready = {orders, POLLIN, 0};
    if (::poll(&ready, 1, longest) == 1) return true;
    (void)::shutdown(orders, SHUT_RD); // from now on the other end cannot send
    return ::poll(&ready, 1, 0) == 1;
}

EncodedStart receive(int orders) {
    if (!wait_for_order(orders)) return {};
    char head = 0;
    iovec part = {&head, sizeof head};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_order_descriptors * sizeof(int))> control =
        {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t size = 0;
    do {
        size = ::recvmsg(orders, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (size < 0 && errno == EINTR);
    const cmsghdr* const rights = size == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return {};
    EncodedStart received;
    received.passed.resize((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(received.passed.data(), CMSG_DATA(rights), received.passed.size() * sizeof(int));
    const UniqueFd bytes(received.passed.front());
    received.passed.erase(received.passed.begin());
    const off_t length = ::lseek(bytes.get(), 0, SEEK_END);
    received.bytes.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    if (::pread(bytes.get(), received.bytes.data(), received.bytes.size(), 0) != length)
        received.bytes.clear();
    return received;
}

} // namespace

EncodedStart encode(const LaunchOrder& launch, const ChildDescriptors& descriptors, pid_t server) {
    Places places = {descriptors.stdio,    descriptors.status, descriptors.end,
                     descriptors.lifeline, launch.guarded,     launch.walker};
    std::uint64_t machine_mounts = 0;
    if (const Namespaces* const given = launch.namespaces) {
        places.has_namespaces = true;
        places.users = given->users.get();
        places.mounts = given->mounts.get();
        places.network = given->network.get();
        machine_mounts = given->machine_mounts;
    }
    EncodedStart start;
    convert_all(places, [&passed = start.passed](int descriptor) {
        if (descriptor < 0) return -1;
        passed.push_back(descriptor);
        return static_cast<int>(passed.size()) - 1;
    });
    PlainWriter writer;
    writer.plain(wire::version);
    writer.plain(server);
    writer.plain(places);
    writer.plain(machine_mounts);
    writer.text(launch.journal);
    pass(writer, launch.request);
    pass(writer, launch.policy);
    pass(writer, launch.context);
    pass(writer, launch.machine);
    start.bytes = writer.take();
    return start;
}

std::unique_ptr<StartOrder> decode_start(const EncodedStart& received) {
    auto start = std::make_unique<StartOrder>();
    LaunchOrder& launch = start->launch;
    Places places;
    std::uint32_t version = 0;
    PlainReader reader(received.bytes);
    reader.plain(version);
    if (version != wire::version) return nullptr;
    reader.plain(start->server);
    reader.plain(places);
    reader.plain(start->namespaces.machine_mounts);
    reader.text(launch.journal);
    pass(reader, launch.request);
    pass(reader, launch.policy);
    pass(reader, launch.context);
    pass(reader, launch.machine);
    bool are_there = reader.is_over();
    convert_all(places, [&](int place) {
        if (place < 0) return -1;
        const auto index = static_cast<std::size_t>(place);
        are_there = are_there && index < received.passed.size();
        return are_there ? received.passed[index] : -1;
    });
    if (!are_there) return nullptr;
    start->descriptors = {places.stdio, places.status, places.end, places.lifeline};
    launch.guarded = places.guarded;
    launch.walker = places.walker;
    if (!places.has_namespaces) return start;
    start->namespaces.users = UniqueFd(places.users);
    start->namespaces.mounts = UniqueFd(places.mounts);
    start->namespaces.network = UniqueFd(places.network);
    launch.namespaces = &start->namespaces;
    return start;
}

std::unique_ptr<StartOrder> receive_start(int orders) {
    return decode_start(receive(orders));
}

} // namespace ew::sandbox
