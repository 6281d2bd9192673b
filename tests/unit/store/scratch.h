// A directory for one test, and short ways to say what is stored.
#pragma once

#include "store/store.h"
#include "support/testing.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace ew::test {

class Scratch {
public:
    Scratch() {
        std::string path = std::filesystem::temp_directory_path() / "store-XXXXXX";
        if (::mkdtemp(path.data()) != nullptr) directory_ = path;
    }

    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    ~Scratch() {
        std::error_code ignored;
        if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
    }

    std::string path(const std::string& name = "execward.db") const {
        return directory_ + "/" + name;
    }

    const std::string& directory() const { return directory_; }

private:
    std::string directory_;
};

constexpr store::UnixMs noon = 1'700'000'000'000;
constexpr store::UnixMs one_day = 24LL * 3600 * 1000;

inline std::unique_ptr<store::Store> open_store(const std::string& path, store::UnixMs now = noon,
                                                store::StoreSettings settings = {}) {
    Result<std::unique_ptr<store::Store>> opened = store::Store::open(path, now, settings);
    REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message));
    return std::move(*opened);
}

// The value of a result that must be one.
template <class T>
T good(Result<T> result) {
    REQUIRE_MESSAGE(result, (result ? "" : result.error().message));
    return std::move(*result);
}

inline void done(Result<void> result) {
    REQUIRE_MESSAGE(result, (result ? "" : result.error().message));
}

inline store::AuditRow row(const std::string& event, store::UnixMs at = noon) {
    store::AuditRow row;
    row.at = at;
    row.event = event;
    return row;
}

inline store::Grant grant(store::GrantScope scope, const std::string& key,
                          const std::string& session = "s") {
    store::Grant grant;
    grant.scope = scope;
    grant.key = key;
    grant.command = key;
    grant.origin = "approval";
    if (store::ends_with_session(scope)) grant.session = session;
    if (scope == store::GrantScope::project) grant.project = "/p";
    if (scope == store::GrantScope::directory || scope == store::GrantScope::workspace)
        grant.directory = "/p/src";
    return grant;
}

inline std::int64_t keep(store::Store& store, const store::Grant& grant, store::UnixMs now = noon) {
    return good(store.record(row("decision", now), grant));
}

// The id of the grant that lets session "s" in project "/p" run this; 0: it must ask.
inline std::int64_t allowed_by(store::Store& store, const std::string& key,
                               const std::string& directory, store::UnixMs now = noon) {
    const auto found = good(store.find_command(key, directory, "s", "/p", now));
    return found ? found->id : 0;
}

} // namespace ew::test
