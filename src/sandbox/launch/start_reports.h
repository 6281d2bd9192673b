// The server's end of the reports of a start (init/wire.h). It never waits.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/init/wire.h"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ew::sandbox {

// One report, as it was received.
struct StartReport {
    wire::Record record = {};
    std::string text = {};
    pid_t sender = 0; // as we see it
    UniqueFd descriptor = {};

    // The text as texts that each end with a NUL, and as numbers of 8 bytes.
    std::vector<std::string> texts() const;
    std::vector<std::uint64_t> numbers() const;
};

class StartReports {
public:
    // Returns the other end, which is for the process of the start. Errors: no more descriptors.
    Result<UniqueFd> open();

    // Readable when take() does not return `none`.
    int fd() const { return socket_.get(); }

    enum class Taken : std::uint8_t {
        report,
        none, // for now
        end,  // the other side has closed its end, or sent what our processes do not send
        loss, // the server had no descriptor left for the one of a report
    };

    Taken take(StartReport& report);

private:
    UniqueFd socket_;
};

} // namespace ew::sandbox
