#include "cli/shared/confirmation.h"

#include "base/unique_fd.h"
#include "os/io.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <string>

namespace ew::cli {

namespace {

bool is_yes(std::string_view answer) {
    while (!answer.empty() && (answer.back() == '\n' || answer.back() == '\r'))
        answer.remove_suffix(1);
    return answer == "y" || answer == "Y" || answer == "yes";
}

// Another program may share stdin and have made it non-blocking.
void wait_for(int fd) {
    pollfd waited = {fd, POLLIN, 0};
    (void)::poll(&waited, 1, -1); // read_some() reports a failure
}

} // namespace

std::optional<bool> confirm(std::string_view question) {
    const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!terminal && ::isatty(STDIN_FILENO) != 1) return std::nullopt;
    const int in = terminal ? terminal.get() : STDIN_FILENO;
    const int out = terminal ? terminal.get() : STDERR_FILENO;
    if (!os::write_all(out, question)) return false;
    std::string answer;
    char byte = 0;
    while (!answer.ends_with('\n')) {
        const os::IoResult read = os::read_some(in, &byte, 1);
        if (read.state == os::IoState::end) break;
        if (read.state == os::IoState::progress) answer += byte;
        if (read.state == os::IoState::would_block) wait_for(in);
    }
    if (!answer.ends_with('\n'))
        (void)os::write_all(out, "\n"); // the cursor stands after the question
    return is_yes(answer);
}

} // namespace ew::cli
