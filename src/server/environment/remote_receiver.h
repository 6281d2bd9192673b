// Passes the events of the connections to remote servers on to their processes, and keeps the news
// for which calls of the exec layer wait.
#pragma once

#include "base/error.h"
#include "server/environment/connection_listener.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::server {

class ProcessService;
class RemoteProcess;

// A connection is ready, or has failed before it was ready.
struct EnvironmentNews {
    std::string environment = {};
    std::uint64_t connection = 0;
    std::optional<Error> failure = {}; // nullopt: the connection is ready
};

class RemoteReceiver final : public ConnectionListener {
public:
    explicit RemoteReceiver(ProcessService& processes) : processes_(processes) {}

    std::vector<EnvironmentNews> take_news() { return std::exchange(news_, {}); }

    // Resumes lost processes whose output was held up because the client did not read. Returns true
    // if one of them could go on.
    bool resume_lost();

    void on_ready(RemoteConnection& connection) override;
    void on_failed(RemoteConnection& connection, std::uint64_t serial, const Error& error) override;
    void on_lost(RemoteConnection& connection, std::uint64_t serial, const Error& error) override;
    void on_room(RemoteConnection& connection) override;
    std::string on_answer(RemoteConnection& connection, const PendingRequest& request,
                          const protocol::Message& message) override;
    std::string on_notification(RemoteConnection& connection,
                                const protocol::Message& message) override;
    void on_unanswered(const PendingRequest& request, const Error& error) override;

private:
    RemoteProcess* find(std::uint64_t process);
    RemoteProcess* find_there(const RemoteConnection& connection, std::string_view id);
    template <class Predicate>
    std::vector<std::uint64_t> serials_of(Predicate matches);
    std::vector<std::uint64_t> sent_over(const RemoteConnection& connection, std::uint64_t serial);

    ProcessService& processes_;
    std::vector<EnvironmentNews> news_;
};

} // namespace ew::server
