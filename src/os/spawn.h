// Starting a program. Nothing here waits: the child sets itself up beside the running server and
// tells by its report descriptor whether exec worked.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "os/after_fork.h"
#include "os/pty.h"

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ew::os {

struct SpawnRequest {
    std::vector<std::string> argv;   // argv[0] names the program
    std::optional<std::string> arg0; // what the program sees as argv[0] instead
    std::vector<std::pair<std::string, std::string>> environment;
    std::string directory;
    std::optional<WindowSize> terminal; // absent: pipes
    bool pipe_stdin = false;            // with pipes: a pipe for stdin, else /dev/null
    // Instead of all that: its stdin is an end of a stream socket whose other end is
    // Spawned::output, its stdout goes nowhere, its stderr is a pipe.
    bool socket_stdin = false;
    std::vector<ChildLimit> limits;
};

// A child that was created, with our ends of its descriptors. None of them blocks.
struct Spawned {
    pid_t pid = 0;
    UniqueFd input;  // pipe: its stdin, empty without one. terminal: empty, `output` goes both ways
    UniqueFd output; // stdout, or the master of the terminal
    UniqueFd error;  // stderr; empty with a terminal
};

// The descriptors of a program: what it gets as 0, 1 and 2, and our ends of them.
struct ProgramDescriptors {
    int stdio[3] = {-1, -1, -1}; // borrowed from child_ends
    std::vector<UniqueFd> child_ends;
    Spawned ours; // without a pid
};

// A terminal, or pipes. Errors: no more descriptors or terminals.
Result<ProgramDescriptors> open_program_descriptors(const SpawnRequest& request);

// Errors: spawn_failed for what no program can be given: a NUL byte, a variable without a name.
Result<void> check_strings(const SpawnRequest& request);

// The paths to try, in order, as execvp(3) does with the PATH of the program's own environment.
std::vector<std::string> program_candidates(const SpawnRequest& request);

// A start between clone and exec. The child runs in our memory until `report` reaches its end, so
// this object must live until then.
class PendingStart {
public:
    ~PendingStart();
    PendingStart(const PendingStart&) = delete;
    PendingStart& operator=(const PendingStart&) = delete;

    // Errors: a NUL in an argument, no more descriptors, no more processes.
    static Result<std::unique_ptr<PendingStart>> begin(const SpawnRequest& request, pid_t server);

    int report() const { return report_.get(); }

    Spawned& spawned() { return descriptors_.ours; }

    // Once `report` is readable. Absent: not there yet. StartStep::none: exec worked (or the child
    // was killed before it could fail, which shows as its exit).
    std::optional<StartFailure> outcome();

    bool is_over() const { return is_over_; }

private:
    PendingStart() = default;

    Result<void> prepare(const SpawnRequest& request, pid_t server);
    Result<void> launch();

    std::vector<std::string> texts_; // what the pointers below point into
    std::vector<char*> argv_;
    std::vector<char*> shell_argv_;
    std::vector<char*> environment_;
    std::vector<const char*> programs_;
    std::vector<ChildLimit> limits_;
    ProgramDescriptors descriptors_; // the child's ends until it exists
    ChildPlan plan_;
    UniqueFd report_;
    std::unique_ptr<char[]> stack_; // of the child, until exec
    StartFailure failure_;
    bool is_over_ = false;
};

// The failure as an error for the client, with the object it concerns named.
Error describe(const StartFailure& failure, const SpawnRequest& request);

} // namespace ew::os
