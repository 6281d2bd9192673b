// An errand whose result the loop waits for: it is in a poller as long as it lives, and has a
// result in any case once it is late.
#pragma once

#include "os/errand.h"
#include "os/poller.h"

#include <optional>
#include <string>

namespace ew::os {

class WatchedErrand {
public:
    WatchedErrand(Errand errand, Poller& poller, Token token);
    ~WatchedErrand();
    WatchedErrand(const WatchedErrand&) = delete;
    WatchedErrand& operator=(const WatchedErrand&) = delete;

    // Returns nullopt if it is not done yet. A late errand has "it took too long" for a result.
    std::optional<std::string> take_result(TimePoint now);

    TimePoint deadline() const { return errand_.deadline(); }

    pid_t pid() const { return errand_.pid(); }

private:
    Errand errand_;
    Poller& poller_;
};

} // namespace ew::os
