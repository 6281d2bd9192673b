#include "sandbox/launch/start_order.h"
#include "support/testing.h"

#include <fcntl.h>

#include <string>

using ew::UniqueFd;
using namespace ew::sandbox;

namespace {

// Its number is above those of the other descriptors here, which are mere numbers.
UniqueFd descriptor() {
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return UniqueFd(::fcntl(nothing.get(), F_DUPFD_CLOEXEC, 30));
}

// Nothing is as it is by default.
LaunchOrder full_order() {
    LaunchOrder order;
    order.request.argv = {"make", "-j", ""};
    order.request.arg0 = "other";
    order.request.environment = {{"PATH", "/bin"}, {"EMPTY", ""}};
    order.request.directory = "/work";
    order.request.terminal = ew::os::WindowSize{50, 132};
    order.request.limits = {{RLIMIT_CPU, {1, 2}}};
    order.request.script = std::string("a\0b", 3);
    order.policy = {FileSystem::external,
                    {{Entry::Kind::special, "below", Special::tmpdir, Access::deny, true, true}},
                    7,
                    Network::enabled,
                    true,
                    true,
                    false,
                    {".envrc"},
                    true,
                    Caches::of_command,
                    Enforcement::best_effort,
                    true};
    order.context = {"/work",  {"/work", "/other"}, "/tmp/x", {"/state"},
                     {"/own"}, "/home/ada",         true,     {{"/name", "/path", 1, 2}}};
    order.machine = {"/usr/bin/bwrap",
                     "/usr/libexec/execward-init",
                     true,
                     true,
                     true,
                     true,
                     6,
                     true,
                     true,
                     true,
                     true,
                     {Guarantee::signals},
                     {{"landlock", "step", "advice"}}};
    order.journal = "/state/placeholders";
    return order;
}

} // namespace

TEST_CASE("an order arrives as it was, with its descriptors") {
    LaunchOrder order = full_order();
    Namespaces namespaces = {descriptor(), descriptor(), descriptor(), 17};
    const UniqueFd guarded = descriptor();
    order.namespaces = &namespaces;
    order.guarded = guarded.get();
    const ChildDescriptors descriptors = {{20, 20, 21}, 22, 23, 24};
    EncodedStart encoded = encode(order, descriptors, 99);
    for (int& number : encoded.passed)
        if (number > 24) number = ::fcntl(number, F_DUPFD_CLOEXEC, 100); // as in another process
    const auto start = decode_start(encoded);
    REQUIRE(start != nullptr);
    CHECK(start->server == 99);
    CHECK(start->descriptors.stdio == descriptors.stdio);
    CHECK(start->descriptors.status == 22);
    CHECK(start->descriptors.end == 23);
    CHECK(start->descriptors.lifeline == 24);
    const UniqueFd received_guarded(start->launch.guarded);
    CHECK(start->launch.guarded >= 100);
    REQUIRE(start->launch.namespaces == &start->namespaces);
    CHECK(start->namespaces.users.get() >= 100);
    CHECK(start->namespaces.mounts.get() > start->namespaces.users.get());
    CHECK(start->namespaces.network.get() > start->namespaces.mounts.get());
    CHECK(start->namespaces.machine_mounts == 17);
    CHECK(start->launch.journal == order.journal);
    CHECK(start->launch.policy == order.policy);
    CHECK(start->launch.machine == order.machine);
    CHECK(start->launch.context.cwd == order.context.cwd);
    CHECK(start->launch.context.workspace_roots == order.context.workspace_roots);
    CHECK(start->launch.context.tmpdir == order.context.tmpdir);
    CHECK(start->launch.context.hidden == order.context.hidden);
    CHECK(start->launch.context.read_only == order.context.read_only);
    CHECK(start->launch.context.home == order.context.home);
    CHECK(start->launch.context.looks_afterwards);
    CHECK(start->launch.context.known == order.context.known);
    const ew::os::SpawnRequest& request = start->launch.request;
    CHECK(request.argv == order.request.argv);
    CHECK(request.arg0 == order.request.arg0);
    CHECK(request.environment == order.request.environment);
    CHECK(request.directory == order.request.directory);
    CHECK(request.terminal.has_value());
    REQUIRE(request.limits.size() == 1);
    CHECK(request.limits[0].resource == RLIMIT_CPU);
    CHECK(request.limits[0].limit.rlim_max == 2);
    CHECK(request.script == order.request.script);
}

TEST_CASE("an order that is cut off, or lacks a descriptor, is none") {
    LaunchOrder order = full_order();
    const EncodedStart start = encode(order, {{20, 20, 21}, 22, 23, 24}, 99);
    for (std::size_t size = 0; size < start.bytes.size(); ++size)
        CHECK(decode_start({start.bytes.substr(0, size), start.passed}) == nullptr);
    CHECK(decode_start({start.bytes + "x", start.passed}) == nullptr);
    CHECK(decode_start({start.bytes, {20, 20, 21}}) == nullptr);
    CHECK(decode_start(start) != nullptr);
}
