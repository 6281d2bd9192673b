#include "os/proc.h"
#include "sandbox/supervise/refusals.h"
#include "sandbox/supervise/socket_file.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/sandbox/supervise/confined_child.h"

#include <grp.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

namespace {

using namespace ew;
using namespace ew::test;
using sandbox::CallErrands;
using sandbox::DenialKind;
using sandbox::SupervisorSettings;

// "open" may be written, "closed" may not; the machine has a listener in each.
class Places {
public:
    Places() {
        directory_.make("open");
        directory_.make("closed");
        allowed_ = listen_at(unix_address(allowed_path()));
        forbidden_ = listen_at(unix_address(forbidden_path()));
        REQUIRE(allowed_);
        REQUIRE(forbidden_);
    }

    std::string path(std::string_view name) const { return directory_.path(name); }

    std::string allowed_path() const { return path("open/s"); }

    std::string forbidden_path() const { return path("closed/s"); }

    const UniqueFd& allowed() const { return allowed_; }

    const UniqueFd& forbidden() const { return forbidden_; }

    SupervisorSettings settings() const {
        SupervisorSettings settings;
        settings.has_mounts = false;
        settings.writable = {path("open")};
        return settings;
    }

    TempDirectory& directory() { return directory_; }

private:
    TempDirectory directory_;
    UniqueFd allowed_;
    UniqueFd forbidden_;
};

std::string directory_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

const sandbox::Denial& only_denial(ConfinedChild& child) {
    REQUIRE(child.supervisor().denials().kept().size() == 1);
    return child.supervisor().denials().kept().front();
}

// Makes a socket with a full queue, at which the next connect waits.
UniqueFd full_listener(const std::string& path, std::vector<UniqueFd>& visitors) {
    UniqueFd server = listen_at(unix_address(path), 0);
    for (int i = 0; i < 8; ++i) {
        visitors.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (connect_to(visitors.back().get(), unix_address(path)) == EAGAIN) return server;
    }
    return {};
}

} // namespace

TEST_CASE("a socket file in a writable place is connected to, and bytes flow") {
    const Places places;
    ConfinedChild child(places.settings(), [&] {
        const UniqueFd fd = new_socket(AF_UNIX);
        const int error = connect_to(fd.get(), unix_address(places.allowed_path()));
        (void)!::write(fd.get(), "hello", 5);
        return in_words(error);
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "connected");

    const UniqueFd visitor(::accept(places.allowed().get(), nullptr, nullptr));
    std::array<char, 8> bytes = {};
    CHECK(::read(visitor.get(), bytes.data(), bytes.size()) == 5);
    ucred who = {};
    socklen_t size = sizeof who;
    REQUIRE(::getsockopt(visitor.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0);
    CHECK(who.uid == ::getuid());
    CHECK(child.supervisor().denials().total() == 0);
}

TEST_CASE("a socket file elsewhere is refused and named") {
    const Places places;
    ConfinedChild child(places.settings(),
                        [&] { return in_words(try_file(places.forbidden_path())); });
    REQUIRE(child.is_running());

    CHECK(child.result() == "EACCES");

    const sandbox::Denial& denial = only_denial(child);
    CHECK(denial.kind == DenialKind::socket);
    CHECK(denial.target == places.forbidden_path());
    CHECK(denial.pid == child.pid());
    CHECK(denial.program == *os::real_path("/proc/self/exe"));
    CHECK(denial.allow.find(directory_of(places.forbidden_path())) != std::string::npos);
    CHECK(!has_visitor(places.forbidden()));
}

TEST_CASE("relative paths are those of the caller") {
    const Places places;
    ConfinedChild child(places.settings(), [&] {
        (void)::chdir(places.path("open").c_str());
        return in_words(try_file("s")) + " " + in_words(try_file("./s")) + " " +
               in_words(try_file("../open/s")) + " " + in_words(try_file("../closed/s"));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "connected connected connected EACCES");
    CHECK(only_denial(child).target == places.forbidden_path());
}

TEST_CASE("a name that begins in a writable place is refused if it leads out of it") {
    const Places places;
    std::filesystem::create_symlink("../closed/s", places.path("open/link"));
    std::filesystem::create_directory_symlink(places.path("closed"), places.path("open/dir"));
    std::filesystem::create_symlink(places.allowed_path(), places.path("closed/back"));
    ConfinedChild child(places.settings(), [&] {
        return in_words(try_file(places.path("open/link"))) + " " +
               in_words(try_file(places.path("open/dir/s"))) + " " +
               in_words(try_file(places.path("open/../closed/s"))) + " " +
               in_words(try_file(places.path("closed/back")));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "EACCES EACCES EACCES connected");
    CHECK(only_denial(child).target == places.forbidden_path());
    CHECK(only_denial(child).count == 3);
    CHECK(!has_visitor(places.forbidden()));
}

TEST_CASE("a directory whose name only begins like a writable one is not writable") {
    Places places;
    places.directory().make("opener");
    const UniqueFd server = listen_at(unix_address(places.path("opener/s")));
    ConfinedChild child(places.settings(),
                        [&] { return in_words(try_file(places.path("opener/s"))); });
    REQUIRE(child.is_running());

    CHECK(child.result() == "EACCES");
}

TEST_CASE("paths of /proc that would mean another process are refused") {
    const Places places;
    ConfinedChild child(places.settings(), [&] {
        const UniqueFd open(::open(places.path("open").c_str(), O_PATH | O_CLOEXEC));
        const std::string by_number = "/proc/self/fd/" + std::to_string(open.get()) + "/s";
        return in_words(try_file(by_number)) + " " + in_words(try_file("/proc/self/root/x")) + " " +
               in_words(try_file("/proc/" + std::to_string(::getpid()) + "/root" +
                                 places.forbidden_path()));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "EACCES EACCES EACCES");
    CHECK(!has_visitor(places.forbidden()));
}

TEST_CASE("what is no listening socket is answered as the kernel does") {
    Places places;
    places.directory().write("open/file", "text");
    { const UniqueFd gone = listen_at(unix_address(places.path("open/old"))); }
    ConfinedChild child(places.settings(), [&] {
        const UniqueFd twice = new_socket(AF_UNIX);
        (void)connect_to(twice.get(), unix_address(places.allowed_path()));
        const UniqueFd datagram = new_socket(AF_UNIX, SOCK_DGRAM);
        return in_words(try_file(places.path("open/file"))) + " " +
               in_words(try_file(places.path("open/none"))) + " " +
               in_words(try_file(places.path("open/file/none"))) + " " +
               in_words(try_file(places.path("open/old"))) + " " +
               in_words(connect_to(twice.get(), unix_address(places.allowed_path()))) + " " +
               in_words(connect_to(datagram.get(), unix_address(places.allowed_path())));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "ECONNREFUSED ENOENT ENOTDIR ECONNREFUSED EISCONN EPROTOTYPE");
    CHECK(child.supervisor().denials().total() == 0);
}

TEST_CASE("a path that fills the address is read to its end") {
    Places places;
    const std::size_t fitting = sizeof(sockaddr_un::sun_path);
    const std::string start = places.path("open/");
    const std::string path = start + std::string(fitting - start.size(), 'x');
    const UniqueFd server = listen_at(unix_address(path));
    REQUIRE(server);
    ConfinedChild child(places.settings(), [&] {
        return in_words(try_file(path)) + " " +
               in_words(try_file(path.substr(0, fitting - 1) + std::string(1, '\0')));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "connected ENOENT");
}

TEST_CASE("a writable mount is what counts where there are mounts") {
    const Places places;
    SupervisorSettings settings = places.settings();
    settings.has_mounts = true;
    settings.writable = {};
    const auto mount_closed = [&] {
        if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            return false;
        const std::string closed = places.path("closed");
        if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
        if (::mount(closed.c_str(), closed.c_str(), nullptr, MS_BIND, nullptr) != 0) return false;
        return ::mount("none", closed.c_str(), nullptr,
                       MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) == 0;
    };
    ConfinedChild child(
        settings,
        [&] {
            return in_words(try_file(places.allowed_path())) + " " +
                   in_words(try_file(places.forbidden_path()));
        },
        mount_closed);
    if (!child.is_running()) return;

    CHECK(child.result() == "connected EACCES");
    CHECK(only_denial(child).target == places.forbidden_path());
    CHECK(!has_visitor(places.forbidden()));
}

TEST_CASE("what is mounted after the start is no writable place") {
    const Places places;
    SupervisorSettings settings = places.settings();
    settings.has_mounts = true;
    const std::string late = places.path("late");
    ConfinedChild child(
        settings,
        [&] {
            // The supervisor knows the mounts once it answers.
            const std::string first = in_words(try_file(places.allowed_path()));
            if (::mount("none", late.c_str(), "tmpfs", 0, nullptr) != 0) return std::string("?");
            const UniqueFd server = listen_at(unix_address(late + "/s"));
            return first + " " + in_words(try_file(late + "/s"));
        },
        [&] {
            if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
                return false;
            return ::mkdir(late.c_str(), 0700) == 0 &&
                   ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
        });
    if (!child.is_running()) return;

    CHECK(child.result() == "connected EACCES");
    CHECK(only_denial(child).target == late + "/s");
}

TEST_CASE("in a shared place only the sandbox's own listeners are reached") {
    const Places places;
    SupervisorSettings settings = places.settings();
    settings.shared_tmp = {places.path("open")};
    const auto body = [&] {
        const std::string own = places.path("open/own");
        const UniqueFd server = listen_at(unix_address(own));
        return in_words(try_file(places.allowed_path())) + " " + in_words(try_file(own));
    };

    SUBCASE("with a network of its own") {
        ConfinedChild child(settings, body, enter_own_network);
        if (!child.is_running()) return;
        CHECK(child.result() == "EACCES connected");
        CHECK(only_denial(child).target == places.allowed_path());
        CHECK(only_denial(child).allow.empty());
    }
    SUBCASE("with the machine's network") {
        settings.has_own_network = false;
        ConfinedChild child(settings, body);
        REQUIRE(child.is_running());
        CHECK(child.result() == "EACCES connected");
        CHECK(only_denial(child).target == places.allowed_path());
    }
    CHECK(!has_visitor(places.allowed()));
}

TEST_CASE("a socket file linked out of a shared place stays out of reach") {
    Places places;
    places.directory().make("shared");
    const UniqueFd agent = listen_at(unix_address(places.path("shared/agent")));
    SupervisorSettings settings = places.settings();
    settings.writable.push_back(places.path("shared"));
    settings.shared_tmp = {places.path("shared")};
    ConfinedChild child(settings, [&] {
        const std::string alias = places.path("open/alias");
        if (::link(places.path("shared/agent").c_str(), alias.c_str()) != 0) return in_words(errno);
        return in_words(try_file(alias));
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "EACCES");
    CHECK(!has_visitor(agent));
}

TEST_CASE("files are judged by the caller's rights and not by ours") {
    if (::geteuid() != 0) {
        MESSAGE("only root has more rights than its callers");
        return;
    }
    Places places;
    REQUIRE(::chmod(places.path("").c_str(), 0755) == 0);
    REQUIRE(::chmod(places.path("open").c_str(), 0777) == 0);
    places.directory().make("open/private"); // accessible to root alone
    const UniqueFd server = listen_at(unix_address(places.path("open/private/s")));
    REQUIRE(server);
    SupervisorSettings settings = places.settings();
    settings.shared_tmp = {places.path("open")};
    const std::string own = places.path("open/own");
    const auto become_another = [] {
        return ::setgroups(0, nullptr) == 0 && ::setresgid(1000, 1000, 1000) == 0 &&
               ::setresuid(1000, 1000, 1000) == 0 && ::prctl(PR_SET_DUMPABLE, 1) == 0;
    };
    ConfinedChild child(
        settings,
        [&] {
            const UniqueFd listener = listen_at(unix_address(own));
            const std::string said = in_words(try_file(own));
            const UniqueFd visitor(::accept(listener.get(), nullptr, nullptr));
            ucred who = {};
            socklen_t size = sizeof who;
            (void)::getsockopt(visitor.get(), SOL_SOCKET, SO_PEERCRED, &who, &size);
            return said + " as " + std::to_string(who.uid) + " " + std::to_string(who.gid) + " " +
                   in_words(try_file(places.path("open/private/s")));
        },
        become_another);
    REQUIRE(child.is_running());

    CHECK(child.result() == "connected as 1000 1000 EACCES");
    CHECK(!has_visitor(server));
}

TEST_CASE("what is tried in passing is refused without a word") {
    CHECK(sandbox::is_tried_in_passing("/var/run/nscd/socket"));
    CHECK(sandbox::is_tried_in_passing("/run/nscd/socket"));
    CHECK(!sandbox::is_tried_in_passing("/run/docker.sock"));
    CHECK(!sandbox::is_tried_in_passing("/tmp/run/nscd/socket"));
}

TEST_CASE("no thread gets at a forbidden socket file by changing the address meanwhile") {
    const Places places;
    ConfinedChild child(places.settings(), [&] {
        std::string shared = unix_address(places.allowed_path()) + std::string(4, '\0');
        const std::string allowed = shared;
        const std::string forbidden = unix_address(places.forbidden_path());
        std::atomic<bool> is_over = false;
        std::thread changer([&] {
            while (!is_over) {
                std::memcpy(shared.data(), forbidden.data(), forbidden.size() + 1);
                std::memcpy(shared.data(), allowed.data(), allowed.size());
            }
        });
        race(300, [&] { (void)connect_to(new_socket(AF_UNIX).get(), shared); });
        is_over = true;
        changer.join();
        return std::string("tried");
    });
    REQUIRE(child.is_running());
    REQUIRE(os::set_nonblocking(places.allowed().get()));
    const bool is_over = child.drive([&] {
        const UniqueFd visitor(::accept(places.allowed().get(), nullptr, nullptr));
        return !os::living_process(child.pid()) || has_visitor(places.forbidden());
    });

    CHECK(is_over);
    CHECK(!has_visitor(places.forbidden()));
    CHECK(child.supervisor().denials().total() > 0);
}

TEST_CASE("no thread gets at a forbidden socket file by changing the descriptor meanwhile") {
    const Places places;
    const UniqueFd server = listen_at(ipv4("127.0.0.1", 0), 4096);
    SupervisorSettings settings = places.settings();
    settings.is_network_off = false; // so that the address of the internet is allowed
    ConfinedChild child(settings, [&, port = port_of(server)] {
        const std::string good = ipv4("127.0.0.1", port);
        const std::string bad = unix_address(places.forbidden_path());
        std::string shared = good + std::string(bad.size(), '\0');
        const std::string reset = shared;
        const UniqueFd local = new_socket(AF_UNIX);
        const UniqueFd internet = new_socket(AF_INET);
        const UniqueFd number(::dup(local.get()));
        std::atomic<bool> is_over = false;
        std::thread changer([&] {
            while (!is_over) {
                ::dup2(internet.get(), number.get());
                std::memcpy(shared.data(), reset.data(), reset.size());
                ::dup2(local.get(), number.get());
                std::memcpy(shared.data(), bad.data(), bad.size());
            }
        });
        race(300, [&] { (void)connect_to(number.get(), shared); });
        is_over = true;
        changer.join();
        return std::string("tried");
    });
    REQUIRE(child.is_running());

    CHECK(child.result() == "tried");
    CHECK(!has_visitor(places.forbidden()));
}

TEST_CASE("a connect that waits is ended by its deadline, and others are answered meanwhile") {
    const Places places;
    std::vector<UniqueFd> visitors;
    const UniqueFd busy = full_listener(places.path("open/busy"), visitors);
    REQUIRE(busy);
    SupervisorSettings settings = places.settings();
    settings.patience = 10 * generous;
    ConfinedChild child(settings, [&] {
        std::string waited;
        std::thread waiting([&] { waited = in_words(try_file(places.path("open/busy"))); });
        std::string said;
        for (int i = 0; i < 20; ++i)
            said = in_words(try_file(places.forbidden_path()));
        const UniqueFd eager(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
        said += " " + in_words(connect_to(eager.get(), unix_address(places.path("open/busy"))));
        said += " " + in_words(try_file(places.allowed_path()));
        waiting.join();
        return said + " " + waited;
    });
    REQUIRE(child.is_running());
    const bool meanwhile = child.drive(
        [&] { return has_visitor(places.allowed()) && child.supervisor().errands() == 1; });
    REQUIRE(meanwhile);

    child.pass(settings.patience);

    CHECK(child.result() == "EACCES EAGAIN connected ETIMEDOUT");
    CHECK(child.supervisor().errands() == 0);
    CHECK(!child.supervisor().next_deadline());
}

TEST_CASE("more waiting calls than errands are answered one after the other") {
    const Places places;
    std::vector<UniqueFd> visitors;
    const UniqueFd busy = full_listener(places.path("open/busy"), visitors);
    REQUIRE(busy);
    SupervisorSettings settings = places.settings();
    settings.patience = 10 * generous;
    constexpr std::size_t more = 8;
    ConfinedChild child(settings, [&] {
        std::atomic<int> timed_out = 0;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < CallErrands::most + more; ++i)
            threads.emplace_back([&] {
                if (try_file(places.path("open/busy")) == ETIMEDOUT) ++timed_out;
            });
        for (std::thread& thread : threads)
            thread.join();
        return std::to_string(timed_out) + " " + in_words(try_file(places.allowed_path()));
    });
    REQUIRE(child.is_running());
    const sandbox::Supervisor& supervisor = child.supervisor();
    REQUIRE(child.drive([&] { return supervisor.errands() == CallErrands::most; }));

    child.pass(settings.patience);

    REQUIRE(child.drive([&] { return supervisor.errands() == more; }));
    child.pass(settings.patience);
    CHECK(child.result() == std::to_string(CallErrands::most + more) + " connected");
}

TEST_CASE("a caller that is killed is forgotten at once") {
    const Places places;
    std::vector<UniqueFd> visitors;
    const UniqueFd busy = full_listener(places.path("open/busy"), visitors);
    REQUIRE(busy);
    SupervisorSettings settings = places.settings();
    settings.patience = 10 * generous;
    ConfinedChild child(settings, [&] { return in_words(try_file(places.path("open/busy"))); });
    REQUIRE(child.is_running());
    REQUIRE(child.drive([&] { return child.supervisor().errands() == 1; }));

    child.kill();

    CHECK(child.drive([&] { return child.supervisor().errands() == 0; }));
}

TEST_CASE("a result that cannot be read is a refusal") {
    CHECK(sandbox::decode_connect_result("").error == EACCES);
    CHECK(sandbox::decode_connect_result("0").error == EACCES);
    CHECK(sandbox::decode_connect_result("0 9 /x").error == EACCES);
    const sandbox::ConnectResult result = {ENOENT, sandbox::ConnectResult::Refusal::foreign,
                                           "/a b"};
    const sandbox::ConnectResult again = sandbox::decode_connect_result(sandbox::encode(result));
    CHECK(again.error == ENOENT);
    CHECK(again.refusal == result.refusal);
    CHECK(again.path == "/a b");
}
