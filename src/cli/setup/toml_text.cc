#include "cli/setup/toml_text.h"

#include "base/byte_buffer.h"
#include "config/settings.h"
#include "json/writer.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ew::cli {

namespace {

template <class T>
std::string json_text(const T& value) {
    ByteBuffer out;
    json::write_value(out, value);
    return std::string(out.view());
}

std::optional<std::string> sandbox_of(const config::Environment& environment) {
    if (!environment.sandbox) return std::nullopt;
    return std::string(config::name_of(*environment.sandbox));
}

std::string inline_table(const config::Environment& environment) {
    const config::Environment usual;
    std::string text = fmt::format("{{ id = {}, program = {}", json_text(environment.id),
                                   json_text(environment.program));
    const auto add = [&](std::string_view name, const std::string& value) {
        text += fmt::format(", {} = {}", name, value);
    };
    if (!environment.args.empty()) add("args", json_text(environment.args));
    if (!environment.env.empty()) add("env", toml_of(environment.env));
    if (!environment.cwd.empty()) add("cwd", json_text(environment.cwd));
    if (!environment.workspace_roots.empty())
        add("workspace_roots", json_text(environment.workspace_roots));
    if (environment.sandbox) add("sandbox", json_text(*sandbox_of(environment)));
    if (environment.initialize_timeout != usual.initialize_timeout)
        add("initialize_timeout_ms", fmt::to_string(environment.initialize_timeout.count()));
    return text + " }";
}

std::string object(const config::Environment& environment) {
    return fmt::format(R"({{"id":{},"program":{},"args":{},"env":{},"cwd":{},"workspace_roots":{},)"
                       R"("sandbox":{},"initialize_timeout_ms":{}}})",
                       json_text(environment.id), json_text(environment.program),
                       json_text(environment.args), json_text(environment.env),
                       json_text(environment.cwd), json_text(environment.workspace_roots),
                       json_text(sandbox_of(environment)), environment.initialize_timeout.count());
}

} // namespace

std::string toml_of(const core::Variables& variables) {
    std::string text = "{";
    for (const auto& variable : variables)
        text += fmt::format("{} {} = {}", text.size() > 1 ? "," : "", json_text(variable.first),
                            json_text(variable.second));
    return text + (variables.empty() ? "}" : " }");
}

std::string toml_of(const std::vector<config::Environment>& environments) {
    if (environments.empty()) return "[]";
    std::string text = "[\n";
    for (const config::Environment& environment : environments)
        text += fmt::format("    {},\n", inline_table(environment));
    return text + "]";
}

std::string json_of(const std::vector<config::Environment>& environments) {
    std::string text = "[";
    for (const config::Environment& environment : environments)
        text += (text.size() > 1 ? "," : "") + object(environment);
    return text + "]";
}

} // namespace ew::cli
