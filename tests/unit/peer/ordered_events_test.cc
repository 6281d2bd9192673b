#include "peer/ordered_events.h"
#include "protocol/process_output.h"
#include "support/testing.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

using namespace ew;
using namespace ew::peer;

namespace {

OutputPiece piece(std::string bytes) {
    return {protocol::StreamName::out, std::move(bytes)};
}

PeerEnd exit_with(std::int64_t code) {
    PeerEnd end;
    end.exit_code = code;
    return end;
}

// All that can be taken: the bytes, "<3>" for an exit, "<closed>", "<lost 2>".
std::string taken_from(OrderedEvents& events) {
    std::string text;
    while (const Event* const event = events.next()) {
        if (const auto* output = std::get_if<OutputPiece>(event))
            text += output->bytes;
        else if (const auto* end = std::get_if<PeerEnd>(event))
            text += '<' + std::to_string(end->exit_code.value_or(-1)) + '>';
        else if (const auto* lost = std::get_if<Lost>(event))
            text += "<lost " + std::to_string(lost->count) + '>';
        else
            text += "<closed>";
        events.take_next();
    }
    return text;
}

PeerReadResult answer(std::initializer_list<std::pair<std::uint64_t, std::string>> chunks,
                      std::uint64_t next_seq) {
    PeerReadResult result;
    for (const auto& [seq, bytes] : chunks)
        result.chunks.push_back({seq, protocol::StreamName::out, {bytes}});
    result.next_seq = next_seq;
    return result;
}

} // namespace

TEST_SUITE("ordered events") {
    TEST_CASE("every order gives the same") {
        std::array<std::uint64_t, 5> order = {1, 2, 3, 4, 5};
        do {
            OrderedEvents events;
            std::string all;
            for (const std::uint64_t seq : order) {
                if (seq == 4)
                    events.add(seq, exit_with(7));
                else if (seq == 5)
                    events.add(seq, Closed{});
                else
                    events.add(seq, piece(std::to_string(seq)));
                all += taken_from(events);
            }
            CHECK(all == "123<7><closed>");
            CHECK(!events.has_gap());
        } while (std::next_permutation(order.begin(), order.end()));
    }

    TEST_CASE("what came before is ignored") {
        OrderedEvents events;
        events.add(1, piece("a"));
        events.add(1, piece("x"));
        events.add(2, piece("b"));
        events.add(2, piece("y"));
        CHECK(taken_from(events) == "ab");
        events.add(1, piece("z"));
        events.add(3, piece("c"));
        CHECK(taken_from(events) == "c");
    }

    TEST_CASE("a gap is filled by a read") {
        OrderedEvents events;
        events.add(1, piece("a"));
        events.add(4, piece("d"));
        CHECK(taken_from(events) == "a");
        CHECK(events.has_gap());
        CHECK(events.next_seq() == 2);
        events.add(answer({{2, "b"}, {3, "c"}, {4, "d"}, {5, "e"}}, 6));
        CHECK(taken_from(events) == "bcde");
        events.add(5, piece("e")); // late
        events.add(6, piece("f"));
        CHECK(taken_from(events) == "f");
    }

    TEST_CASE("a read tells the numbers of the exit and of the close") {
        PeerReadResult result = answer({{1, "a"}, {3, "b"}}, 5);
        result.exited = true;
        result.closed = true;
        result.end = exit_with(3);
        OrderedEvents events;
        events.add(3, piece("b"));
        events.add(std::move(result));
        CHECK(taken_from(events) == "a<3>b<closed>");
    }

    TEST_CASE("an end that is known is not found a second time") {
        OrderedEvents events;
        events.add(3, exit_with(3));
        events.add(4, Closed{});
        PeerReadResult result = answer({{2, "b"}}, 5);
        result.exited = true;
        result.closed = true;
        result.end = exit_with(3);
        events.add(std::move(result));
        CHECK(taken_from(events) == "<lost 1>b<3><closed>");
    }

    TEST_CASE("what the server no longer has is lost, and counted") {
        OrderedEvents events;
        events.add(9, piece("i"));
        PeerReadResult result = answer({{6, "f"}, {8, "h"}, {9, "i"}}, 11);
        result.exited = true;
        result.end = exit_with(0);
        events.add(std::move(result));
        CHECK(taken_from(events) == "<lost 5>f<lost 1>hi<0>");
        CHECK(events.next_seq() == 11);
    }

    TEST_CASE("an end is not missed, although its number was given up or is taken") {
        OrderedEvents events;
        events.add(answer({{2, "b"}}, 4));
        CHECK(taken_from(events) == "<lost 1>b<lost 1>");
        events.add(3, exit_with(5));
        CHECK(taken_from(events) == "<5>");
        events.add(4, Closed{}); // its number was used for the exit
        CHECK(taken_from(events) == "<closed>");
    }

    TEST_CASE("a process ends once") {
        OrderedEvents events;
        events.add(1, exit_with(1));
        events.add(2, exit_with(2));
        events.add(2, Closed{});
        events.add(3, Closed{});
        CHECK(taken_from(events) == "<1><closed>");
    }

    TEST_CASE("what waits is bounded, and comes with the read") {
        OrderedEvents events;
        const std::string large(1 << 20, 'x');
        for (std::uint64_t seq = 2; seq < 10; ++seq)
            events.add(seq, piece(large));
        events.add(10, exit_with(0)); // an end is never dropped
        PeerReadResult result = answer({}, 11);
        for (std::uint64_t seq = 1; seq < 10; ++seq)
            result.chunks.push_back({seq, protocol::StreamName::out, {large}});
        result.exited = true;
        events.add(std::move(result));
        CHECK(taken_from(events) == std::string(9 << 20, 'x') + "<0>");

        OrderedEvents many;
        for (std::uint64_t seq = 2; seq < 3 * OrderedEvents::most_held; ++seq)
            many.add(seq, piece("y"));
        many.add(1, piece("z"));
        CHECK(taken_from(many).size() == OrderedEvents::most_held + 1);
    }

    TEST_CASE("a read answer brings nothing from its own end on") {
        OrderedEvents events;
        events.add(answer({{2, "b"}, {3, "c"}}, 1));
        CHECK(!events.has_gap());
        events.add(1, piece("a"));
        CHECK(taken_from(events) == "a");
        events.add(answer({{2, "b"}, {3, "c"}}, 3));
        CHECK(taken_from(events) == "b");
    }

    TEST_CASE("what nobody takes yet is bounded, and comes with the read") {
        const std::string large(1 << 20, 'x');
        OrderedEvents events;
        for (std::uint64_t seq = 1; seq <= 10; ++seq)
            events.add(seq, piece(large));
        CHECK(taken_from(events).size() == OrderedEvents::most_held_bytes);
        CHECK(events.has_gap()); // although nothing is here
        CHECK(events.next_seq() == 5);
        PeerReadResult result = answer({}, 11);
        for (std::uint64_t seq = 5; seq <= 10; ++seq)
            result.chunks.push_back({seq, protocol::StreamName::out, {large}});
        events.add(std::move(result));
        CHECK(taken_from(events).size() == 6 * large.size());
        CHECK(!events.has_gap());
    }

    TEST_CASE("one piece is bounded too, unless a read brings it") {
        const std::string huge(30 << 20, 'x');
        OrderedEvents events;
        events.add(1, piece(huge));
        CHECK(events.next() == nullptr);
        CHECK(events.has_gap());
        events.add(answer({{1, huge}}, 2));
        CHECK(taken_from(events).size() == huge.size());
        CHECK(!events.has_gap());
    }

    TEST_CASE("the next one has room of its own beside what waits for it") {
        const std::string most(OrderedEvents::most_held_bytes, 'x');
        OrderedEvents events;
        events.add(2, piece(most));
        events.add(1, piece(std::string(OrderedEvents::room_for_next + 1, 'y')));
        CHECK(events.next() == nullptr);
        events.add(1, piece(std::string(OrderedEvents::room_for_next, 'y')));
        CHECK(taken_from(events).size() == most.size() + OrderedEvents::room_for_next);
    }

    TEST_CASE("a gap before nothing but what was dropped can be passed over") {
        OrderedEvents events;
        events.add(3, piece(std::string(2 * OrderedEvents::most_held_bytes, 'x')));
        CHECK(events.skip_gap() == 3);
        CHECK(!events.has_gap());
        events.add(4, piece("d"));
        CHECK(taken_from(events) == "d");
    }

    TEST_CASE("a gap can be passed over") {
        OrderedEvents events;
        CHECK(events.skip_gap() == 0);
        events.add(5, piece("e"));
        CHECK(events.skip_gap() == 4);
        CHECK(taken_from(events) == "e");
        CHECK(events.skip_gap() == 0);
    }

    TEST_CASE("an end with a number inside a loss comes behind the loss") {
        OrderedEvents events;
        PeerReadResult result = answer({}, 9);
        result.exited = true;
        result.end = exit_with(3);
        events.add(std::move(result));
        events.add(4, Closed{});
        CHECK(taken_from(events) == "<lost 7><3><closed>");
        CHECK(!events.has_gap());
    }

    TEST_CASE("output with a number inside a loss is ignored") {
        OrderedEvents events;
        events.add(answer({}, 9));
        events.add(4, piece("late"));
        events.add(answer({{5, "later"}}, 9));
        events.add(10, piece("k"));
        CHECK(taken_from(events) == "<lost 8>");
        CHECK(events.has_gap());
        events.add(9, piece("j"));
        CHECK(taken_from(events) == "jk");
    }

    TEST_CASE("numbers that make no sense do no harm") {
        constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
        OrderedEvents events;
        events.add(0, piece("zero"));
        events.add(most, piece("last"));
        events.add(most, Closed{});
        CHECK(events.has_gap());
        events.add(answer({{0, "zero"}}, most));
        CHECK(taken_from(events).starts_with("<lost "));
    }
}
