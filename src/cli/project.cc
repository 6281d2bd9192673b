// execward project: whose own rules count.
#include "cli/project.h"

#include "base/byte_buffer.h"
#include "cli/shared/printing.h"
#include "cli/shared/store_access.h"
#include "config/project.h"
#include "core/text/display.h"
#include "json/writer.h"

#include <fmt/format.h>
#include <getopt.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view help =
    R"(Usage: execward project trust DIR
       execward project distrust DIR
       execward project list [--json]

A project can have rules of its own, in .execward/rules.d at its top. They can only make things
stricter, and they count once you trust the project that DIR is in: the git work tree around DIR, or
DIR. list prints the projects that are trusted. Running servers follow at their next command.

  --database=FILE  look there (EXECWARD_DATABASE, else what the settings say)
  --json           for programs: {"projects": [DIR…]}
  -h, --help       show this help

Exit status: 0, 1 it could not be done or was not trusted, 2 usage.
)";

constexpr std::array<option, 4> long_options = {{
    {"database", required_argument, nullptr, 'd'},
    {"json", no_argument, nullptr, 'j'},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
}};

int print_help() {
    print_line(help.substr(0, help.size() - 1)); // without the newline
    return finish(status_ok);
}

struct Options {
    std::string database;
    bool as_json = false;
    bool wants_help = false;
    bool is_usage_error = false;
    std::vector<std::string> words;
};

int refuse(std::string_view why) {
    fmt::print(stderr, "execward: {}; see execward project --help\n", why);
    return status_usage;
}

Options parse(int argc, char** argv) {
    Options options;
    for (int found = 0;
         (found = ::getopt_long(argc, argv, "h", long_options.data(), nullptr)) != -1;) {
        if (found == 'd') options.database = optarg;
        if (found == 'j') options.as_json = true;
        if (found == 'h') options.wants_help = true;
        if (found == '?') options.is_usage_error = true; // getopt has said why
    }
    options.words.assign(argv + optind, argv + argc);
    return options;
}

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

} // namespace

int project(int argc, char** argv) {
    const std::string_view action = argc > 1 ? argv[1] : "";
    if (action == "--help" || action == "-h") return print_help();
    if (action != "trust" && action != "distrust" && action != "list")
        return refuse(action.empty() ? "say trust, distrust or list"
                                     : fmt::format("there is no action '{}'", action));
    const Options options = parse(argc - 1, argv + 1);
    if (options.is_usage_error) return status_usage;
    if (options.wants_help) return print_help();
    if (action == "list" && !options.words.empty()) return refuse("list takes no directory");
    if (action != "list" && (options.words.size() != 1 || options.as_json))
        return refuse(fmt::format("{} takes one directory", action));

    Result<std::unique_ptr<store::Store>> store =
        open_store(options.database, store::Moment::now().wall);
    if (!store) return fail(store.error());
    if (action == "trust") return trust(**store, options.words.front());
    if (action == "distrust") return distrust(**store, options.words.front());
    return list(**store, options.as_json);
}

} // namespace ew::cli
