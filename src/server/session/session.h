// The client's session: the handshake, the settings in force, and the facts about this machine.
#pragma once

#include "base/result.h"
#include "config/paths.h"
#include "protocol/session.h"
#include "protocol/settings.h"
#include "server/session/session_settings.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
        answered, // initialize was answered; `initialized` has not arrived
        ready,
        shut_down, // the client may only send `exit`
    };

    Session(SessionSetup setup, std::uint8_t test_ids);

    Phase phase() const { return phase_; }

    // Returns an error if requests other than initialize cannot be served now.
    Result<void> check_ready() const;

    Result<protocol::InitializeResult> initialize(const protocol::InitializeParams& params);
    void note_initialized();

    void shut_down() { phase_ = Phase::shut_down; }

    // Applies changes. Returns the settings in force afterwards.
    protocol::Settings configure(const protocol::Settings& changes);

    const SessionSettings& settings() const { return settings_; }

    const std::string& id() const { return id_; }

    // The name of the session for programs. They must not learn the id: a client with the id can
    // resume the session.
    const std::string& tag() const { return tag_; }

    // The project of the first workspace root.
    const std::string& project() const { return project_; }

    const SessionSetup& setup() const { return setup_; }

    // Returns the path of the database file. It can be ":memory:" but is never empty.
    const std::string& database() const;

    // Returns true if the client can ask a person.
    bool answers_questions() const { return answers_questions_; }

    const protocol::EnvironmentInfo& environment() const { return environment_; }

    bool wants_extensions() const { return wants_extensions_; }

    bool wants_input_state() const { return wants_input_state_; }

    // The server ends when this process ends. nullopt if the client named no process.
    std::optional<pid_t> client_process() const { return client_process_; }

private:
    Result<void> resume(const std::string& id) const;
    void hold_roots(const protocol::Settings& changes);

    Phase phase_ = Phase::new_connection;
    std::uint8_t test_ids_;
    bool wants_extensions_ = false;
    bool wants_input_state_ = false;
    bool answers_questions_ = false;
    SessionSetup setup_;
    SessionSettings settings_;
    std::vector<os::HeldDirectory> roots_; // those of the settings
    std::string id_;
    std::string tag_;
    std::string project_;
    std::optional<pid_t> client_process_;
    protocol::EnvironmentInfo environment_;
};

} // namespace ew::server
