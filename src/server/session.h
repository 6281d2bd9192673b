// The handshake, and what is true of this machine.
#pragma once

#include "base/result.h"
#include "protocol/session.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace ew::server {

class Session {
public:
    enum class Phase : std::uint8_t {
        new_connection,
        answered, // initialize was answered, `initialized` has not come
        ready,
        shut_down, // only `exit` is expected
    };

    explicit Session(bool has_test_ids);

    Phase phase() const { return phase_; }

    // May a known request other than initialize be served now?
    Result<void> check_ready() const;

    Result<protocol::InitializeResult> initialize(const protocol::InitializeParams& params);
    void note_initialized();

    void shut_down() { phase_ = Phase::shut_down; }

    const protocol::EnvironmentInfo& environment() const { return environment_; }

    bool wants_extensions() const { return wants_extensions_; }

    // The process whose end ends us, if the client named one.
    std::optional<pid_t> client_process() const { return client_process_; }

private:
    Phase phase_ = Phase::new_connection;
    bool has_test_ids_;
    bool wants_extensions_ = false;
    std::optional<pid_t> client_process_;
    protocol::EnvironmentInfo environment_;
};

} // namespace ew::server
