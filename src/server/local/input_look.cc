#include "server/local/input_look.h"

#include "os/pty.h"
#include "server/local/local_process.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <vector>

namespace ew::server {

using protocol::InputKind;

namespace {

constexpr std::size_t most_members = 256;

InputKind kind_of(const os::LineMode& mode) {
    if (!mode.is_canonical) return InputKind::raw;
    return mode.echoes ? InputKind::line : InputKind::password;
}

// Looks at processes until one of them reads.
class Search {
public:
    explicit Search(const os::InputFile& file) : file_(file) {}

    // Returns true if the search is over.
    bool look_at(pid_t process) {
        const os::ReaderLook look = os::look_for_reader(process, file_);
        found_.is_busy |= look.is_busy;
        found_.is_hidden |= look.is_hidden;
        if (look.reader) found_.reader = look.reader;
        ++count_;
        return (found_.reader && !found_.reader->returns_soon) || count_ >= most_members;
    }

    std::size_t count() const { return count_; }

    os::ReaderLook& found() { return found_; }

private:
    os::InputFile file_;
    os::ReaderLook found_;
    std::size_t count_ = 0;
};

// Only the process group in the foreground may read the terminal. All numbers are those of this
// process's namespace, in a sandbox too. The first process of the group is found without a walk.
os::ReaderLook look_at_group(const Process& process, const ProcessTrees& trees, int master) {
    const pid_t group = os::foreground_group(master);
    const std::optional<os::InputFile> terminal = os::terminal_of_master(master);
    if (group == 0 || !terminal) return {};
    Search search(*terminal);
    const bool has_first = ::getpgid(group) == group;
    if (has_first && search.look_at(group)) return search.found();
    for (const pid_t member : trees.leader_and_descendants(process))
        if (member != group && ::getpgid(member) == group && search.look_at(member)) break;
    const bool has_group = ::kill(-group, 0) == 0 || errno == EPERM;
    if (search.count() == 0 && has_group) search.found().is_hidden = true;
    return search.found();
}

os::ReaderLook look_at_pipe(const Process& process, const ProcessTrees& trees, int end) {
    const std::optional<os::InputFile> pipe = os::pipe_of_end(end);
    if (!pipe) return {};
    Search search(*pipe);
    for (const pid_t member : trees.leader_and_descendants(process))
        if (search.look_at(member)) break;
    return search.found();
}

} // namespace

InputLook look_at_input(const Process& process, const ProcessTrees& trees) {
    const LocalProcess& local = *process.local;
    if (process.exit || !process.input.takes_writes() || local.input_fd() < 0) return {};
    if (!process.is_tty()) return {InputKind::pipe, look_at_pipe(process, trees, local.input_fd())};
    return {kind_of(os::line_mode(local.input_fd())),
            look_at_group(process, trees, local.input_fd())};
}

} // namespace ew::server
