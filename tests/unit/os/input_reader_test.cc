#include "os/input_reader.h"
#include "os/io.h"
#include "os/pty.h"
#include "support/testing.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

using ew::os::InputFile;
using ew::os::look_for_reader;
using ew::os::Pty;
using ew::os::ReaderLook;

namespace {

// A child that runs a function until it is killed.
class Child {
public:
    template <class Function>
    explicit Child(Function function) : pid_(::fork()) {
        if (pid_ != 0) return;
        ::alarm(60);
        function();
        ::_exit(0);
    }

    ~Child() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid() const { return pid_; }

private:
    pid_t pid_;
};

// Looks until the child reads, for up to ten seconds.
ReaderLook look_until_it_reads(const Child& child, const InputFile& file) {
    ReaderLook look;
    for (int i = 0; i < 2000 && !look.reader; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        look = look_for_reader(child.pid(), file);
    }
    return look;
}

Pty new_pty() {
    ew::Result<Pty> pty = ew::os::open_pty({});
    REQUIRE(pty);
    return std::move(*pty);
}

} // namespace

TEST_SUITE_BEGIN("os/input_reader");

TEST_CASE("a process that reads this terminal is found, and not by another terminal") {
    const Pty pty = new_pty();
    const Pty other = new_pty();
    const Child child([&] {
        char byte = 0;
        (void)!::read(pty.slave.get(), &byte, 1);
    });

    const ReaderLook look =
        look_until_it_reads(child, *ew::os::terminal_of_master(pty.master.get()));

    REQUIRE(look.reader);
    CHECK(look.reader->thread == child.pid());
    CHECK_FALSE(look.reader->returns_soon);
    CHECK_FALSE(
        look_for_reader(child.pid(), *ew::os::terminal_of_master(other.master.get())).reader);
}

TEST_CASE("a short poll of the terminal returns soon") {
    const Pty pty = new_pty();
    const Child child([&] {
        pollfd set = {pty.slave.get(), POLLIN, 0};
        for (;;)
            ::poll(&set, 1, 300);
    });

    const ReaderLook look =
        look_until_it_reads(child, *ew::os::terminal_of_master(pty.master.get()));

    REQUIRE(look.reader);
    CHECK(look.reader->returns_soon);
}

TEST_CASE("a process that reads this pipe is found") {
    ew::Result<ew::os::Pipe> pipe = ew::os::make_pipe();
    REQUIRE(pipe);
    const Child child([&] {
        char byte = 0;
        (void)!::read(pipe->read.get(), &byte, 1);
    });

    CHECK(look_until_it_reads(child, *ew::os::pipe_of_end(pipe->write.get())).reader);
}

TEST_CASE("a busy process is seen to be busy, and nothing is seen of one that has ended") {
    const Pty pty = new_pty();
    const InputFile terminal = *ew::os::terminal_of_master(pty.master.get());
    {
        const Child child([] {
            for (volatile bool on = true; on;) {}
        });
        bool was_busy = false;
        for (int i = 0; i < 2000 && !was_busy; ++i) {
            const ReaderLook look = look_for_reader(child.pid(), terminal);
            CHECK_FALSE(look.reader);
            was_busy = look.is_busy;
        }
        CHECK(was_busy);
    }
    const pid_t ended = ::fork();
    if (ended == 0) ::_exit(0);
    ::waitpid(ended, nullptr, 0);

    const ReaderLook look = look_for_reader(ended, terminal);

    CHECK_FALSE(look.reader);
    CHECK_FALSE(look.is_hidden);
}

TEST_SUITE_END();
