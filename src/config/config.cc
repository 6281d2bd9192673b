#include "config/config.h"

#include "config/environments.h"
#include "config/owned_file.h"
#include "config/settings.h"
#include "core/network/proxy.h"
#include "core/text/patterns.h"
#include "toml/toml.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <type_traits>

namespace ew::config {

namespace {

using toml::Problem;
using toml::Table;
using toml::TableReader;

bool is_absolute(const std::string& path) {
    return path.starts_with('/') && path.find('\0') == std::string::npos;
}

bool is_absolute_or_pattern(const std::string& path) {
    const bool is_pattern = core::is_pattern(path);
    return is_absolute(path) || (is_pattern && path.find('\0') == std::string::npos);
}

bool is_place(const std::string& path) {
    return !path.empty() && path.find('\0') == std::string::npos && !path.starts_with("../") &&
           path.find("/../") == std::string::npos && !path.ends_with("/..") && path != "..";
}

// Reads each setting that the file has, and records its name.
class Loader {
public:
    Loader(const Table& top, const std::string& file)
        : file_(file),
          top_(top, file, problems_),
          confinement_(find(top_, "confinement"), file, problems_, "confinement"),
          granular_(find(top_, "granular"), file, problems_, "granular"),
          environment_(find_variables(), file, problems_, "environment") {}

    void operator()(const Setting& setting, bool& value) {
        take(setting, reader(setting).boolean(setting.name), value);
    }

    void operator()(const Setting& setting, std::string& value) {
        take(setting, reader(setting).string(setting.name), value);
    }

    void operator()(const Setting& setting, std::vector<std::string>& value) {
        take(setting, reader(setting).strings(setting.name), value);
    }

    void operator()(const Setting& setting, Millis& value) {
        const auto number = reader(setting).integer(setting.name, setting.least, setting.most);
        if (number) take(setting, std::optional(Millis(*number)), value);
    }

    template <class Number>
    requires std::is_integral_v<Number>

    void operator()(const Setting& setting, Number& value) {
        const auto number = reader(setting).integer(setting.name, setting.least, setting.most);
        if (number) take(setting, std::optional(static_cast<Number>(*number)), value);
    }

    template <class Enum>
    requires std::is_enum_v<Enum>

    void operator()(const Setting& setting, Enum& value) {
        const auto& names = names_of<Enum>;
        const auto name = reader(setting).choice(setting.name, {names.begin(), names.end()});
        if (name) take(setting, value_named<Enum>(*name), value);
    }

    void operator()(const Setting& setting, core::Variables& value) {
        const Table* const table = reader(setting).table(setting.name);
        if (table == nullptr) return;
        given_.push_back(setting.full_name());
        read_variables(*table, reader(setting), value);
    }

    void operator()(const Setting& setting, std::vector<Environment>& value) {
        const bool has_other_name = has_environments_in(variables_name);
        if (top_.value(setting.name) == nullptr && !has_other_name) return;
        given_.push_back(setting.full_name());
        const std::string_view name = has_other_name ? variables_name : setting.name;
        value = read_environments(top_, name, file_, problems_);
        if (has_other_name && top_.value(setting.name) != nullptr)
            top_.complain(setting.name,
                          "says the same as [[environment]]; one of the names has to go");
    }

    // Checks relations between values, and reports unknown keys.
    void finish(const Config& config) {
        const auto expect_order = [&](const char* name, Millis least, Millis most,
                                      const char* other) {
            if (least > most)
                top_.complain(name, fmt::format("expected to be at most {}, which is {}", other,
                                                most.count()));
        };
        expect_order("min_yield_ms", config.min_yield, config.max_yield, "max_yield_ms");
        expect_order("min_poll_ms", config.min_poll, config.max_poll, "max_poll_ms");
        const std::string& database = config.database;
        if (!database.empty() && database.front() != '/' && database != ":memory:")
            top_.complain("database", "expected an absolute path or \":memory:\"");
        check_default_environment(config);
        const ConfinementOptions& confinement = config.confinement;
        if (!std::ranges::all_of(confinement.writable_roots, is_absolute))
            confinement_.complain("writable_roots", "expected absolute paths without NUL");
        if (!std::ranges::all_of(confinement.deny_read, is_absolute_or_pattern))
            confinement_.complain(
                "deny_read",
                "expected absolute paths and patterns with * ? [ or {a,b}, without NUL");
        if (!std::ranges::all_of(confinement.read_only, is_place))
            confinement_.complain("read_only",
                                  "expected names in a root, absolute paths and paths with ~/, "
                                  "without '..' and NUL");
        check_proxy(confinement.network_proxy);
        for (TableReader* table : {&top_, &confinement_, &granular_, &environment_})
            table->finish();
    }

    // Returns the problems in the order of the file.
    std::vector<Problem> take_problems() {
        std::stable_sort(
            problems_.begin(), problems_.end(),
            [](const Problem& a, const Problem& b) { return a.position < b.position; });
        return std::move(problems_);
    }

    std::vector<std::string> take_given() { return std::move(given_); }

private:
    const Table& find(TableReader& top, std::string_view name) {
        const Table* const found = top.table(name);
        return found != nullptr ? *found : nothing_;
    }

    // [[environment]] is an alias of [[environments]] if there is no table [environment].
    static constexpr std::string_view variables_name = "environment";

    bool has_environments_in(std::string_view name) {
        const toml::Value* const value = top_.value(name);
        return value != nullptr && std::holds_alternative<toml::Array>(value->is);
    }

    const Table& find_variables() {
        return has_environments_in(variables_name) ? nothing_ : find(top_, variables_name);
    }

    void check_default_environment(const Config& config) {
        constexpr std::string_view name = "default_environment";
        const std::string& wanted = config.default_environment;
        std::vector<std::string_view> ids = {local_environment};
        for (const Environment& environment : config.environments)
            if (!environment.id.empty()) ids.push_back(environment.id);
        if (wanted.empty() || std::find(ids.begin(), ids.end(), wanted) != ids.end()) return;
        const std::string_view meant = toml::nearest(wanted, ids);
        top_.complain(name,
                      fmt::format("there is no environment '{}'{}", wanted,
                                  meant.empty() ? std::string()
                                                : fmt::format("; did you mean '{}'?", meant)));
    }

    // The message does not have the value, which may hold a password.
    void check_proxy(const std::string& proxy) {
        if (proxy.empty() || proxy == "off") return;
        if (Result<core::Proxy> read = core::read_proxy(proxy); !read)
            confinement_.complain("network_proxy",
                                  fmt::format("expected a proxy or off: {}; {}",
                                              read.error().message, read.error().hint));
    }

    TableReader& reader(const Setting& setting) {
        if (setting.table == "confinement") return confinement_;
        if (setting.table == "granular") return granular_;
        return setting.table == "environment" ? environment_ : top_;
    }

    template <class T>
    void take(const Setting& setting, std::optional<T> found, T& value) {
        if (!found) return;
        value = std::move(*found);
        given_.push_back(setting.full_name());
    }

    const std::string& file_;
    std::vector<Problem> problems_;
    std::vector<std::string> given_;
    Table nothing_;
    TableReader top_;
    TableReader confinement_;
    TableReader granular_;
    TableReader environment_;
};

Error refusal(const std::string& path, std::string_view what, std::string hint = {}) {
    return {ErrorKind::config_invalid, fmt::format("{}: {}", path, what), std::move(hint)};
}

} // namespace

std::vector<std::string> usual_read_only() {
    return {
        ".claude",       ".gemini",     ".cursor",         ".mcp.json",     ".vscode/tasks.json",
        ".github/hooks", ".envrc",      ".husky",          "~/.gitconfig",  "~/.config/git",
        "~/.profile",    "~/.bashrc",   "~/.bash_profile", "~/.bash_login", "~/.bash_logout",
        "~/.zshenv",     "~/.zprofile", "~/.zshrc",        "~/.zlogin",     "~/.config/fish",
        "~/.ssh"};
}

Result<ConfigFile> parse_config(const std::string& text, const std::string& name) {
    const Table table = TRY(toml::parse(text, name));
    ConfigFile file;
    file.exists = true;
    Loader loader(table, name);
    visit_settings(loader, file.config);
    loader.finish(file.config);
    std::string mistakes;
    for (const Problem& problem : loader.take_problems())
        mistakes += (mistakes.empty() ? "" : "\n") + toml::describe(problem);
    if (!mistakes.empty())
        return Error{ErrorKind::config_invalid, mistakes,
                     "docs/configuration.md has every setting"};
    file.given = loader.take_given();
    return file;
}

Result<ConfigFile> load_config(const std::string& path, WhenMissing when_missing) {
    const bool is_missing = path.empty() || (::access(path.c_str(), F_OK) != 0 && errno == ENOENT);
    if (is_missing && when_missing == WhenMissing::use_defaults) return ConfigFile{};
    Result<FileText> file = read_regular_file(AT_FDCWD, path, toml::longest_text);
    if (!file) return refusal(path, file.error().message);
    if (const std::string distrust = distrust_of(file->info); !distrust.empty())
        return refusal(path, distrust + ", so its settings are not used",
                       fmt::format("if they are yours: chown {} '{}' and chmod go-w '{}'",
                                   ::geteuid(), path, path));
    return parse_config(file->text, path);
}

} // namespace ew::config
