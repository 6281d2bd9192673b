// execward config: shows the settings that a server started here would use, and their sources. The
// setup of a client is in setup/client_setup.
#include "cli/config.h"

#include "base/byte_buffer.h"
#include "cli/setup/toml_text.h"
#include "cli/shared/places.h"
#include "config/config.h"
#include "config/paths.h"
#include "config/settings.h"
#include "core/network/proxy.h"
#include "core/text/display.h"
#include "json/writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward config show [--json] [--config FILE]
       execward config path
       execward config init --client=CLIENT [OPTION…]

show prints every setting with its meaning, its value, and whether that is the default or comes from
the file of settings. What it prints can be used as such a file. path prints where the file is, or
would be: $XDG_CONFIG_HOME/execward/config.toml. init prints what makes a client start execward, or
writes it into the client's settings; execward config init --help has the clients.
)";

constexpr auto options = std::to_array<Option>({
    {"json", "", "for programs"},
    {"config", "FILE", "look at this file", "EXECWARD_CONFIG, else what path prints"},
});

constexpr std::string_view notes =
    R"(Options and environment variables of execward serve, and what a client sets, win over the file and
are not shown. Exit status: 0, 1 there is a mistake in the file, 2 usage.
)";

constexpr auto actions = std::to_array<Action>({{"show"}, {"path"}});

// Overloads for tables.
using cli::json_of;
using cli::toml_of;

// Converts a value to a type that can be written.
template <class T>
auto plain(const T& value) {
    if constexpr (std::is_enum_v<T>)
        return std::string(config::name_of(value));
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

// All values but tables look the same in TOML and in JSON.
template <class T>
std::string toml_of(const T& value) {
    return json_of(value);
}

// A long list takes several lines.
std::string toml_of(const std::vector<std::string>& values) {
    constexpr std::size_t width = 78;
    std::string text = json_of(values);
    if (text.size() <= width) return text;
    text = "[";
    std::size_t line = width;
    for (const std::string& value : values) {
        const std::string item = json_of(value) + ',';
        const bool fits = line + 1 + item.size() <= width;
        text += fits ? " " : "\n    ";
        line = fits ? line + 1 + item.size() : item.size();
        text += item;
    }
    return text + "\n]";
}

struct Shown {
    config::Setting setting;
    std::string toml;
    std::string json;
    std::string choices; // of an enum
};

class Collector {
public:
    // What is printed may be passed on: a password of a proxy is not in it.
    void operator()(const config::Setting& setting, const std::string& value) {
        const std::string shown =
            setting.name == "network_proxy" ? core::without_password(value) : value;
        settings_.push_back({setting, toml_of(shown), json_of(shown), {}});
    }

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
    std::string origin = "default";
    if (report.is_given(now)) {
        origin = "from the file";
        const bool is_one_line = by_default.toml.find('\n') == std::string::npos;
        if (is_one_line) origin += "; default " + by_default.toml;
    }
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
    (void)std::fwrite(out.data(), 1, out.size(), stdout); // finish() reports a failure
}

// Returns true for a list of mistakes, "FILE:LINE:COLUMN: …". Editors find the places in it if
// nothing stands before them.
bool begins_with_place(std::string_view message, std::string_view path) {
    constexpr std::string_view digits = "0123456789";
    const std::size_t behind = path.size() + 1;
    return message.size() > behind && digits.find(message[behind]) != std::string_view::npos;
}

int show(const std::string& named, const config::Paths& places, bool as_json) {
    Report report;
    report.path = named.empty() ? places.config_file : named;
    report.places = places;
    Result<config::ConfigFile> file = config::load_config(
        report.path, named.empty() ? config::WhenMissing::use_defaults : config::WhenMissing::fail);
    if (!file) {
        const std::string& message = file.error().message;
        fmt::print(stderr, "{}{}\n",
                   begins_with_place(message, report.path) ? "" : "execward: ", message);
        if (!file.error().hint.empty()) fmt::print(stderr, "hint: {}\n", file.error().hint);
        return status_failure;
    }
    report.file = std::move(*file);
    report.now = collect(report.file.config);
    report.defaults = collect({});
    if (as_json)
        print_json(report);
    else
        print_for_person(report);
    return status_ok;
}

int path(const std::string& named, const config::Paths& places) {
    const std::string& file = named.empty() ? places.config_file : named;
    if (!file.empty()) {
        fmt::print("{}\n", file);
        return status_ok;
    }
    fmt::print(stderr, "execward: there is no place for a file of settings: set HOME or "
                       "XDG_CONFIG_HOME to an absolute path\n");
    return status_failure;
}

int config(const Arguments& arguments) {
    const std::string named = arguments.value("config").value_or(variable("EXECWARD_CONFIG"));
    const config::Paths places = config::Paths::from_environment();
    const int status = arguments.action() == "show" ? show(named, places, arguments.has("json"))
                                                    : path(named, places);
    return std::fflush(stdout) == 0 ? status : status_failure;
}

} // namespace

constinit const Command config_command = {
    .name = "config",
    .summary = "show every setting, and where it comes from; set up a client",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = config,
    .is_help_shown = true};

} // namespace ew::cli
