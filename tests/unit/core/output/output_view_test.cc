#include "core/output/output_view.h"
#include "support/testing.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using namespace ew;
using namespace ew::core;

namespace {

// A log whose client takes everything at once.
struct Fed {
    OutputLog log{OutputLimits{}};
    std::vector<OutputView*> views = {};

    void feed(std::string_view bytes) {
        while (!bytes.empty()) {
            const std::string_view piece = bytes.substr(0, 60'000);
            OutputLog::Space space = log.space(Stream::out, piece.size());
            const std::size_t first = std::min(space.size[0], piece.size());
            std::memcpy(space.at[0], piece.data(), first);
            std::memcpy(space.at[1], piece.data() + first, piece.size() - first);
            log.commit(Stream::out, piece.size(), {});
            for (OutputView* view : views)
                view->look_at(log);
            while (log.has_undelivered()) {
                (void)log.next_undelivered();
                log.mark_delivered();
            }
            bytes.remove_prefix(piece.size());
        }
    }
};

std::string numbered(std::size_t lines) {
    std::string text;
    for (std::size_t i = 0; i < lines; ++i)
        text += std::to_string(i) + "\n";
    return text;
}

} // namespace

TEST_CASE("a view shows what came since its position") {
    Fed fed;
    fed.feed("before");
    OutputView view(fed.log.end());
    fed.views = {&view};

    fed.feed("after");

    CHECK(view.kept(fed.log).head == "after");
    CHECK(view.kept(fed.log).tail.empty());
    CHECK(view.kept(fed.log).omitted == 0);
    CHECK(view.size(fed.log) == 5);
}

TEST_CASE("two views of one log do not disturb each other") {
    Fed fed;
    OutputView first;
    fed.views = {&first};
    fed.feed("one");
    OutputView second(fed.log.end());
    fed.views = {&first, &second};
    fed.feed("two");

    CHECK(first.kept(fed.log).head == "onetwo");
    CHECK(second.kept(fed.log).head == "two");
    CHECK(first.kept(fed.log).head == "onetwo");
}

TEST_CASE("of more than is kept the beginning and the end are shown, and the rest is counted") {
    const std::string text = numbered(500'000);
    Fed fed;
    OutputView view;
    fed.views = {&view};

    fed.feed(text);

    const OutputView::Kept kept = view.kept(fed.log);
    CHECK(kept.head.size() == OutputView::head_bytes);
    CHECK(kept.tail.size() == OutputView::head_bytes);
    CHECK(text.compare(0, kept.head.size(), kept.head) == 0);
    CHECK(text.compare(text.size() - kept.tail.size(), std::string::npos, kept.tail) == 0);
    CHECK(kept.omitted == text.size() - kept.head.size() - kept.tail.size());
}

TEST_CASE("nothing is omitted as long as the log has everything") {
    const std::string text(1 << 20, 'x');
    Fed fed;
    OutputView view;
    fed.views = {&view};

    fed.feed(text);

    const OutputView::Kept kept = view.kept(fed.log);
    CHECK(kept.omitted == 0);
    CHECK((kept.head + kept.tail) == text);
}

TEST_CASE("one byte more than the log has is omitted, not more") {
    const std::string text = std::string(1 << 20, 'x') + "y";
    Fed fed;
    OutputView view;
    fed.views = {&view};

    fed.feed(text);

    const OutputView::Kept kept = view.kept(fed.log);
    CHECK(kept.omitted == 1);
    CHECK(kept.head.size() + kept.tail.size() == 1 << 20);
    CHECK(kept.tail.back() == 'y');
}

TEST_CASE("the two halves are cut between characters") {
    std::string text = "a";
    while (text.size() < 3'000'000)
        text += "\xe2\x82\xac"; // three bytes
    Fed fed;
    OutputView view;
    fed.views = {&view};

    fed.feed(text);

    const OutputView::Kept kept = view.kept(fed.log);
    CHECK((kept.head.size() - 1) % 3 == 0);
    CHECK(kept.tail.size() % 3 == 0);
    CHECK(kept.head.size() + kept.omitted + kept.tail.size() == text.size());
}

TEST_CASE("many single bytes are kept like few large pieces") {
    Fed fed;
    OutputView view;
    fed.views = {&view};

    for (int i = 0; i < 20'000; ++i)
        fed.feed(i == 0 ? "h" : "t");

    const OutputView::Kept kept = view.kept(fed.log);
    CHECK(kept.head.size() == 20'000);
    CHECK(kept.head.front() == 'h');
    CHECK(kept.omitted == 0);
}
