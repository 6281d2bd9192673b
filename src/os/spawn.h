// Starts programs without waiting. The child sets itself up while the server runs, and reports a
// failed exec through a pipe.
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
    std::vector<std::string> argv;   // argv[0] is the program to execute
    std::optional<std::string> arg0; // the argv[0] that the program sees instead
    std::vector<std::pair<std::string, std::string>> environment;
    std::string directory;
    std::optional<WindowSize> terminal; // nullopt: use pipes
    bool pipe_stdin = false;            // without a terminal: stdin is a pipe, else /dev/null
    // Replaces all of the above: stdin is an end of a stream socket whose other end is
    // Spawned::output, stdout is discarded, stderr is a pipe.
    bool socket_stdin = false;
    std::vector<ChildLimit> limits;
    std::string
        script; // that the program can read from script_fd; empty: it has no such descriptor
};

// A created child with our ends of its descriptors. None of them blocks.
struct Spawned {
    pid_t pid = 0;
    UniqueFd input;  // pipe to stdin; empty without one, and with a terminal (then `output` is used
                     // for both directions)
    UniqueFd output; // stdout, or the master of the terminal
    UniqueFd error;  // stderr; empty with a terminal
};

// The descriptors of a program: its 0, 1 and 2, and our ends of them.
struct ProgramDescriptors {
    int stdio[3] = {-1, -1, -1}; // borrowed from child_ends
    std::vector<UniqueFd> child_ends;
    Spawned ours; // has no pid
};

// Opens a terminal or pipes. Errors: no more descriptors or terminals.
Result<ProgramDescriptors> open_program_descriptors(const SpawnRequest& request);

// Returns spawn_failed if a string cannot be passed to a program: it contains a NUL byte, or it is
// a variable without a name.
Result<void> check_strings(const SpawnRequest& request);

// Returns the paths to try, in order, as execvp(3) does with the PATH of the program's own
// environment.
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

    // Call this when `report` is readable. Returns nullopt if the outcome is not known yet. Returns
    // StartStep::none if exec worked (or if the child was killed before it could fail, which its
    // exit shows).
    std::optional<StartFailure> outcome();

    bool is_over() const { return is_over_; }

private:
    PendingStart() = default;

    Result<void> prepare(const SpawnRequest& request, pid_t server);
    Result<void> open_script(const std::string& script);
    Result<void> launch();

    std::vector<std::string> texts_; // the storage that the pointers below point into
    std::vector<char*> argv_;
    std::vector<char*> shell_argv_;
    std::vector<char*> environment_;
    std::vector<const char*> programs_;
    std::vector<ChildLimit> limits_;
    ProgramDescriptors descriptors_; // holds the child's ends until the child exists
    ChildPlan plan_;
    UniqueFd report_;
    std::unique_ptr<char[]> stack_; // the child's stack until exec
    StartFailure failure_;
    bool is_over_ = false;
};

// Turns the failure into an error for the client that names the object it concerns.
Error describe(const StartFailure& failure, const SpawnRequest& request);

} // namespace ew::os
