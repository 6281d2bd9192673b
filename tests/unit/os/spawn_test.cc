#include "os/io.h"
#include "os/spawn.h"
#include "support/testing.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using ew::os::PendingStart;
using ew::os::SpawnRequest;
using ew::os::StartFailure;
using ew::os::StartStep;

namespace {

SpawnRequest shell(const std::string& script) {
    SpawnRequest request;
    request.argv = {"/bin/sh", "-c", script};
    request.environment = {{"PATH", "/usr/bin:/bin"}};
    request.directory = "/";
    return request;
}

void wait_until_readable(int fd) {
    pollfd poll_fd = {fd, POLLIN, 0};
    constexpr int patience_ms = 120'000;
    REQUIRE(::poll(&poll_fd, 1, patience_ms) == 1);
}

std::unique_ptr<PendingStart> begun(const SpawnRequest& request) {
    ew::Result<std::unique_ptr<PendingStart>> start = PendingStart::begin(request, ::getpid());
    if (!start) FAIL(start.error().message);
    return std::move(*start);
}

StartFailure outcome_of(PendingStart& start) {
    for (;;) {
        wait_until_readable(start.report());
        if (const std::optional<StartFailure> failure = start.outcome()) return *failure;
    }
}

std::string read_all(int fd) {
    std::string all;
    for (;;) {
        wait_until_readable(fd);
        std::array<char, 4096> block = {};
        const ew::os::IoResult result = ew::os::read_some(fd, block.data(), block.size());
        if (result.state == ew::os::IoState::end) return all;
        all.append(block.data(), result.count);
    }
}

struct Ran {
    StartFailure failure = {};
    std::string output = {};
    std::string errors = {};
    int status = -1; // as waitpid(2) gives it
};

Ran run(const SpawnRequest& request, std::string_view input = {}) {
    const std::unique_ptr<PendingStart> start = begun(request);
    Ran ran;
    ran.failure = outcome_of(*start);
    ew::os::Spawned& spawned = start->spawned();
    if (spawned.input) (void)ew::os::write_some(spawned.input.get(), input); // short enough
    spawned.input.reset();
    ran.output = read_all(spawned.output.get());
    if (spawned.error) ran.errors = read_all(spawned.error.get());
    REQUIRE(::waitpid(spawned.pid, &ran.status, 0) == spawned.pid);
    return ran;
}

std::string output_of(const SpawnRequest& request, std::string_view input = {}) {
    return run(request, input).output;
}

ew::Error failure_of(const SpawnRequest& request) {
    const Ran ran = run(request);
    REQUIRE(ran.failure.step != StartStep::none);
    CHECK(WEXITSTATUS(ran.status) == 127);
    return ew::os::describe(ran.failure, request);
}

class TempDir {
public:
    TempDir() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }

    ~TempDir() { std::filesystem::remove_all(path_); }

    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    const std::string& path() const { return path_; }

    void add_file(const std::string& name, std::string_view content, mode_t mode) const {
        std::ofstream(path_ + "/" + name) << content;
        ::chmod((path_ + "/" + name).c_str(), mode);
    }

private:
    std::string path_ = "/tmp/execward-spawn-XXXXXX";
};

} // namespace

TEST_SUITE_BEGIN("os/spawn");

TEST_CASE("a program runs with its arguments, its directory and its two outputs") {
    SpawnRequest request = shell("pwd; echo \"$0 $1\"; echo e >&2; exit 3");
    request.argv.insert(request.argv.end(), {"zero", "a b"});
    request.directory = "/usr";

    const Ran ran = run(request);

    CHECK(ran.failure.step == StartStep::none);
    CHECK(ran.output == "/usr\nzero a b\n");
    CHECK(ran.errors == "e\n");
    CHECK(WEXITSTATUS(ran.status) == 3);
}

TEST_CASE("the environment is the one given and nothing else") {
    SpawnRequest request;
    request.argv = {"/usr/bin/env"};
    request.environment = {{"B", "2"}, {"A", ""}};
    request.directory = "/";

    CHECK(output_of(request) == "B=2\nA=\n");
}

TEST_CASE("a program may be told another name than its own") {
    SpawnRequest request;
    request.argv = {"/bin/sh", "-c", "cat /proc/$$/cmdline | tr '\\0' ' '"};
    request.environment = {{"PATH", "/usr/bin:/bin"}};
    request.arg0 = "-login";
    request.directory = "/";

    CHECK(output_of(request).substr(0, 7) == "-login ");
}

TEST_CASE("stdin is a pipe when asked for, and empty otherwise") {
    SpawnRequest request = shell("cat");
    CHECK(output_of(request).empty());

    request.pipe_stdin = true;
    CHECK(output_of(request, "typed") == "typed");
}

TEST_CASE("an empty stdin is the null device, and the outputs of a program block") {
    CHECK(output_of(shell("readlink /proc/$$/fd/0")) == "/dev/null\n");
    const std::string output = output_of(
        shell("for fd in 1 2; do while read name value; do "
              "[ $name = flags: ] && echo $((value & 04003)); done < /proc/$$/fdinfo/$fd; done"));
    CHECK(output == "1\n1\n"); // O_WRONLY, without O_NONBLOCK
}

TEST_CASE("with a terminal it is the controlling one, of the size asked for") {
    SpawnRequest request =
        shell("stty size < /dev/tty; test -t 0 && test -t 1 && test -t 2 && echo all");
    request.terminal = ew::os::WindowSize{33, 99};

    CHECK(output_of(request) == "33 99\r\nall\r\n");
}

TEST_CASE("the program leads a session and a process group of its own") {
    const std::string output = output_of(shell("cut -d' ' -f1,5,6 /proc/$$/stat"));

    const std::size_t blank = output.find(' ');
    const std::string pid = output.substr(0, blank);
    CHECK(output == pid + " " + pid + " " + pid + "\n");
}

TEST_CASE("no descriptor of ours reaches the program, and no signal is blocked") {
    CHECK(output_of(shell("ls /proc/self/fd | wc -l")) == "4\n"); // the fourth is that of ls itself
    CHECK(output_of(shell("grep -E 'SigBlk|SigIgn' /proc/self/status")) ==
          "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("resource limits hold for the program") {
    SpawnRequest request = shell("ulimit -n; ulimit -c");
    request.limits = {{RLIMIT_NOFILE, {77, 77}}, {RLIMIT_CORE, {0, 0}}};

    CHECK(output_of(request) == "77\n0\n");
}

TEST_CASE("a name without a slash is looked for in PATH of the program's own environment") {
    const TempDir directory;
    directory.add_file("tool", "#!/bin/sh\necho found\n", 0755);
    SpawnRequest request;
    request.argv = {"tool"};
    request.environment = {{"PATH", "/nowhere:" + directory.path()}};
    request.directory = "/";

    CHECK(output_of(request) == "found\n");
}

TEST_CASE("an empty place of PATH is the working directory") {
    const TempDir directory;
    directory.add_file("tool", "#!/bin/sh\necho found\n", 0755);
    SpawnRequest request;
    request.argv = {"tool"};
    request.environment = {{"PATH", "/nowhere:"}};
    request.directory = directory.path();

    CHECK(output_of(request) == "found\n");
}

TEST_CASE("without PATH the places of execvp are looked at") {
    SpawnRequest request;
    request.argv = {"echo", "hi"};
    request.directory = "/";

    CHECK(output_of(request) == "hi\n");
}

TEST_CASE("a script without an interpreter line is run by the shell, arguments included") {
    const TempDir directory;
    directory.add_file("script", "echo \"got $1\"\n", 0755);
    SpawnRequest request;
    request.argv = {directory.path() + "/script", "x"};
    request.directory = "/";

    CHECK(output_of(request) == "got x\n");
}

TEST_CASE("a missing program is an error of its own that says where was looked") {
    SpawnRequest request;
    request.argv = {"no-such-tool"};
    request.environment = {{"PATH", "/usr/bin"}};
    request.directory = "/";

    const ew::Error error = failure_of(request);

    CHECK(error.kind == ew::ErrorKind::spawn_not_found);
    CHECK(error.message == "cannot start 'no-such-tool': not found in PATH '/usr/bin'");
    CHECK(error.path == "argv[0]");
}

TEST_CASE("a missing path and a missing interpreter are the same error") {
    const TempDir directory;
    directory.add_file("script", "#!/nowhere/interpreter\n", 0755);
    for (const std::string& program : {directory.path() + "/none", directory.path() + "/script"}) {
        SpawnRequest request;
        request.argv = {program};
        request.directory = "/";
        CHECK(failure_of(request).kind == ew::ErrorKind::spawn_not_found);
    }
}

TEST_CASE("an empty name of a program is not found") {
    SpawnRequest request;
    request.argv = {""};
    request.directory = "/";

    CHECK(failure_of(request).kind == ew::ErrorKind::spawn_not_found);
}

TEST_CASE("a program that may not be executed names step and reason") {
    const TempDir directory;
    directory.add_file("data", "x", 0644);
    SpawnRequest request;
    request.argv = {directory.path() + "/data"};
    request.directory = "/";

    const ew::Error error = failure_of(request);

    CHECK(error.kind == ew::ErrorKind::spawn_failed);
    CHECK(error.message ==
          "cannot start '" + directory.path() + "/data': executing it failed: Permission denied");
}

TEST_CASE("one that may not be executed is remembered when no other place of PATH has it") {
    const TempDir directory;
    directory.add_file("tool", "x", 0644);
    SpawnRequest request;
    request.argv = {"tool"};
    request.environment = {{"PATH", directory.path() + ":/nowhere"}};
    request.directory = "/";

    CHECK(failure_of(request).message.find("Permission denied") != std::string::npos);
}

TEST_CASE("a missing working directory is named") {
    SpawnRequest request = shell("true");
    request.directory = "/no/such/directory";

    const ew::Error error = failure_of(request);

    CHECK(error.kind == ew::ErrorKind::spawn_not_found);
    CHECK(error.path == "cwd");
    CHECK(error.message ==
          "cannot start '/bin/sh': working directory '/no/such/directory': No such "
          "file or directory");
}

TEST_CASE("a resource limit that cannot be set names the step") {
    SpawnRequest request = shell("true");
    request.limits = {{RLIMIT_NOFILE, {10, 5}}}; // soft above hard

    CHECK(failure_of(request).message ==
          "cannot start '/bin/sh': setting its resource limits failed: Invalid argument");
}

TEST_CASE("arguments that are too long name step and reason") {
    SpawnRequest request = shell("true");
    request.argv.push_back(std::string(1 << 20, 'x'));

    CHECK(failure_of(request).message ==
          "cannot start '/bin/sh': executing it failed: Argument list too long");
}

TEST_CASE("what no program can be given is refused before anything is started") {
    const std::string nul(1, '\0');
    std::vector<SpawnRequest> requests(6, shell("true"));
    requests[0].argv.push_back(nul);
    requests[1].arg0 = nul;
    requests[2].environment.emplace_back("A", nul);
    requests[3].environment.emplace_back("A" + nul, "");
    requests[4].environment.emplace_back("", "x");
    requests[5].environment.emplace_back("A=B", "x");

    for (const SpawnRequest& request : requests) {
        ew::Result<std::unique_ptr<PendingStart>> start = PendingStart::begin(request, ::getpid());
        REQUIRE_FALSE(start);
        CHECK(start.error().kind == ew::ErrorKind::spawn_failed);
    }
}

TEST_CASE("a start is over once, and keeps its outcome") {
    const std::unique_ptr<PendingStart> start = begun(shell("true"));
    CHECK(outcome_of(*start).step == StartStep::none);

    CHECK(start->is_over());
    CHECK(start->outcome()->step == StartStep::none);
    ::waitpid(start->spawned().pid, nullptr, 0);
}

TEST_CASE("our ends of the descriptors do not block") {
    SpawnRequest request = shell("read line");
    request.pipe_stdin = true;
    const std::unique_ptr<PendingStart> start = begun(request);
    CHECK(outcome_of(*start).step == StartStep::none);
    std::array<char, 8> block = {};

    CHECK(ew::os::read_some(start->spawned().output.get(), block.data(), 8).state ==
          ew::os::IoState::would_block);

    start->spawned().input.reset();
    ::waitpid(start->spawned().pid, nullptr, 0);
}

TEST_CASE("many starts at once do not get in each other's way") {
    std::vector<std::unique_ptr<PendingStart>> starts;
    for (int i = 0; i < 20; ++i)
        starts.push_back(begun(shell("echo " + std::to_string(i))));

    for (int i = 0; i < 20; ++i) {
        PendingStart& start = *starts[static_cast<std::size_t>(i)];
        CHECK(outcome_of(start).step == StartStep::none);
        CHECK(read_all(start.spawned().output.get()) == std::to_string(i) + "\n");
        ::waitpid(start.spawned().pid, nullptr, 0);
    }
}

TEST_SUITE_END();
