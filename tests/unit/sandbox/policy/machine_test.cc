#include "sandbox/policy/machine.h"
#include "sandbox/trial/scratch.h"
#include "sandbox/trial/trial_verdict.h"
#include "support/testing.h"

#include <fcntl.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace ew::sandbox;
using enum Guarantee;

namespace {

const GuaranteeSet of_the_file_system = {fs_write,  fs_metadata, protected_paths,
                                         deny_read, private_tmp, kernel_settings};

Machine full() {
    Machine machine;
    machine.bubblewrap = "/usr/bin/bwrap";
    machine.init = "/usr/libexec/execward-init";
    machine.has_mounts = machine.has_proc = machine.has_network_namespace = true;
    machine.landlock = 7;
    machine.has_filter = machine.has_notify = true;
    return machine;
}

Machine landlock_only(int abi) {
    Machine machine = full();
    machine.has_mounts = machine.has_proc = machine.has_network_namespace = false;
    machine.landlock = abi;
    return machine;
}

std::string given(const Machine& machine, Network network = Network::restricted) {
    return names_of(given_by(machine, network));
}

std::string lost(const Machine& machine, Network network = Network::restricted) {
    return names_of(given_by(full(), network) - given_by(machine, network));
}

} // namespace

TEST_CASE("the full rung gives every guarantee") {
    CHECK(given_by(full(), Network::restricted).list().size() == guarantee_count);
    CHECK(rung_of(full()) == "full");
}

TEST_CASE("no machine promises that an enabled network is off") {
    const GuaranteeSet missing =
        given_by(full(), Network::restricted) - given_by(full(), Network::enabled);
    CHECK(names_of(missing) == "netOff");
}

TEST_CASE("without Landlock named pipes are open, since a read-only mount is no obstacle") {
    Machine machine = full();
    machine.landlock = 0;

    CHECK(lost(machine) == "namedPipes");
    CHECK(lost(machine, Network::enabled) == "abstractSockets, namedPipes");
    CHECK(rung_of(machine) == "mounts");
}

TEST_CASE("every version of Landlock keeps named pipes closed, with mounts and without") {
    Machine machine = full();
    machine.landlock = 1;

    CHECK(lost(machine) == "");
    CHECK(means_for(machine, Network::enabled, named_pipes) == "Landlock");
    CHECK(given_by(landlock_only(1), Network::enabled).has(named_pipes));
}

TEST_CASE("without a /proc of its own other processes are seen, and no more is lost") {
    Machine machine = full();
    machine.has_proc = false;

    CHECK(lost(machine) == "procHidden");
    CHECK(rung_of(machine) == "mounts");
}

TEST_CASE("without a network namespace the filter keeps the network off") {
    Machine machine = full();
    machine.has_network_namespace = false;

    CHECK(lost(machine) == "");

    machine.landlock = 5; // without scopes
    CHECK(lost(machine) == "abstractSockets");

    machine.has_filter = machine.has_notify = false;
    CHECK(lost(machine) == "netOff, abstractSockets, socketFiles, systemCalls");
}

TEST_CASE("without notifications socket files are open, since a read-only mount is no obstacle") {
    Machine machine = full();
    machine.has_notify = false;

    CHECK(lost(machine) == "socketFiles");
    CHECK(rung_of(machine) == "mounts");
}

TEST_CASE("Landlock alone never claims what it does not mediate") {
    const Machine machine = landlock_only(7);

    CHECK(given(machine) == "fsWrite, kernelSettings, signals, netOff, abstractSockets, "
                            "socketFiles, namedPipes, systemCalls");
    CHECK(given(machine, Network::enabled) == "fsWrite, kernelSettings, signals, abstractSockets, "
                                              "socketFiles, namedPipes, systemCalls");
    CHECK(rung_of(machine) == "landlock");
}

TEST_CASE("Landlock without scopes leaves signals and abstract sockets open") {
    Machine machine = landlock_only(5);
    machine.has_notify = false;

    CHECK(given(machine) == "fsWrite, kernelSettings, netOff, namedPipes, systemCalls");
    CHECK(rung_of(machine) == "landlock-old");
}

TEST_CASE("Landlock that lets files be cut short claims no file") {
    CHECK(given(landlock_only(2)) == "netOff, socketFiles, namedPipes, systemCalls");
    CHECK(rung_of(landlock_only(2)) == "none");
    CHECK(rung_of(landlock_only(3)) == "landlock-old");
}

TEST_CASE("a machine with nothing gives nothing") {
    CHECK(given(Machine{}) == "");
    CHECK(rung_of(Machine{}) == "none");
}

TEST_CASE("mounts keep files even where there is neither Landlock nor seccomp") {
    Machine machine = full();
    machine.landlock = 0;
    machine.has_filter = machine.has_notify = false;

    CHECK((of_the_file_system - given_by(machine, Network::restricted)).empty());
    CHECK(lost(machine) == "socketFiles, namedPipes, systemCalls");
    CHECK(rung_of(machine) == "mounts");
}

TEST_CASE("what was seen to be broken is not promised, whatever the mechanism") {
    Machine machine = full();
    machine.broken.add(proc_hidden);

    CHECK(lost(machine) == "procHidden");
    CHECK(means_for(machine, Network::restricted, proc_hidden) == "");
    CHECK(rung_of(machine) == "mounts");
}

TEST_CASE("a promise is told with everything that keeps it") {
    CHECK(means_for(full(), Network::restricted, fs_write) == "mounts, Landlock");
    CHECK(means_for(full(), Network::restricted, net_off) == "network namespace");
    CHECK(means_for(full(), Network::enabled, net_off) == "");
    CHECK(means_for(landlock_only(7), Network::restricted, net_off) == "seccomp");
}

TEST_CASE("means are told for exactly the promises that are given") {
    for (const Machine& machine : {full(), landlock_only(7), landlock_only(3), Machine{}})
        for (const Network network : {Network::restricted, Network::enabled})
            for (std::size_t i = 0; i < guarantee_count; ++i) {
                const auto guarantee = static_cast<Guarantee>(i);
                CHECK(given_by(machine, network).has(guarantee) ==
                      !means_for(machine, network, guarantee).empty());
            }
}

TEST_CASE("a named pipe that could be written is a broken promise only where Landlock is there") {
    Machine machine = full();
    machine.landlock = 0;
    apply_trial_verdict(machine, {{"named_pipes", true, 0}}, Network::restricted);
    CHECK(machine.broken.empty());

    machine = full();
    apply_trial_verdict(machine, {{"named_pipes", true, 0}}, Network::enabled);
    CHECK(machine.broken == GuaranteeSet{named_pipes});
    CHECK(lost(machine) == "namedPipes");
}

TEST_CASE("a trial has a named pipe that could be written but for the sandbox") {
    ew::Result<Scratch> scratch = Scratch::make();
    REQUIRE(scratch);
    for (const Network network : {Network::restricted, Network::enabled}) {
        const std::vector<std::string> arguments = scratch->arguments(network);
        const auto pipe = std::ranges::find_if(
            arguments, [](const std::string& argument) { return argument.starts_with("pipe="); });
        REQUIRE(pipe != arguments.end());
        const ew::UniqueFd writer(
            ::open(pipe->substr(5).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
        CHECK(writer);
    }
}
