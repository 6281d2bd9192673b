// execward config: shows the settings that a server started here would have, and where they are.
// What makes a client start execward is in client_setup.
#include "cli/config.h"

#include "base/byte_buffer.h"
#include "cli/setup/client_setup.h"
#include "cli/setup/toml_text.h"
#include "cli/shared/printing.h"
#include "config/config.h"
#include "config/paths.h"
#include "config/settings.h"
#include "core/text/display.h"
#include "json/writer.h"

#include <fmt/core.h>
#include <getopt.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

namespace ew::cli {

namespace {

constexpr std::string_view help =
    R"(Usage: execward config show [--json] [--config FILE]
       execward config path
       execward config init --client=codex|vscode-jsonrpc|emacs|neovim [OPTION…]

show prints every setting with its meaning, its value, and whether that is the default or comes from
the file of settings. What it prints can be used as such a file. path prints where the file is, or
would be: $XDG_CONFIG_HOME/execward/config.toml. init prints what makes a client start execward, or
for Codex writes it; execward config init --help tells more.

  --json         for programs
  --config=FILE  look at this file (EXECWARD_CONFIG, else what path prints)
  -h, --help     show this help

Options and environment variables of execward serve, and what a client sets, win over the file and
are not shown. Exit status: 0, 1 there is a mistake in the file, 2 usage.
)";

constexpr std::array<option, 4> long_options = {{
    {"json", no_argument, nullptr, 'j'},
    {"config", required_argument, nullptr, 'c'},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
}};

struct Options {
    bool as_json = false;
    bool wants_help = false;
    bool is_usage_error = false;
    std::string file; // empty: the default one
    std::string action;
};

Options parse(int argc, char** argv) {
    Options options;
    const char* const variable = std::getenv("EXECWARD_CONFIG");
    if (variable != nullptr) options.file = variable;
    for (int found = 0;
         (found = ::getopt_long(argc, argv, "h", long_options.data(), nullptr)) != -1;) {
        if (found == 'j') options.as_json = true;
        if (found == 'c') options.file = optarg;
        if (found == 'h') options.wants_help = true;
        if (found == '?') options.is_usage_error = true; // getopt has said why
    }
    if (optind + 1 == argc) options.action = argv[optind];
    const bool is_known = options.action == "show" || options.action == "path";
    options.is_usage_error = options.is_usage_error || !is_known;
    return options;
}

// Of what is more than a word or a list of words.
using cli::json_of;
using cli::toml_of;

// The value in a type that can be written.
template <class T>
auto plain(const T& value) {
    if constexpr (std::is_enum_v<T>)
        return std::string(config::names_of<T>[static_cast<std::size_t>(value)]);
    else if constexpr (std::is_same_v<T, Millis>)
        return std::int64_t{value.count()};
    else
        return value;
}

template <class T>
std::string json_of(const T& value) {
    ByteBuffer out;
    json::write_value(out, plain(value));
    return std::string(out.view());
}

// Which for everything but tables looks as in JSON.
template <class T>
std::string toml_of(const T& value) {
    return json_of(value);
}

struct Shown {
    config::Setting setting;
    std::string toml;
    std::string json;
    std::string choices; // of an enum
};

class Collector {
public:
    template <class T>
    void operator()(const config::Setting& setting, const T& value) {
        Shown shown = {setting, toml_of(value), json_of(value), {}};
        if constexpr (std::is_enum_v<T>)
            for (const std::string_view name : config::names_of<T>)
                shown.choices += (shown.choices.empty() ? "" : ", ") + std::string(name);
        settings_.push_back(std::move(shown));
    }

    std::vector<Shown> take() { return std::move(settings_); }

private:
    std::vector<Shown> settings_;
};

std::vector<Shown> collect(config::Config config) {
    Collector collector;
    config::visit_settings(collector, config);
    return collector.take();
}

struct Report {
    std::string path;
    config::ConfigFile file;
    config::Paths places;
    std::vector<Shown> now;
    std::vector<Shown> defaults; // in the same order

    bool is_given(const Shown& shown) const {
        const std::vector<std::string>& given = file.given;
        return std::find(given.begin(), given.end(), shown.setting.full_name()) != given.end();
    }

    std::string database() const {
        return file.config.database.empty() ? places.state_database : file.config.database;
    }
};

void print_setting(const Report& report, const Shown& now, const Shown& by_default) {
    constexpr std::size_t width = 78;
    std::string_view meaning = now.setting.meaning;
    while (!meaning.empty()) {
        std::size_t end = meaning.size() > width ? meaning.rfind(' ', width) : meaning.size();
        if (end == std::string_view::npos) end = meaning.size();
        fmt::print("# {}\n", meaning.substr(0, end));
        meaning.remove_prefix(std::min(meaning.size(), end + 1));
    }
    if (!now.choices.empty()) fmt::print("# One of {}.\n", now.choices);
    const std::string origin = report.is_given(now)
                                   ? fmt::format("from the file; default {}", by_default.toml)
                                   : std::string("default");
    fmt::print("{} = {}  # {}\n\n", now.setting.name, now.toml, origin);
}

void print_for_person(const Report& report) {
    fmt::print("# Settings:  {}{}\n# Rules:     {}\n# Database:  {}\n\n", report.path,
               report.file.exists ? "" : " (does not exist)", report.places.rules_directory,
               report.database());
    std::string_view table;
    for (std::size_t i = 0; i < report.now.size(); ++i) {
        const Shown& shown = report.now[i];
        if (shown.setting.table != table) fmt::print("[{}]\n", shown.setting.table);
        table = shown.setting.table;
        print_setting(report, shown, report.defaults[i]);
    }
}

void print_json(const Report& report) {
    ByteBuffer out;
    out.append(std::string_view("{\"file\":"));
    json::write_string(out, report.path);
    out.append(std::string_view(",\"exists\":"));
    json::write_value(out, report.file.exists);
    out.append(std::string_view(",\"rulesDirectory\":"));
    json::write_string(out, report.places.rules_directory);
    out.append(std::string_view(",\"database\":"));
    json::write_string(out, report.database());
    out.append(std::string_view(",\"settings\":["));
    for (std::size_t i = 0; i < report.now.size(); ++i) {
        const Shown& shown = report.now[i];
        out.append(i == 0 ? std::string_view("{\"name\":") : std::string_view(",{\"name\":"));
        json::write_string(out, shown.setting.full_name());
        out.append(
            fmt::format(",\"value\":{},\"default\":{},\"origin\":\"{}\",\"meaning\":", shown.json,
                        report.defaults[i].json, report.is_given(shown) ? "file" : "default"));
        json::write_string(out, shown.setting.meaning);
        out.append('}');
    }
    out.append(std::string_view("]}\n"));
    (void)std::fwrite(out.data(), 1, out.size(), stdout); // a failure shows when it is flushed
}

int show(const Options& options, const config::Paths& places) {
    const bool is_default = options.file.empty();
    Report report;
    report.path = is_default ? places.config_file : options.file;
    report.places = places;
    Result<config::ConfigFile> file = config::load_config(
        report.path, is_default ? config::WhenMissing::use_defaults : config::WhenMissing::fail);
    if (!file) {
        fmt::print(stderr, "{}\n", file.error().message);
        if (!file.error().hint.empty()) fmt::print(stderr, "hint: {}\n", file.error().hint);
        return status_failure;
    }
    report.file = std::move(*file);
    report.now = collect(report.file.config);
    report.defaults = collect({});
    if (options.as_json)
        print_json(report);
    else
        print_for_person(report);
    return status_ok;
}

int path(const Options& options, const config::Paths& places) {
    const std::string& file = options.file.empty() ? places.config_file : options.file;
    if (!file.empty()) {
        fmt::print("{}\n", file);
        return status_ok;
    }
    fmt::print(stderr, "execward: there is no place for a file of settings: set HOME or "
                       "XDG_CONFIG_HOME to an absolute path\n");
    return status_failure;
}

} // namespace

int config(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "init") return config_init(argc - 1, argv + 1);
    const Options options = parse(argc, argv);
    if (options.wants_help || options.is_usage_error) {
        fmt::print(options.wants_help ? stdout : stderr, "{}", help);
        return options.wants_help ? status_ok : status_usage;
    }
    const config::Paths places = config::Paths::from_environment();
    const int status = options.action == "show" ? show(options, places) : path(options, places);
    return std::fflush(stdout) == 0 ? status : status_failure;
}

} // namespace ew::cli
