// Several processes write to one database and are killed in the middle of it.
#include "base/unique_fd.h"
#include "support/random.h"
#include "unit/store/scratch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <set>

using namespace ew::test;
using ew::store::GrantScope;
using ew::store::Store;

namespace {

constexpr std::size_t writers = 4;
constexpr std::size_t wanted = 1000; // acknowledged decisions, of all writers together

std::string key_of(int number) {
    return "command " + std::to_string(number);
}

// Again while the others hold the file: on a busy machine that can be longer than a store waits.
template <class Attempt>
auto when_it_is_our_turn(Attempt attempt) {
    auto result = attempt();
    const auto is_locked = [&] {
        return !result && result.error().message.find("has it locked") != std::string::npos;
    };
    for (int tries = 1; tries < 30 && is_locked(); ++tries)
        result = attempt();
    return result;
}

// The writer: records one decision after the other, and tells which when it is on the disk. Ends,
// and says why, only if that fails.
[[noreturn]] void write_for_ever(const std::string& path, int first, int tell) {
    auto store = when_it_is_our_turn([&] { return Store::open(path, noon); });
    std::string why = store ? "" : store.error().message;
    for (int number = first; why.empty(); ++number) {
        (*store)->audit(row("question"), {});
        auto id = when_it_is_our_turn([&] {
            return (*store)->record(row("decision"), grant(GrantScope::always, key_of(number)));
        });
        if (!id)
            why = id.error().message;
        else if (::write(tell, &number, sizeof number) != sizeof number)
            why = "nobody listens";
        if (number % 8 != 0) continue;
        (*store)->audit(row("exit"), {});
        auto flushed = when_it_is_our_turn([&] {
            return (*store)->flush({noon, ew::clock_now()});
        });
        if (!flushed) why = flushed.error().message;
    }
    std::fprintf(stderr, "a writer ended: %s\n", why.c_str());
    ::_exit(3);
}

struct Writer {
    pid_t pid = -1;
    ew::UniqueFd acknowledged;
};

class Writers {
public:
    explicit Writers(std::string path) : path_(std::move(path)) {}

    Writers(const Writers&) = delete;
    Writers& operator=(const Writers&) = delete;

    ~Writers() {
        for (std::size_t i = 0; i < writers; ++i)
            kill(i);
    }

    void start(std::size_t index) {
        int ends[2] = {-1, -1};
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        Writer& writer = all_[index];
        writer.acknowledged.reset(ends[0]);
        const ew::UniqueFd tell(ends[1]);
        constexpr int apart = 100'000; // more than one writer gets to
        const int first = apart * ++started_;
        writer.pid = ::fork();
        if (writer.pid == 0) write_for_ever(path_, first, ends[1]);
    }

    // What it had told until the end counts. Returns the status with which it ended.
    int kill(std::size_t index) {
        Writer& writer = all_[index];
        if (writer.pid <= 0) return 0;
        ::kill(writer.pid, SIGKILL);
        int status = 0;
        ::waitpid(writer.pid, &status, 0);
        writer.pid = -1;
        while (read_one(index)) {}
        return status;
    }

    bool read_one(std::size_t index) {
        int number = 0;
        if (::read(all_[index].acknowledged.get(), &number, sizeof number) != sizeof number)
            return false;
        acknowledged_.insert(number);
        return true;
    }

    // Waits until some writer has told of something, and reads that.
    void read_some() {
        std::array<pollfd, writers> waited_for = {};
        for (std::size_t i = 0; i < writers; ++i)
            waited_for[i] = {all_[i].acknowledged.get(), POLLIN, 0};
        constexpr int patience_ms = 120'000;
        REQUIRE(::poll(waited_for.data(), waited_for.size(), patience_ms) > 0);
        for (std::size_t i = 0; i < writers; ++i)
            if (waited_for[i].revents != 0) REQUIRE(read_one(i)); // nobody has given up
    }

    const std::set<int>& acknowledged() const { return acknowledged_; }

private:
    std::string path_;
    std::array<Writer, writers> all_;
    std::set<int> acknowledged_;
    int started_ = 0;
};

std::int64_t count(ew::store::Database& database, std::string_view sql) {
    return good(database.number_of(sql));
}

} // namespace

TEST_CASE("writers killed at any moment lose nothing that was acknowledged") {
    const Scratch scratch;
    Random random(7);
    Writers all(scratch.path());
    for (std::size_t i = 0; i < writers; ++i)
        all.start(i);

    while (all.acknowledged().size() < wanted) {
        for (std::size_t reads = 5 + random.below(30); reads > 0; --reads)
            all.read_some();
        ::usleep(static_cast<useconds_t>(random.below(2000))); // not just after a commit
        const std::size_t victim = random.below(writers);
        CHECK(WIFSIGNALED(all.kill(victim)));
        all.start(victim);
    }
    for (std::size_t i = 0; i < writers; ++i)
        all.kill(i);

    const auto store = open_store(scratch.path());
    for (const int number : all.acknowledged())
        CHECK(allowed_by(*store, key_of(number), "/") != 0);
    const auto database = good(ew::store::Database::open(scratch.path()));
    auto check = good(database->prepare("pragma integrity_check"));
    REQUIRE(good(check.step()));
    CHECK(check.text(0) == "ok");
    CHECK(count(*database, "select count(*) from grants") >=
          static_cast<std::int64_t>(all.acknowledged().size()));
    CHECK(count(*database, "select count(*) - count(distinct key) from grants") == 0);
    // A grant and its decision, with the question before it, are there together or not at all.
    CHECK(count(*database, "select count(*) from grants where not exists (select 1 from audit"
                           " where rule = 'grant ' || grants.id and event = 'decision')") == 0);
    CHECK(count(*database, "select count(*) from audit where event = 'decision' and not exists"
                           " (select 1 from grants where rule = 'grant ' || grants.id)") == 0);
    CHECK(count(*database, "select sum(event = 'question') - sum(event = 'decision') from audit") ==
          0);
}
