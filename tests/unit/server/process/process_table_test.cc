#include "server/local/local_backend.h"
#include "server/process/process_table.h"
#include "support/outbox_pipe.h"
#include "support/testing.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using ew::os::Cookies;
using ew::server::LocalBackend;
using ew::server::LocalProcess;
using ew::server::Process;
using ew::server::ProcessService;
using ew::server::ProcessTable;

namespace {

void mark_ended(Process& process) {
    process.exit.emplace();
    process.exit_is_logged = true;
    process.is_closed = true;
}

// A table of programs on this machine.
class LocalTable {
public:
    Process* add(const std::string& id) {
        Process* const process = table().add(id, {}, local_, bulk_sent);
        if (process != nullptr) process->local = std::make_unique<LocalProcess>();
        return process;
    }

    Process& operator[](const std::string& id) { return *table().find(id); }

    ProcessTable& table() { return processes_.table(); }

    LocalBackend& local() { return local_; }

    std::uint64_t bulk_sent = 0;

private:
    ew::os::Poller poller_;
    ew::os::Poller bulk_poller_;
    ew::test::OutboxPipe client_;
    const ew::TimePoint now_ = {};
    ProcessService processes_{{}, client_.outbox(), now_};
    LocalBackend local_{{}, processes_, {poller_, bulk_poller_}, Cookies::for_this_process()};
};

// One whose places are all taken by programs that have ended, "p0" the least recently used.
class FullTable : public LocalTable {
public:
    FullTable() {
        for (std::size_t i = 0; i < ProcessTable::places; ++i)
            mark_ended(*add("p" + std::to_string(i)));
    }
};

// A living process that carries the mark of a start.
class Descendant {
public:
    explicit Descendant(std::uint64_t limit) {
        int ends[2] = {-1, -1};
        REQUIRE(::pipe(ends) == 0);
        const pid_t test = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != test) ::_exit(0); // it ended before that
            const rlimit mark = {limit, limit};
            (void)::setrlimit(RLIMIT_RTTIME, &mark); // a missing mark fails the test
            (void)!::write(ends[1], "x", 1);
            for (;;)
                ::pause();
        }
        char ready = 0;
        (void)!::read(ends[0], &ready, 1);
        ::close(ends[0]);
        ::close(ends[1]);
    }

    ~Descendant() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

    Descendant(const Descendant&) = delete;
    Descendant& operator=(const Descendant&) = delete;

    pid_t pid() const { return pid_; }

private:
    pid_t pid_ = 0;
};

} // namespace

TEST_SUITE_BEGIN("server/process_table");

TEST_CASE("a process is found by its id, its serial and its pid") {
    LocalTable local;
    ProcessTable& table = local.table();
    Process* const process = local.add("build");
    process->local->pid = 4711;

    CHECK(table.find("build") == process);
    CHECK(table.find(process->serial) == process);
    CHECK(local.local().trees().find_leader(4711) == process);
    CHECK(table.find("other") == nullptr);
    CHECK(table.find(process->serial + ProcessTable::places) == nullptr);
}

TEST_CASE("a serial is never used again, so a late event finds nothing") {
    LocalTable local;
    ProcessTable& table = local.table();
    Process* const first = local.add("a");
    const std::uint64_t serial = first->serial;
    table.remove(*first);

    Process* const second = local.add("a");

    CHECK(second->serial != serial);
    CHECK(table.find(serial) == nullptr);
}

TEST_CASE("a leader that was reaped is not found by its number any more") {
    LocalTable local;
    ProcessTable& table = local.table();
    Process* const process = local.add("a");
    process->local->pid = 4711;

    mark_ended(*process);

    CHECK(local.local().trees().find_leader(4711) == nullptr);
    CHECK(local.local().trees().leaders().empty());
    CHECK(table.live_count() == 0);
}

TEST_CASE("in a full table the least recently used ended process makes room") {
    FullTable table;
    table.table().touch(table["p0"]);

    CHECK(table.add("new") != nullptr);

    CHECK(table.table().find("p0") != nullptr);
    CHECK(table.table().find("p1") == nullptr);
    CHECK(table.table().was_pruned("p1"));
    CHECK_FALSE(table.table().was_pruned("p2"));
}

TEST_CASE("the eight most recently used entries go last") {
    FullTable table;
    for (int i = 0; i < 56; ++i)
        REQUIRE(table.add("new" + std::to_string(i)) != nullptr); // these live

    for (int i = 56; i < 64; ++i)
        CHECK(table.table().find("p" + std::to_string(i)) != nullptr);

    CHECK(table.add("one more") != nullptr);
    CHECK(table.table().was_pruned("p56"));
}

TEST_CASE("a process that lives is never pruned, and a table full of them refuses") {
    FullTable table;
    for (int i = 0; i < 64; ++i)
        REQUIRE(table.add("new" + std::to_string(i)) != nullptr);

    CHECK(table.add("too many") == nullptr);

    CHECK(table.table().live_count() == 64);
    CHECK_FALSE(table.table().was_pruned("new0"));
    mark_ended(table["new63"]);
    CHECK(table.add("fits") != nullptr);
}

TEST_CASE("a process whose streams are open or whose end was not told yet is not pruned") {
    FullTable table;
    table["p0"].is_closed = false;
    table["p1"].log.append_closed();

    CHECK(table.add("new") != nullptr);

    CHECK(table.table().find("p0") != nullptr);
    CHECK(table.table().find("p1") != nullptr);
    CHECK(table.table().was_pruned("p2"));
}

TEST_CASE("a process whose last message is still on its way to the client is not pruned") {
    FullTable table;
    table.bulk_sent = 99;
    table["p0"].delivery.bulk_end = 100;
    table["p1"].delivery.bulk_end = 99;

    CHECK(table.add("new") != nullptr);

    CHECK(table.table().find("p0") != nullptr);
    CHECK(table.table().was_pruned("p1"));
}

TEST_CASE("a process that someone waits to read is not pruned") {
    ew::test::OutboxPipe client;
    {
        FullTable table;
        table["p0"].reads.add({ew::server::Reply(client.outbox(), {"1"}), {}});

        CHECK(table.add("new") != nullptr);

        CHECK(table.table().find("p0") != nullptr);
        CHECK(table.table().was_pruned("p1"));
        CHECK(table["p0"].reads.cancel({"1"}));
    }
}

TEST_CASE("a process with a living descendant is not pruned") {
    FullTable table;
    const std::uint64_t serial = table["p0"].serial;
    const Descendant descendant(*Cookies::for_this_process().limit_for(serial));

    CHECK(table.add("new") != nullptr);

    CHECK(table.table().find("p0") != nullptr);
    CHECK(table.table().was_pruned("p1"));
    REQUIRE(table.local().descendants(table["p0"]).size() == 1);
    CHECK(table.local().descendants(table["p0"]).front() == descendant.pid());
}

TEST_CASE("an id that was pruned names a new process as soon as it is used again") {
    FullTable table;
    CHECK(table.add("new") != nullptr);
    REQUIRE(table.table().was_pruned("p0"));

    CHECK(table.add("p0") != nullptr);

    CHECK_FALSE(table.table().was_pruned("p0"));
    CHECK(table.table().was_pruned("p1"));
}

TEST_CASE("only so many pruned ids are remembered, the newest ones") {
    FullTable table;
    const std::size_t more = ProcessTable::remembered_pruned + 1;
    for (std::size_t i = 0; i < more; ++i)
        mark_ended(*table.add("q" + std::to_string(i)));

    CHECK_FALSE(table.table().was_pruned("p0"));
    CHECK(table.table().was_pruned("p1"));
}

TEST_SUITE_END();
