#include "base/clock.h"
#include "os/io.h"
#include "sandbox/launch/bubblewrap.h"
#include "sandbox/launch/init_place.h"
#include "sandbox/policy/troubles.h"
#include "sandbox/trial/probe_run.h"
#include "sandbox/trial/scratch.h"
#include "sandbox/trial/trial.h"
#include "sandbox/trial/trial_memory.h"
#include "sandbox/trial/trial_verdict.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace ew;
using namespace ew::sandbox;
using Loss = Diagnosis::Loss;

namespace {

Machine full() {
    Machine machine;
    machine.bubblewrap = "/usr/bin/bwrap";
    machine.init = "/usr/libexec/execward-init";
    machine.has_mounts = machine.has_proc = machine.has_network_namespace = true;
    machine.landlock = 7;
    machine.has_filter = machine.has_notify = true;
    return machine;
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// Encodes the machine and decodes it again.
std::optional<Machine> again(const std::string& text) {
    Result<Machine> decoded = decode_machine(text);
    if (!decoded) return std::nullopt;
    return std::move(*decoded);
}

// Contains a file that passes for execward-init; no sandbox is built with it.
struct Places {
    Places() {
        places.init = directory.write("bin/execward-init", "#!/bin/true\n");
        ::chmod(places.init.c_str(), 0755);
        places.state_directory = directory.path("state/execward");
    }

    // The machine that the trial finds here.
    Machine machine() const {
        Machine machine = full();
        machine.bubblewrap = find_bubblewrap()->path;
        machine.init = find_init(places.init)->path;
        return machine;
    }

    std::string kept() const { return places.state_directory + "/sandbox-trial"; }

    test::TempDirectory directory;
    TrialPlaces places;
};

bool has_bubblewrap() {
    if (find_bubblewrap()) return true;
    MESSAGE("bubblewrap is not installed: skipped");
    return false;
}

std::set<std::string> leftovers() {
    std::set<std::string> found;
    for (const char* const base : {"/tmp", "/var/tmp"})
        for (const auto& entry : std::filesystem::directory_iterator(base))
            if (has(entry.path().filename().string(), "execward-trial-"))
                found.insert(entry.path().string());
    return found;
}

// Another process may remove it, at its own time.
bool goes_away(const std::string& path) {
    constexpr Millis generous{120'000};
    constexpr Millis between_looks{5};
    const TimePoint deadline = clock_now() + generous;
    while (std::filesystem::exists(path)) {
        if (clock_now() > deadline) return false;
        std::this_thread::sleep_for(between_looks);
    }
    return true;
}

// Other trials of this user may run meanwhile; their files vanish by themselves.
bool nothing_is_left_since(const std::set<std::string>& before) {
    return std::ranges::all_of(leftovers(), [&](const std::string& path) {
        return before.contains(path) || goes_away(path);
    });
}

// The files of a trial: the directory, and the file in /tmp if it exists.
std::vector<std::string> places_of(const Scratch& scratch) {
    constexpr std::string_view marker = "tmp=";
    std::vector<std::string> places = {
        std::filesystem::path(scratch.inside()).parent_path().string()};
    for (const std::string& argument : scratch.arguments(Network::restricted))
        if (argument.starts_with(marker)) places.push_back(argument.substr(marker.size()));
    return places;
}

std::vector<std::string> lines_from(int fd) {
    std::string text;
    std::array<char, 4096> block = {};
    while (const std::size_t count = os::read_some(fd, block.data(), block.size()).count)
        text.append(block.data(), count);
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

// Did the time run out, for the trial or for a probe in the sandbox?
bool was_cut_short(const Machine& machine) {
    return std::ranges::any_of(machine.troubles, [](const Trouble& trouble) {
        return has(trouble.step, "it took too long") || has(trouble.step, "ended with wait status");
    });
}

} // namespace

TEST_CASE("a machine reads back from its text as it was") {
    Machine machine = full();
    CHECK(again(encode(machine)) == machine);

    machine.is_root = true;
    machine.has_proc = false;
    machine.broken.add(Guarantee::signals);
    machine.broken.add(Guarantee::deny_read);
    machine.troubles = {{"/proc", "two\nlines \\n and \\", "an advice"}, {"landlock", "", ""}};
    CHECK(again(encode(machine)) == machine);

    CHECK(again(encode(Machine{})) == Machine{});
}

TEST_CASE("a text that is cut short anywhere is no machine") {
    Machine machine = full();
    machine.troubles = {{"a", "b", "c"}};
    const std::string text = encode(machine);

    for (std::size_t size = 0; size < text.size(); ++size)
        CHECK(!again(text.substr(0, size)));
}

TEST_CASE("a text that says what cannot be is no machine") {
    const std::string text = encode(full());
    const auto with = [&](std::string_view from, std::string_view to) {
        std::string changed = text;
        changed.replace(changed.find(from), from.size(), to);
        return again(changed);
    };

    CHECK(with("landlock 7", "landlock 8"));
    CHECK(!with("landlock 7", "landlock -1"));
    CHECK(!with("landlock 7", "landlock 7x"));
    CHECK(!with("landlock 7", "landlock"));
    CHECK(!with("proc 1", "proc 2"));
    CHECK(!with("proc 1\n", ""));
    CHECK(!with("end ", "broken everything\nend "));
    CHECK(!with("/usr/bin/bwrap", ""));
    CHECK(!with("/usr/libexec/execward-init", ""));
    CHECK(!again(text + "more\n"));
}

TEST_CASE("a machine without troubles is remembered") {
    if (!has_bubblewrap()) return;
    const Places scene;
    CHECK(!remembered_trial(scene.places));

    remember_trial(scene.places, scene.machine());

    CHECK(remembered_trial(scene.places) == scene.machine());
    struct stat info = {};
    REQUIRE(::stat(scene.kept().c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK(std::distance(std::filesystem::directory_iterator(scene.places.state_directory),
                        std::filesystem::directory_iterator{}) == 1);
}

TEST_CASE("which programs are executed is never read from a file") {
    if (!has_bubblewrap()) return;
    const Places scene;
    Machine forged = scene.machine();
    forged.bubblewrap = "/var/tmp/bwrap";
    forged.init = "/var/tmp/execward-init";

    remember_trial(scene.places, forged);

    CHECK(remembered_trial(scene.places) == scene.machine());
}

TEST_CASE("a machine with troubles is not remembered, as it may be repaired") {
    if (!has_bubblewrap()) return;
    const Places scene;
    Machine machine = full();
    machine.troubles = {{"landlock", "a", "b"}};

    remember_trial(scene.places, machine);
    CHECK(!remembered_trial(scene.places));

    remember_trial(scene.places, full());
    remember_trial(scene.places, machine);
    CHECK(!remembered_trial(scene.places));
}

TEST_CASE("a machine is forgotten when execward-init is another one") {
    if (!has_bubblewrap()) return;
    const Places scene;
    remember_trial(scene.places, full());

    ::chmod(scene.directory.write("bin/other", "#!/bin/true\n").c_str(), 0755);
    std::filesystem::rename(scene.directory.path("bin/other"), scene.places.init);

    CHECK(!remembered_trial(scene.places));
}

TEST_CASE("what somebody else could have written is not believed") {
    if (!has_bubblewrap()) return;
    const Places scene;
    const auto changed_back = [&](const std::string& path, mode_t mode, mode_t back) {
        ::chmod(path.c_str(), mode);
        const bool is_remembered = remembered_trial(scene.places).has_value();
        ::chmod(path.c_str(), back);
        return is_remembered;
    };
    remember_trial(scene.places, full());

    CHECK(!changed_back(scene.kept(), 0660, 0600));
    CHECK(!changed_back(scene.places.state_directory, 0777, 0700));
    CHECK(remembered_trial(scene.places));

    std::filesystem::rename(scene.kept(), scene.kept() + ".moved");
    std::filesystem::create_symlink(scene.kept() + ".moved", scene.kept());
    CHECK(!remembered_trial(scene.places));
}

TEST_CASE("a damaged memory is none, and is written anew") {
    if (!has_bubblewrap()) return;
    const Places scene;
    remember_trial(scene.places, full());
    const std::string text = scene.directory.read("state/execward/sandbox-trial");

    for (const std::string& damaged : {std::string(), text.substr(0, text.size() - 1), "x" + text,
                                       text + text, std::string(1 << 20, 'x')}) {
        scene.directory.write("state/execward/sandbox-trial", damaged);
        CHECK(!remembered_trial(scene.places));
    }
    remember_trial(scene.places, full());
    CHECK(remembered_trial(scene.places));
}

TEST_CASE("without a state directory nothing is remembered and nothing fails") {
    TrialPlaces places;

    remember_trial(places, full());

    CHECK(!remembered_trial(places));
}

TEST_CASE("what bubblewrap says is recognised") {
    struct Case {
        std::string_view said;
        Loss loss;
        std::string_view mechanism;
    };

    for (const Case& one : {
             Case{"bwrap: setting up uid map: Permission denied", Loss::mounts, "user namespaces"},
             Case{"bwrap: No permissions to create new namespace, likely because the kernel does "
                  "not allow non-privileged user namespaces.",
                  Loss::mounts, "user namespaces"},
             Case{"bwrap: Creating new namespace failed: Operation not permitted", Loss::mounts,
                  "user namespaces"},
             Case{"bwrap: Failed to make / slave: Permission denied", Loss::mounts,
                  "user namespaces"},
             Case{"bwrap: Can't mount proc on /newroot/proc: Operation not permitted", Loss::proc,
                  "/proc"},
             Case{"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
                  Loss::network_namespace, "network namespace"},
             Case{"bwrap: Unknown option --as-pid-1", Loss::mounts, "bubblewrap"},
             Case{"the command was not run: enforcing Landlock failed: Function not implemented",
                  Loss::landlock, "landlock"},
             Case{"the command was not run: installing the system call filter failed: x",
                  Loss::filter, "seccomp"},
             Case{"the command was not run: reading its order failed: Bad message",
                  Loss::everything, "execward-init"},
         }) {
        INFO(one.said);
        const std::optional<Diagnosis> diagnosis = diagnose(one.said, {});
        REQUIRE(diagnosis);
        CHECK(diagnosis->loss == one.loss);
        CHECK(diagnosis->trouble.mechanism == one.mechanism);
        CHECK(diagnosis->trouble.step == one.said);
        CHECK(!diagnosis->trouble.advice.empty());
    }
    CHECK(!diagnose("bwrap: something new", {}));
}

TEST_CASE("the advice fits what is known of the machine") {
    const std::string_view said = "bwrap: setting up uid map: Permission denied";
    const auto advice = [&](const Surroundings& around) {
        return diagnose(said, around)->trouble.advice;
    };
    Surroundings ubuntu;
    ubuntu.restricts_namespaces = true;
    Surroundings debian;
    debian.forbids_namespaces = true;
    Surroundings none;
    none.has_no_namespaces = true;
    Surroundings docker;
    docker.is_filtered = docker.is_root = true;
    Surroundings root;
    root.is_root = true;

    CHECK(has(advice(ubuntu), "bwrap-userns-restrict"));
    CHECK(!has(advice(ubuntu), "sysctl"));
    CHECK(has(advice(debian), "kernel.unprivileged_userns_clone"));
    CHECK(has(advice(none), "user.max_user_namespaces"));
    CHECK(has(advice(docker), "seccomp"));
    CHECK(has(advice(root), "CAP_SETFCAP"));
    CHECK(has(diagnose("Creating new namespace failed: nesting depth or "
                       "/proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
                       {})
                  ->trouble.advice,
              "user.max_user_namespaces"));
}

TEST_CASE("Landlock that was not switched on at boot is told apart from one that is not there") {
    CHECK(has(landlock_trouble(EOPNOTSUPP, {}).advice, "lsm="));
    CHECK(has(landlock_trouble(ENOSYS, {}).advice, "kernel"));
    Surroundings docker;
    docker.is_filtered = true;
    CHECK(has(landlock_trouble(EPERM, docker).advice, "seccomp profile"));
}

TEST_CASE("findings are read from what was printed, and nothing else is") {
    const std::vector<Finding> findings = findings_in("fs_write held 30\nsignals ok 0\nnoise\n"
                                                      "a b c\nx held \ny held 1x\nfs_metadata he");

    CHECK(findings == std::vector<Finding>{{"fs_write", false, 30}, {"signals", true, 0}});
}

TEST_CASE("what went through although it was promised is promised no more") {
    Machine machine = full();

    apply_trial_verdict(machine,
                        {{"fs_write", false, 30}, {"signals", true, 0}, {"works_write", true, 0}},
                        Network::restricted);

    CHECK(machine.broken == GuaranteeSet{Guarantee::signals});
    CHECK(!given_by(machine, Network::restricted).has(Guarantee::signals));
    REQUIRE(machine.troubles.size() == 1);
    CHECK(has(machine.troubles[0].step, "signalling another process went through"));
}

TEST_CASE("what was never promised may go through") {
    Machine machine = full();
    machine.has_mounts = machine.has_proc = machine.has_network_namespace = false;

    apply_trial_verdict(machine, {{"proc_hidden", true, 0}, {"fs_metadata", true, 0}},
                        Network::restricted);

    CHECK(machine.broken.empty());
    CHECK(machine.troubles.empty());
}

TEST_CASE("a trial without execward-init promises nothing and says so") {
    const test::TempDirectory directory;
    TrialPlaces places;
    places.init = directory.path("execward-init");

    const Machine machine = run_trial(places);

    CHECK(rung_of(machine) == "none");
    CHECK(given_by(machine, Network::restricted).empty());
    REQUIRE(!machine.troubles.empty());
    CHECK(machine.troubles[0].mechanism == "execward-init");
}

TEST_CASE("a program that only passes for execward-init promises nothing") {
    const Places scene;

    const Machine machine = run_trial(scene.places);

    CHECK(given_by(machine, Network::restricted).empty());
    CHECK(!machine.troubles.empty());
}

TEST_CASE("what a killed trial left is removed when it is old") {
    const std::string old = "/var/tmp/execward-trial-old" + std::to_string(::getpid());
    const std::string fresh = "/var/tmp/execward-trial-new" + std::to_string(::getpid());
    std::error_code error;
    std::filesystem::create_directories(old + "/inside/.git", error);
    std::filesystem::create_directories(fresh, error);
    if (error) {
        MESSAGE("/var/tmp is not writable: skipped");
        return;
    }
    const timespec long_ago[2] = {{1'700'000'000, 0}, {1'700'000'000, 0}};
    REQUIRE(::utimensat(AT_FDCWD, old.c_str(), long_ago, 0) == 0);

    Scratch::sweep();

    CHECK(!std::filesystem::exists(old));
    CHECK(std::filesystem::exists(fresh));
    std::filesystem::remove(fresh);
}

TEST_CASE("a trial that is killed leaves nothing behind") {
    os::Pipe pipe = std::move(*os::make_pipe());
    const pid_t test = ::getpid();
    const pid_t trial = ::fork();
    if (trial == 0) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != test) ::_exit(1);
        Result<Scratch> scratch = Scratch::make();
        for (const std::string& path : scratch ? places_of(*scratch) : std::vector<std::string>())
            (void)os::write_all(pipe.write.get(), path + "\n");
        pipe.write.reset();
        for (;;)
            ::pause();
    }
    pipe.write.reset();
    const std::vector<std::string> paths = lines_from(pipe.read.get());
    CHECK(!paths.empty());
    for (const std::string& path : paths)
        CHECK(std::filesystem::exists(path));

    ::kill(trial, SIGKILL);
    ::waitpid(trial, nullptr, 0);

    for (const std::string& path : paths)
        CHECK(goes_away(path));
}

TEST_CASE("a run of the probes whose time is up is ended and leaves no process") {
    const std::string init = init_place();
    if (!has_bubblewrap() || !find_init(init)) {
        MESSAGE("there is no ", init, ": skipped");
        return;
    }
    Machine machine = full();
    machine.bubblewrap = find_bubblewrap()->path;
    machine.init = init;
    Result<Scratch> scratch = Scratch::make();
    REQUIRE(scratch);

    const ProbeRun late = run_probes(machine, *scratch, Network::restricted, clock_now());

    CHECK(late.failure == "it took too long");
}

TEST_CASE("a trial of this machine finds what it can enforce and leaves nothing behind") {
    TrialPlaces places;
    places.init = init_place();
    if (!find_init(places.init)) {
        MESSAGE("there is no ", places.init, ": skipped");
        return;
    }
    const std::set<std::string> before = leftovers();

    Machine machine = run_trial(places);
    for (int tries = 1; tries < 5 && was_cut_short(machine); ++tries)
        machine = run_trial(places); // on a busy machine its time may not be enough

    CHECK(nothing_is_left_since(before));
    for (const Trouble& trouble : machine.troubles)
        MESSAGE(trouble.mechanism, ": ", trouble.step);
    CHECK(machine.broken.empty());
    CHECK(given_by(machine, Network::restricted).has(Guarantee::system_calls));
    CHECK(again(encode(machine)) == machine);
}
