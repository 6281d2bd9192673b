#include "cli/shared/store_access.h"

#include "cli/shared/places.h"
#include "config/project.h"

#include <filesystem>
#include <system_error>

namespace ew::cli {

namespace {

std::string absolute(const std::string& path) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(path, error);
    return error ? path : whole.lexically_normal().string();
}

} // namespace

Result<std::unique_ptr<store::Store>> open_store(const std::string& option, store::UnixMs now) {
    const config::Paths paths = config::Paths::from_environment();
    const config::Config settings = TRY(settings_in_force(paths));
    store::StoreSettings keep;
    keep.audit_keep_days = settings.audit_keep_days;
    keep.session_keep_days = settings.session_keep_days;
    for (const std::string& path :
         {option, variable("EXECWARD_DATABASE"), settings.database, paths.state_database}) {
        if (path.empty()) continue;
        return store::Store::open(path == ":memory:" ? path : absolute(path), now, keep);
    }
    return Error{ErrorKind::store_unavailable, "there is no telling where the database is",
                 "set HOME or XDG_STATE_HOME, or name a file with --database"};
}

std::string project_of(const std::string& directory) {
    std::string path = absolute(directory.empty() ? "." : directory);
    while (path.size() > 1 && path.back() == '/')
        path.pop_back();
    return config::project_root(path);
}

} // namespace ew::cli
