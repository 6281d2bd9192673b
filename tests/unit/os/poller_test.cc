#include "os/io.h"
#include "os/poller.h"
#include "support/testing.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

using ew::Millis;
using ew::os::Interest;
using ew::os::Pipe;
using ew::os::Poller;
using ew::os::Token;

namespace {

enum Source : std::uint8_t { output = 3, error_output, input, client_input, bulk, start };

Pipe new_pipe() {
    ew::Result<Pipe> pipe = ew::os::make_pipe();
    REQUIRE(pipe);
    return std::move(*pipe);
}

Pipe readable_pipe() {
    Pipe pipe = new_pipe();
    (void)ew::os::write_some(pipe.write.get(), "x"); // an empty pipe takes a byte
    return pipe;
}

} // namespace

TEST_SUITE_BEGIN("os/poller");

TEST_CASE("a readable descriptor hands back its token") {
    Poller poller;
    const Pipe pipe = readable_pipe();
    const std::uint64_t serial = (1ULL << 56) - 1; // the largest there can be

    CHECK(poller.watch(pipe.read.get(), {Source::error_output, serial}, Interest::read));

    const auto ready = poller.ready_now();
    REQUIRE(ready.size() == 1);
    CHECK(ready[0].source == Source::error_output);
    CHECK(ready[0].serial == serial);
}

TEST_CASE("nothing is ready without interest, and again with it") {
    Poller poller;
    const Pipe pipe = readable_pipe();
    CHECK(poller.watch(pipe.read.get(), {Source::output, 1}, Interest::none));
    CHECK(poller.ready_now().empty());

    poller.change(pipe.read.get(), {Source::output, 1}, Interest::read);

    CHECK(poller.ready_now().size() == 1);
}

TEST_CASE("a writable descriptor is ready for writing only") {
    Poller poller;
    const Pipe pipe = new_pipe();
    CHECK(poller.watch(pipe.read.get(), {Source::output, 1}, Interest::read));
    CHECK(poller.watch(pipe.write.get(), {Source::input, 1}, Interest::write));

    const auto ready = poller.ready_now();

    REQUIRE(ready.size() == 1);
    CHECK(ready[0].source == Source::input);
}

TEST_CASE("what is not watched any more is not ready, and may be unwatched again") {
    Poller poller;
    const Pipe pipe = readable_pipe();
    CHECK(poller.watch(pipe.read.get(), {Source::output, 1}, Interest::read));

    poller.unwatch(pipe.read.get());
    poller.unwatch(pipe.read.get());

    CHECK(poller.ready_now().empty());
}

TEST_CASE("what is reported once is reported again when asked for, and not after it was closed") {
    Poller poller;
    Pipe pipe = new_pipe();
    CHECK(poller.watch(pipe.read.get(), {Source::start, 1}, Interest::read_once));
    pipe.write.reset();
    CHECK(poller.ready_now().size() == 1);
    CHECK(poller.ready_now().empty());

    poller.change(pipe.read.get(), {Source::start, 1}, Interest::read_once);
    CHECK(poller.ready_now().size() == 1);

    const ew::UniqueFd copy(::dup(pipe.read.get())); // as a child has it for a moment
    pipe.read.reset();
    CHECK(poller.ready_now().empty());
}

TEST_CASE("a regular file cannot be waited for") {
    Poller poller;
    std::string path = "/tmp/execward-poller-XXXXXX";
    const ew::UniqueFd file(::mkstemp(path.data()));
    ::unlink(path.c_str());

    CHECK_FALSE(poller.watch(file.get(), {Source::client_input, 0}, Interest::read));
}

TEST_CASE("waiting ends at the deadline and not before") {
    Poller poller;
    const ew::TimePoint begin = ew::clock_now();

    CHECK(poller.wait(begin + Millis(20), begin).empty());

    CHECK(ew::clock_now() - begin >= Millis(20));
}

TEST_CASE("a deadline that has passed means not waiting at all") {
    Poller poller;
    const ew::TimePoint begin = ew::clock_now();
    constexpr Millis a_day = std::chrono::hours(24); // to wait as long would be noticed

    CHECK(poller.wait(begin - a_day, begin).empty());
}

TEST_CASE("waiting without a deadline ends when something is ready") {
    Poller poller;
    const Pipe pipe = readable_pipe();
    CHECK(poller.watch(pipe.read.get(), {Source::start, 9}, Interest::read));

    CHECK(poller.wait(std::nullopt, ew::clock_now()).size() == 1);
}

TEST_CASE("one poller can be watched by another") {
    Poller outer;
    Poller inner;
    const Pipe pipe = readable_pipe();
    CHECK(outer.watch(inner.fd(), {Source::bulk, 0}, Interest::read));
    CHECK(outer.ready_now().empty());

    CHECK(inner.watch(pipe.read.get(), {Source::output, 1}, Interest::read));

    REQUIRE(outer.ready_now().size() == 1);
}

TEST_SUITE_END();
