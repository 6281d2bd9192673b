#include "server/session/session.h"

#include "base/check.h"
#include "config/linked_file.h"
#include "config/project.h"
#include "core/screen/screen.h"
#include "core/sha256.h"
#include "protocol/methods.h"
#include "store/store.h"
#include "version.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace ew::server {

namespace {

std::string absolute_or(const char* path, std::string otherwise) {
    return path != nullptr && path[0] == '/' ? std::string(path) : std::move(otherwise);
}

protocol::Shell shell_of_user() {
    const std::array<std::string, 3> candidates = {absolute_or(std::getenv("SHELL"), "/bin/bash"),
                                                   "/bin/bash", "/bin/sh"};
    for (const std::string& path : candidates)
        if (::access(path.c_str(), X_OK) == 0) return {path.substr(path.rfind('/') + 1), path};
    return {"sh", "/bin/sh"};
}

std::string working_directory() {
    char* const path = ::getcwd(nullptr, 0); // getcwd(3) allocates the buffer
    std::string result = path != nullptr ? path : "/";
    std::free(path);
    return result;
}

protocol::EnvironmentInfo look_around() {
    protocol::EnvironmentInfo info;
    info.shell = shell_of_user();
    info.executor_version = program_version;
    info.cwd.native = working_directory();
    const std::string home = absolute_or(std::getenv("HOME"), "");
    if (!home.empty()) info.user_home_dir = protocol::FileUri{home};
    const std::string temp = absolute_or(std::getenv("TMPDIR"), "");
    info.temp_dir.native = temp.empty() ? "/tmp" : temp;
    if (!temp.empty()) info.temporary_directories.push_back({temp});
    info.platform_os = "linux";
    info.capabilities = {{"fsWatchMissing", true},
                         {"sandboxedFileStreaming", true},
                         {"fileWriteStreaming", true},
                         {"networkProxyLaunch", true}};
    return info;
}

// Returns a version 4 UUID (RFC 9562). Only the client that got it knows it.
std::string random_session_id() {
    std::array<unsigned char, 16> b = {};
    CHECK(::getrandom(b.data(), b.size(), 0) == static_cast<ssize_t>(b.size()));
    b[6] = static_cast<unsigned char>((b[6] & 0x0f) | 0x40);
    b[8] = static_cast<unsigned char>((b[8] & 0x3f) | 0x80);
    std::string id;
    for (std::size_t i = 0; i < b.size(); ++i)
        id += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
    return id;
}

Result<void> check_settings_link(const std::string& file, std::vector<std::string> writable,
                                 const config::Config& config) {
    if (config.sandbox != core::SandboxMode::workspace_write) return {};
    const std::vector<std::string>& more = config.confinement.writable_roots;
    writable.insert(writable.end(), more.begin(), more.end());
    return config::check_link(file, writable);
}

} // namespace

Session::Session(SessionSetup setup, std::uint8_t test_ids)
    : test_ids_(test_ids), setup_(std::move(setup)), environment_(look_around()) {
    settings_.config = setup_.config;
    settings_.workspace_roots = {environment_.cwd.native};
}

protocol::Settings Session::configure(const protocol::Settings& changes) {
    apply(settings_, changes);
    hold_roots(changes);
    project_ = config::project_root(settings_.workspace_roots.front());
    return to_wire(settings_);
}

// Roots are resolved once, when they are named: a program of another session may replace one later.
void Session::hold_roots(const protocol::Settings& changes) {
    std::vector<std::string> names =
        settings_.named_roots.empty() ? settings_.workspace_roots : settings_.named_roots;
    const std::vector<std::string>& more = settings_.config.confinement.writable_roots;
    const std::size_t workspace = names.size();
    names.insert(names.end(), more.begin(), more.end());
    const bool names_more = changes.confinement && changes.confinement->writable_roots;
    std::vector<os::HeldDirectory> held;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool is_new = i < workspace ? changes.workspace_roots.has_value() : names_more;
        const auto old = std::ranges::find_if(roots_, [&](const os::HeldDirectory& root) {
            return !is_new && root.known.name == names[i];
        });
        if (old != roots_.end())
            held.push_back(std::move(*old));
        else if (std::optional<os::HeldDirectory> root = os::hold_directory(names[i]))
            held.push_back(std::move(*root));
    }
    roots_ = std::move(held);
    settings_.known_roots.clear();
    for (const os::HeldDirectory& root : roots_)
        settings_.known_roots.push_back(root.known);
}

const std::string& Session::database() const {
    const std::string& configured = settings_.config.database;
    return configured.empty() ? setup_.paths.state_database : configured;
}

// Checks that the database knows the session. The connection is closed again: a connection must not
// be carried over a fork (SQLite: "How To Corrupt", section 2.6).
Result<void> Session::resume(const std::string& id) const {
    const store::UnixMs now = store::Moment::now().wall;
    std::unique_ptr<store::Store> store = TRY(store::Store::open(database(), now));
    if (!TRY(store->resume_session(id, now)))
        return Error{ErrorKind::unknown_session, fmt::format("no session '{}'", id),
                     "start a new one: leave resumeSessionId out"};
    return {};
}

Result<void> Session::check_ready() const {
    switch (phase_) {
    case Phase::ready: return {};
    case Phase::new_connection:
        return Error{ErrorKind::not_initialized, "the first request must be initialize"};
    case Phase::answered:
        return Error{ErrorKind::not_initialized,
                     "the notification initialized must come before other requests"};
    case Phase::shut_down:
        return Error{ErrorKind::shutting_down, "after shutdown only exit is expected"};
    }
    return {};
}

Result<protocol::InitializeResult> Session::initialize(const protocol::InitializeParams& params) {
    if (phase_ != Phase::new_connection)
        return Error{ErrorKind::invalid_request, "the connection is initialized already"};
    if (!params.client_name && !params.client_info)
        return Error{ErrorKind::invalid_params, "clientName: expected to be present", "",
                     "clientName"};
    if (params.resume_session_id) TRY(resume(*params.resume_session_id));
    if (params.process_id) client_process_ = static_cast<pid_t>(*params.process_id);
    wants_extensions_ = params.capabilities && params.capabilities->extensions;
    wants_input_state_ = params.capabilities && params.capabilities->input_state;
    answers_questions_ = params.capabilities && params.capabilities->approvals;
    (void)configure(params.settings.value_or(protocol::Settings{}));
    TRY(check_settings_link(setup_.paths.config_file, settings_.workspace_roots, settings_.config));
    const bool is_by_chance = test_ids_ == 0;
    id_ = params.resume_session_id.value_or(is_by_chance ? random_session_id()
                                                         : fmt::format("session-{}", test_ids_));
    tag_ = core::sha256(id_);
    phase_ = Phase::answered;

    protocol::InitializeResult result;
    result.session_id = id_;
    result.server_info = {"execward", std::string(program_version)};
    result.protocol_version = protocol::protocol_version;
    result.capabilities = {{"processes", true}, {"extensions", true},
                           {"exec", true},      {"approvals", true},
                           {"files", true},     {"screen", core::Screen::is_available()}};
    result.environment_info = environment_;
    return result;
}

void Session::note_initialized() {
    if (phase_ == Phase::answered) phase_ = Phase::ready;
}

} // namespace ew::server
