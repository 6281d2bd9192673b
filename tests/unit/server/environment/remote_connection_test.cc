#include "config/config.h"
#include "os/poller.h"
#include "peer/peer.h"
#include "protocol/envelope.h"
#include "protocol/process.h"
#include "server/environment/connection_listener.h"
#include "server/environment/remote_connection.h"
#include "server/session/session.h"
#include "support/testing.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

using namespace ew;
using namespace ew::server;
using State = ew::server::RemoteConnection::State;

namespace {

class Notes final : public ConnectionListener {
public:
    void on_ready(RemoteConnection& /*connection*/) override { text += "ready;"; }

    void on_failed(RemoteConnection& /*connection*/, std::uint64_t /*serial*/,
                   const Error& error) override {
        text += "failed;";
        last = error;
    }

    void on_lost(RemoteConnection& /*connection*/, std::uint64_t /*serial*/,
                 const Error& error) override {
        text += "lost;";
        last = error;
    }

    void on_room(RemoteConnection& /*connection*/) override { text += "room;"; }

    std::string on_answer(RemoteConnection& /*connection*/, const PendingRequest& request,
                          const protocol::Message& message) override {
        text += answer_text(request.process, message.is_error);
        return {};
    }

    std::string on_notification(RemoteConnection& /*connection*/,
                                const protocol::Message& message) override {
        text += std::string(message.method) + ';';
        return trouble;
    }

    void on_unanswered(const PendingRequest& request, const Error& /*error*/) override {
        text += "unanswered " + std::to_string(request.process) + ';';
    }

    static std::string answer_text(std::uint64_t process, bool is_error) {
        return (is_error ? "error " : "answer ") + std::to_string(process) + ';';
    }

    std::string text;
    std::string trouble; // what it finds wrong with notifications
    Error last;
};

// A connection to a shell script, with its loop.
class Scene {
public:
    explicit Scene(const std::string& script) : connection_(settings_for(script), parts()) {
        connection_.connect(now_);
        note_program();
    }

    ~Scene() {
        for (const pid_t pid : programs_) {
            (void)::kill(-pid, SIGKILL);
            (void)::waitpid(pid, nullptr, 0);
        }
        (void)::signal(SIGPIPE, of_pipes_);
    }

    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;

    RemoteConnection& connection() { return connection_; }

    Notes& notes() { return notes_; }

    // Lets the loop turn until this state is reached; time stands still.
    void reach(State state) {
        const TimePoint end = clock_now() + Millis(20000);
        while (connection_.state() != state && clock_now() < end) {
            turn();
            if (connection_.state() != state) reap();
        }
        REQUIRE(connection_.state() == state);
    }

    // Lets the loop turn until the listener has heard this.
    void hear(const std::string& wanted) {
        const TimePoint end = clock_now() + Millis(20000);
        while (notes_.text.find(wanted) == std::string::npos && clock_now() < end)
            turn();
        CHECK(notes_.text.find(wanted) != std::string::npos);
    }

    void pass(Millis time) {
        now_ += time;
        connection_.on_time(now_);
    }

    TimePoint now() const { return now_; }

    void connect_again() { connection_.connect(now_); }

private:
    static config::Environment settings_for(const std::string& script) {
        config::Environment settings;
        settings.id = "box";
        settings.program = "/bin/sh";
        settings.args = {"-c", script};
        settings.cwd = "/";
        settings.initialize_timeout = Millis(1000);
        return settings;
    }

    RemoteConnection::Parts parts() {
        return {session_, poller_, reader_, serials_, notes_, {1024, 1024}};
    }

    void turn() {
        for (const os::Token token : poller_.wait(clock_now() + Millis(20), clock_now()))
            connection_.on_event(source_of(token), now_);
    }

    void note_program() {
        const std::optional<pid_t> pid = connection_.program();
        if (pid && std::ranges::find(programs_, *pid) == programs_.end()) programs_.push_back(*pid);
    }

    void reap() {
        for (pid_t& pid : programs_) {
            int status = 0;
            if (::waitpid(pid, &status, WNOHANG) != pid) continue;
            const pid_t reaped = std::exchange(pid, programs_.back());
            programs_.pop_back();
            (void)connection_.note_reaped(reaped, status, now_);
            return note_program(); // it may have begun again
        }
    }

    // As the server does: a program may end before it has read anything.
    const sighandler_t of_pipes_ = ::signal(SIGPIPE, SIG_IGN);
    Session session_{{}, 1};
    os::Poller poller_;
    protocol::MessageReader reader_;
    ConnectionSerials serials_;
    Notes notes_;
    TimePoint now_ = clock_now();
    RemoteConnection connection_;
    std::vector<pid_t> programs_; // not reaped yet
};

const std::string greets = R"(read -r hello; id=${hello#*'"id":'};
    echo '{"id":'${id%%,*}',"result":{"serverInfo":{"name":"box"}}}'; )";
const std::string listens = "cat > /dev/null";

} // namespace

TEST_SUITE_BEGIN("server/remote connection");

TEST_CASE("a server that answers initialize is ready") {
    Scene scene(greets + listens);
    CHECK(scene.connection().state() == State::starting);
    CHECK(scene.connection().next_deadline() == scene.now() + Millis(1000));

    scene.reach(State::ready);

    CHECK(scene.notes().text == "ready;");
    CHECK(scene.connection().peer()->name == "box");
    CHECK(!scene.connection().next_deadline());
    CHECK(scene.connection().serial() == 1);
}

TEST_CASE("a server that does not answer initialize in time is given up") {
    Scene scene(R"(echo '{"method":"hello"}'; )" + listens);
    scene.hear("hello;");

    scene.pass(Millis(1000));
    CHECK(scene.connection().state() == State::ending);
    scene.reach(State::failed);

    CHECK(scene.notes().text == "hello;failed;");
    CHECK(scene.notes().last.kind == ErrorKind::environment_unavailable);
    CHECK(scene.connection().failure()->message.find("in 1000 ms") != std::string::npos);
    CHECK(scene.connection().serial() == 0);
}

TEST_CASE("a program that ends says why the environment cannot be reached") {
    Scene scene("echo 'no route' >&2; exit 3");

    scene.reach(State::failed);

    CHECK(scene.notes().last.message.find("status 3: no route") != std::string::npos);
}

TEST_CASE("answers and notifications reach the listener, greetings do not") {
    Scene scene(greets + R"(echo welcome; echo '{"method":"hello"}'; read initialized; read asked;
        echo '{"id":2,"result":{}}'; )" +
                listens);
    scene.reach(State::ready);
    scene.connection().send("process/read", protocol::Empty{}, {PendingRequest::Kind::read, 7});

    scene.hear("answer 7;");
    CHECK(scene.notes().text == "ready;hello;answer 7;");
}

TEST_CASE("a message that the listener finds wrong ends the connection") {
    Scene scene(greets + R"(read initialized; echo '{"method":"hello"}'; )" + listens);
    scene.notes().trouble = "it is wrong";

    scene.reach(State::failed);

    CHECK(scene.notes().text == "ready;hello;lost;");
    CHECK(scene.notes().last.kind == ErrorKind::environment_lost);
    CHECK(scene.notes().last.message.find("it is wrong") != std::string::npos);
}

TEST_CASE("a server that has not answered is asked whether it answers at all, and then given up") {
    Scene scene(greets + listens);
    scene.reach(State::ready);
    PendingRequest request = {PendingRequest::Kind::read, 7};
    request.deadline = scene.now() + Millis(10);
    scene.connection().send("process/read", protocol::Empty{}, std::move(request));

    scene.pass(Millis(10));
    CHECK(scene.notes().text == "ready;unanswered 7;");
    CHECK(scene.connection().is_ready());

    scene.pass(RemoteConnection::answer_patience);
    CHECK(scene.connection().state() == State::ending);
}

TEST_CASE("nothing is late while the connection is held up") {
    Scene scene(greets + listens);
    scene.reach(State::ready);
    PendingRequest request = {PendingRequest::Kind::read, 7};
    request.deadline = scene.now() + Millis(10);
    scene.connection().send("process/read", protocol::Empty{}, std::move(request));
    scene.connection().hold_up();

    scene.pass(Millis(10));
    CHECK(scene.notes().text == "ready;");
    CHECK(!scene.connection().next_deadline());

    CHECK(scene.connection().resume(scene.now()));
    CHECK(scene.connection().next_deadline() == scene.now() + RemoteConnection::answer_patience);
    CHECK(!scene.connection().resume(scene.now()));
}

TEST_CASE("a connection that is wanted while it ends begins again") {
    Scene scene(greets + "read initialized; exec 1>&-; " + listens);
    scene.reach(State::ready);
    scene.reach(State::ending);

    scene.connect_again();
    scene.reach(State::starting);
    scene.connect_again(); // on its way already
    scene.reach(State::ready);

    CHECK(scene.notes().text == "ready;lost;ready;");
    CHECK(scene.connection().serial() == 2);
}

TEST_SUITE_END();
