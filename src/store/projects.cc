#include "store/projects.h"

namespace ew::store {

namespace {

constexpr std::string_view insert_project =
    "insert into projects (directory, trusted_at) values (?1, ?2) on conflict do nothing";
constexpr std::string_view delete_project = "delete from projects where directory = ?1";
constexpr std::string_view select_project = "select 1 from projects where directory = ?1";
constexpr std::string_view select_projects = "select directory from projects order by directory";

} // namespace

Result<void> trust(Database& database, std::string_view directory, UnixMs now) {
    Statement statement = TRY(database.prepare(insert_project));
    return statement.bind(directory).bind(now).run();
}

Result<bool> distrust(Database& database, std::string_view directory) {
    Statement statement = TRY(database.prepare(delete_project));
    TRY(statement.bind(directory).run());
    return database.changed_rows() > 0;
}

Result<bool> is_trusted(Database& database, std::string_view directory) {
    Statement statement = TRY(database.prepare(select_project));
    return statement.bind(directory).step();
}

Result<std::vector<std::string>> trusted(Database& database) {
    Statement statement = TRY(database.prepare(select_projects));
    std::vector<std::string> directories;
    while (TRY(statement.step()))
        directories.push_back(statement.text(0));
    return directories;
}

} // namespace ew::store
