// The handshake, and what is true of this machine.
#pragma once

#include "base/result.h"
#include "config/paths.h"
#include "protocol/session.h"
#include "server/session/session_settings.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace ew::server {

struct SessionSetup {
    config::Config config = {};
    config::Paths paths = {};
    std::string system_rules_directory = {};
};

class Session {
public:
    enum class Phase : std::uint8_t {
        new_connection,
        answered, // initialize was answered, `initialized` has not come
        ready,
        shut_down, // only `exit` is expected
    };

    Session(SessionSetup setup, bool has_test_ids);

    Phase phase() const { return phase_; }

    // May a known request other than initialize be served now?
    Result<void> check_ready() const;

    Result<protocol::InitializeResult> initialize(const protocol::InitializeParams& params);
    void note_initialized();

    void shut_down() { phase_ = Phase::shut_down; }

    // Takes changes over; returns what is in force then.
    protocol::Settings configure(const protocol::Settings& changes);

    const SessionSettings& settings() const { return settings_; }

    const std::string& id() const { return id_; }

    // What programs may know it by: who has the id can resume the session.
    const std::string& tag() const { return tag_; }

    // The project that the first workspace root is in.
    const std::string& project() const { return project_; }

    const SessionSetup& setup() const { return setup_; }

    // The database file; ":memory:" is possible, empty is not.
    const std::string& database() const;

    // The client can ask a person.
    bool answers_questions() const { return answers_questions_; }

    const protocol::EnvironmentInfo& environment() const { return environment_; }

    bool wants_extensions() const { return wants_extensions_; }

    // The process whose end ends us, if the client named one.
    std::optional<pid_t> client_process() const { return client_process_; }

private:
    Result<void> resume(const std::string& id) const;

    Phase phase_ = Phase::new_connection;
    bool has_test_ids_;
    bool wants_extensions_ = false;
    bool answers_questions_ = false;
    SessionSetup setup_;
    SessionSettings settings_;
    std::string id_;
    std::string tag_;
    std::string project_;
    std::optional<pid_t> client_process_;
    protocol::EnvironmentInfo environment_;
};

} // namespace ew::server
