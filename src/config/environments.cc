#include "config/environments.h"

#include "config/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace ew::config {

namespace {

using toml::Problem;
using toml::Table;
using toml::TableReader;

bool has_nul(const std::string& text) {
    return text.find('\0') != std::string::npos;
}

bool is_absolute(const std::string& path) {
    return path.starts_with('/') && !has_nul(path);
}

bool is_program(const std::string& text) {
    const bool is_name = !text.empty() && text.find('/') == std::string::npos;
    return (is_name || is_absolute(text)) && !has_nul(text);
}

bool is_argument(const std::string& text) {
    return !has_nul(text);
}

bool is_id(const std::string& text) {
    const auto is_allowed = [](char byte) {
        return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
    };
    return !text.empty() && text.size() <= longest_environment_id &&
           std::ranges::all_of(text, is_allowed);
}

// Reads one table [[environments]].
class Reader {
public:
    Reader(const Table& table, std::string_view name, std::string_view file,
           std::vector<Problem>& problems)
        : name_(name), reader_(table, file, problems, name) {}

    Environment read() {
        Environment environment;
        environment.id = read_id();
        environment.program = needed("program", "a name that is looked up in PATH, or an absolute "
                                                "path");
        if (!environment.program.empty() && !is_program(environment.program))
            reader_.complain("program", "expected a name that is looked up in PATH, or an absolute "
                                        "path, without NUL");
        environment.args = texts("args", is_argument, "strings without NUL");
        if (const Table* variables = reader_.table("env"))
            read_variables(*variables, reader_, environment.env);
        environment.cwd = reader_.string("cwd").value_or("");
        if (reader_.value("cwd") != nullptr && !is_absolute(environment.cwd))
            reader_.complain("cwd", "expected an absolute path without NUL");
        environment.workspace_roots =
            texts("workspace_roots", is_absolute, "absolute paths without NUL");
        environment.sandbox = read_sandbox();
        read_timeout(environment.initialize_timeout);
        reader_.finish();
        return environment;
    }

    void complain_about_twin(const std::string& id, toml::Position twin) {
        reader_.complain(
            "id", fmt::format("'{}' is the id of the environment in line {}, too", id, twin.line));
    }

    toml::Position position_of_id() const { return reader_.position("id"); }

private:
    // Returns a string that must be present and not empty. Returns an empty string after a mistake.
    std::string needed(std::string_view name, std::string_view expected) {
        const std::optional<std::string> text = reader_.string(name);
        if (reader_.value(name) == nullptr)
            reader_.complain(name, fmt::format("is missing; expected {}", expected));
        else if (text && text->empty())
            reader_.complain(name, fmt::format("expected {}", expected));
        return text.value_or("");
    }

    std::string read_id() {
        std::string id = needed("id", "the name by which commands ask for it");
        if (id.empty()) return id;
        if (!is_id(id))
            reader_.complain("id", fmt::format("expected at most {} letters, digits, - and _",
                                               longest_environment_id));
        else if (id == local_environment)
            reader_.complain("id", "\"local\" is this machine; choose another name");
        return id;
    }

    std::vector<std::string> texts(std::string_view name, bool (*is_good)(const std::string&),
                                   std::string_view expected) {
        std::optional<std::vector<std::string>> found = reader_.strings(name);
        if (!found) return {};
        const auto* const array = std::get_if<toml::Array>(&reader_.value(name)->is);
        for (std::size_t i = 0; i < found->size(); ++i)
            if (!is_good((*found)[i]))
                reader_.complain(array->items[i].position,
                                 fmt::format("key '{}.{}': expected {}", name_, name, expected));
        return std::move(*found);
    }

    std::optional<core::SandboxMode> read_sandbox() {
        const auto& names = names_of<core::SandboxMode>;
        const std::optional<std::string> name =
            reader_.choice("sandbox", {names.begin(), names.end()});
        return name ? value_named<core::SandboxMode>(*name) : std::nullopt;
    }

    void read_timeout(Millis& timeout) {
        constexpr std::int64_t an_hour = 3'600'000; // milliseconds
        constexpr double second = 1000;
        constexpr std::string_view name = "initialize_timeout_ms";
        constexpr std::string_view other_name = "initialize_timeout_sec";
        const std::optional<std::int64_t> number = reader_.integer(name, 1, an_hour);
        const std::optional<double> seconds = reader_.number(other_name);
        if (reader_.value(name) != nullptr && reader_.value(other_name) != nullptr)
            return reader_.complain(other_name, fmt::format("says the same as {}; one of them has "
                                                            "to go",
                                                            name));
        if (number) timeout = Millis(*number);
        if (!seconds) return;
        const double wanted = *seconds * second;
        // Written so that NaN is refused too.
        if (!(wanted > 0 && wanted <= static_cast<double>(an_hour)))
            return reader_.complain(other_name, "expected a number above 0, at most 3600");
        timeout = Millis(static_cast<std::int64_t>(std::ceil(wanted)));
    }

    std::string_view name_; // the name of the tables
    TableReader reader_;
};

} // namespace

void read_variables(const Table& table, TableReader& reader, core::Variables& out) {
    constexpr std::string_view impossible("=\0", 2); // environ(7)
    for (const toml::Member& member : table.members) {
        const auto* const text = std::get_if<std::string>(&member.value.is);
        if (member.name.empty() || member.name.find_first_of(impossible) != std::string::npos)
            reader.complain(member.position,
                            "expected a variable name that is not empty and has no =");
        else if (text == nullptr || has_nul(*text))
            reader.complain(member.value.position,
                            fmt::format("variable '{}': expected a string without NUL, found {}",
                                        member.name, toml::kind_of(member.value)));
        else
            out.emplace_back(member.name, *text);
    }
}

std::vector<Environment> read_environments(TableReader& top, std::string_view name,
                                           std::string_view file, std::vector<Problem>& problems) {
    std::vector<Environment> environments;
    std::vector<toml::Position> positions; // the places of their ids
    for (const Table* table : top.tables(name)) {
        if (environments.size() == most_environments) {
            top.complain(table->position,
                         fmt::format("key '{}': there are more than {}", name, most_environments));
            break;
        }
        Reader reader(*table, name, file, problems);
        Environment environment = reader.read();
        for (std::size_t i = 0; i < environments.size() && !environment.id.empty(); ++i) {
            if (environments[i].id != environment.id) continue;
            reader.complain_about_twin(environment.id, positions[i]);
            break;
        }
        positions.push_back(reader.position_of_id());
        environments.push_back(std::move(environment));
    }
    return environments;
}

} // namespace ew::config
