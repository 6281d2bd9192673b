// execward project: chooses the projects whose own rules count.
#include "cli/project.h"

#include "base/byte_buffer.h"
#include "cli/shared/printing.h"
#include "cli/shared/store_access.h"
#include "config/project.h"
#include "core/text/display.h"
#include "json/writer.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward project trust DIR
       execward project distrust DIR
       execward project list [--json]

A project can have rules of its own, in .execward/rules.d at its top. They can only make things
stricter, and they count once you trust the project that DIR is in: the git work tree around DIR, or
DIR. list prints the projects that are trusted. Running servers follow at their next command.
)";

constexpr auto options = std::to_array<Option>({
    database_option,
    {.name = "json", .meaning = "for programs: {\"projects\": [DIR…]}", .actions = "list"},
});

constexpr std::string_view notes =
    R"(Exit status: 0, 1 it could not be done or was not trusted, 2 usage.
)";

constexpr Operands one_directory = {.name = "DIR", .least = 1, .most = 1};
constexpr auto actions =
    std::to_array<Action>({{"trust", one_directory}, {"distrust", one_directory}, {"list"}});

int trust(store::Store& store, const std::string& directory) {
    std::error_code error;
    if (!std::filesystem::is_directory(directory, error))
        return fail(Error{ErrorKind::invalid_params,
                          fmt::format("{} is no directory", core::visible(directory))});
    const std::string project = project_of(directory);
    if (Result<void> done = store.trust_project(project, store::Moment::now().wall); !done)
        return fail(done.error());
    print_line(fmt::format("{} is trusted: what {} asks for and forbids counts",
                           core::visible(project),
                           core::visible(config::project_rules_dir(project))));
    return finish(status_ok);
}

int distrust(store::Store& store, const std::string& directory) {
    const std::string project = project_of(directory);
    Result<bool> done = store.distrust_project(project);
    if (!done) return fail(done.error());
    if (!*done)
        return fail(Error{ErrorKind::invalid_params,
                          fmt::format("{} was not trusted", core::visible(project)),
                          "execward project list shows what is"});
    print_line(fmt::format("{} is not trusted any more", core::visible(project)));
    return finish(status_ok);
}

int list(store::Store& store, bool as_json) {
    Result<std::vector<std::string>> projects = store.trusted_projects();
    if (!projects) return fail(projects.error());
    if (as_json) {
        ByteBuffer text;
        text.append(std::string_view("{\"projects\":"));
        json::write_value(text, *projects);
        text.append('}');
        print_line(text.view());
        return finish(status_ok);
    }
    for (const std::string& project : *projects)
        print_line(core::visible(project));
    return finish(status_ok);
}

int project(const Arguments& arguments) {
    Result<std::unique_ptr<store::Store>> store =
        open_store(arguments.value("database").value_or(""), store::Moment::now().wall);
    if (!store) return fail(store.error());
    if (arguments.action() == "trust") return trust(**store, arguments.operands().front());
    if (arguments.action() == "distrust") return distrust(**store, arguments.operands().front());
    return list(**store, arguments.has("json"));
}

} // namespace

constinit const Command project_command = {
    .name = "project",
    .summary = "trust the rules of a project, or stop trusting them",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = project};

} // namespace ew::cli
