#include "cli/setup/codex_environments.h"

#include "toml/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

namespace ew::cli {

namespace {

constexpr std::size_t longest_id = 64;

constexpr std::string_view local_comment =
    "# Without this Codex can also run commands itself, which are not confined by execward.\n";

Error refusal(std::string_view file, std::string_view why) {
    return {ErrorKind::config_invalid, fmt::format("{}: {}", file, why)};
}

toml::Value value_of(const std::string& text) {
    return {text, {}};
}

toml::Value value_of(const std::vector<std::string>& texts) {
    toml::Array array;
    for (const std::string& text : texts)
        array.items.push_back(value_of(text));
    return {std::move(array), {}};
}

std::string table_of(const CodexEnvironment& environment) {
    return fmt::format("[[environments]]\nid = {}\nprogram = {}\nargs = {}\n",
                       toml::quoted(environment.id), toml::quoted(environment.program),
                       toml::written(value_of(environment.args)));
}

Result<void> set_environment(toml::Edit& edit, std::string_view file,
                             const CodexEnvironment& environment) {
    const toml::Member* member = edit.document().find("environments");
    const auto* array = member ? std::get_if<toml::Array>(&member->value.is) : nullptr;
    if (member && !array)
        return refusal(file, fmt::format("line {}: 'environments' is not [[environments]]",
                                         member->position.line));
    const toml::Table* ours = nullptr;
    std::size_t index = 0;
    for (std::size_t i = 0; array && i < array->items.size(); ++i) {
        const auto* table = std::get_if<toml::Table>(&array->items[i].is);
        const toml::Member* id = table ? table->find("id") : nullptr;
        if (!id || !is_equal(id->value, value_of(environment.id))) continue;
        if (ours)
            return refusal(file, fmt::format("line {}: there are two environments '{}'",
                                             table->position.line, environment.id));
        ours = table;
        index = i;
    }
    if (!ours) {
        edit.append(table_of(environment));
        return {};
    }
    if (ours->find("url"))
        return refusal(file, fmt::format("environment '{}' has a url; remove the url, or choose "
                                         "another name with --id",
                                         environment.id));
    TRY(edit.set("environments", index, {"program", value_of(environment.program), {}}, "id"));
    return edit.set("environments", index, {"args", value_of(environment.args), {}}, "id");
}

} // namespace

bool is_codex_id(std::string_view id) {
    const auto is_allowed = [](char byte) {
        return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
    };
    return !id.empty() && id.size() <= longest_id && id != "local" && id != "none" &&
           std::all_of(id.begin(), id.end(), is_allowed);
}

std::string codex_snippet(const CodexEnvironment& environment) {
    return fmt::format("default = {}\n{}include_local = false\n\n{}", toml::quoted(environment.id),
                       local_comment, table_of(environment));
}

Result<std::string> with_environment(const std::string& text, std::string_view file,
                                     const CodexEnvironment& environment) {
    toml::Edit edit = TRY(toml::Edit::open(text, file));
    if (edit.document().members.empty()) {
        edit.append(codex_snippet(environment));
    } else {
        TRY(edit.set({"default", value_of(environment.id), {}}));
        TRY(set_environment(edit, file, environment));
    }
    std::optional<std::string> changed = edit.result();
    if (!changed)
        return refusal(file, "is written so that this cannot be added without changing more");
    return std::move(*changed);
}

bool keeps_local_environment(std::string_view text) {
    toml::Problem problem;
    const std::optional<toml::Table> document = toml::parse(text, "", problem);
    const toml::Member* member = document ? document->find("include_local") : nullptr;
    const bool* flag = member ? std::get_if<bool>(&member->value.is) : nullptr;
    return document && (!flag || *flag);
}

} // namespace ew::cli
