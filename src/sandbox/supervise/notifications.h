// The kernel's notifications of calls that wait for an answer (seccomp_unotify(2)). Nothing here
// waits. A call is identified by its id, which is never reused.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <linux/seccomp.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace ew::sandbox {

class Notifications {
public:
    // Errors: the kernel has no notifications.
    Result<void> open(UniqueFd listener);

    // Returns -1 after close().
    int fd() const { return listener_.get(); }

    void close() { listener_.reset(); }

    // Returns nullopt if no call waits to be taken.
    std::optional<seccomp_notif> take();

    // Does the call still wait? If not, facts that were read about its process may be of another
    // process.
    bool is_waiting(std::uint64_t id) const;

    // The call fails with that errno, or succeeds if it is 0. A caller that has ended needs no
    // answer.
    void answer(std::uint64_t id, int error) { send(id, error, 0); }

    // The kernel carries the call out.
    void let_through(std::uint64_t id) { send(id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE); }

private:
    void send(std::uint64_t id, int error, std::uint32_t flags);

    UniqueFd listener_;
    std::vector<char> buffer_; // for one notification or one answer, as large as the kernel's
};

// The same as Notifications::is_waiting(), for an errand that has the descriptor alone.
bool is_waiting(int listener, std::uint64_t id);

} // namespace ew::sandbox
