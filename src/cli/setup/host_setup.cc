#include "cli/setup/host_setup.h"

#include "cli/setup/codex_setup.h"
#include "json/edit.h"
#include "toml/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <variant>

namespace ew::cli {

namespace {

using Words = std::vector<std::string>;

constexpr const char* server_name = "execward";

// A host whose settings are JSON.
struct Host {
    std::string_view client;
    std::string_view directory; // in the project, or in the home directory
    std::string_view name;
    std::string_view servers; // the member that holds the servers
    bool is_of_project = false;
    bool names_type = false;
};

constexpr auto hosts = std::to_array<Host>({
    {"claude", ".", ".mcp.json", "mcpServers", true},
    {"gemini", ".gemini", "settings.json", "mcpServers"},
    {"vscode", ".vscode", "mcp.json", "servers", true, true},
    {"cursor", ".cursor", "mcp.json", "mcpServers"},
    {"zed", ".config/zed", "settings.json", "context_servers"},
});

std::string array_of(const Words& words) {
    std::string all;
    for (const std::string& word : words)
        all += fmt::format("{}{}", all.empty() ? "" : ", ", toml::quoted(word));
    return fmt::format("[{}]", all);
}

Result<std::string> directory_of(const Host& host) {
    if (host.is_of_project) return std::string(host.directory);
    const char* const settings = std::getenv("XDG_CONFIG_HOME");
    if (host.client == "zed" && settings != nullptr && *settings == '/')
        return std::string(settings) + "/zed";
    const char* const home = std::getenv("HOME");
    if (home != nullptr && *home == '/') return fmt::format("{}/{}", home, host.directory);
    return Error{ErrorKind::config_invalid,
                 fmt::format("there is no telling where the settings of {} are", host.client),
                 "set HOME"};
}

Result<SettingsFile> json_file(const Host& host, const Words& command) {
    SettingsFile file;
    file.directory = TRY(directory_of(host));
    file.name = host.name;
    file.is_of_project = host.is_of_project;
    file.comment = "//";
    std::vector<json::TextMember> members;
    if (host.names_type) members.push_back({"type", "\"stdio\""});
    members.push_back({"command", toml::quoted(command.front())});
    members.push_back({"args", array_of(Words(command.begin() + 1, command.end()))});
    const Words path = {std::string(host.servers), server_name};
    file.change = [members, path](const std::string& text, const std::string& shown) {
        return json::with_object(text, shown, path, members);
    };
    return file;
}

bool has(const toml::Table& table, std::string_view name, const toml::Value& value) {
    const toml::Member* const member = table.find(name);
    return member != nullptr && toml::is_equal(member->value, value);
}

toml::Value value_of(const Words& words) {
    toml::Array array;
    for (const std::string& word : words)
        array.items.push_back({word, {}});
    return {array, {}};
}

const toml::Table* table_in(const toml::Table* table, std::string_view name) {
    const toml::Member* const member = table != nullptr ? table->find(name) : nullptr;
    return member != nullptr ? std::get_if<toml::Table>(&member->value.is) : nullptr;
}

// Adds the table at the end. A table that is there already stays as it is.
Result<std::string> with_server(const std::string& text, const std::string& path,
                                const Words& command) {
    const Words arguments(command.begin() + 1, command.end());
    toml::Edit edit = TRY(toml::Edit::open(text, path));
    const toml::Table* const servers = table_in(&edit.document(), "mcp_servers");
    if (const toml::Table* const ours = table_in(servers, server_name)) {
        if (has(*ours, "command", {command.front(), {}}) && has(*ours, "args", value_of(arguments)))
            return text;
        return Error{ErrorKind::config_invalid,
                     fmt::format("{}: has an mcp_servers.{} with another command or other args",
                                 path, server_name)};
    }
    edit.append(fmt::format("[mcp_servers.{}]\ncommand = {}\nargs = {}\ntool_timeout_sec = 660\n",
                            server_name, toml::quoted(command.front()), array_of(arguments)));
    if (std::optional<std::string> changed = edit.result()) return std::move(*changed);
    return Error{
        ErrorKind::config_invalid,
        fmt::format("{}: is written so that this cannot be added without changing more", path)};
}

} // namespace

Result<SettingsFile> host_settings_file(std::string_view client, const Words& command) {
    const auto* const host = std::ranges::find(hosts, client, &Host::client);
    if (host != hosts.end()) return json_file(*host, command);
    SettingsFile file;
    file.directory = TRY(codex_directory());
    file.name = "config.toml";
    file.change = [command](const std::string& text, const std::string& path) {
        return with_server(text, path, command);
    };
    return file;
}

} // namespace ew::cli
