#include "server/session/environment_choice.h"
#include "support/testing.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

using namespace ew::server;
using ew::ErrorKind;
using ew::Result;
using ew::config::Environment;
using ew::protocol::EnvironmentEntryState;

namespace {

// With environments e0, e1, …
SessionSettings settings_with(std::size_t count, const std::string& otherwise = "") {
    SessionSettings settings;
    settings.workspace_roots = {"/project"};
    settings.config.default_environment = otherwise;
    for (std::size_t i = 0; i < count; ++i) {
        Environment& environment = settings.config.environments.emplace_back();
        environment.id = fmt::format("e{}", i);
        environment.program = "ssh";
        environment.args = {"host", "execward", "serve"};
    }
    return settings;
}

// "" is this machine.
std::string choice(const SessionSettings& settings, const std::optional<std::string>& wanted) {
    Result<const Environment*> chosen = chosen_environment(settings, wanted);
    if (!chosen) FAIL(chosen.error().message);
    return *chosen != nullptr ? (*chosen)->id : "";
}

ew::Error refusal(const SessionSettings& settings, const std::string& wanted) {
    Result<const Environment*> chosen = chosen_environment(settings, wanted);
    REQUIRE_FALSE(chosen);
    return chosen.error();
}

} // namespace

TEST_SUITE_BEGIN("server/environment_choice");

TEST_CASE("a call runs where it says, else where the default says") {
    CHECK(choice(settings_with(2), std::nullopt).empty());
    CHECK(choice(settings_with(2, "local"), std::nullopt).empty());
    CHECK(choice(settings_with(2, "e1"), std::nullopt) == "e1");
    CHECK(choice(settings_with(2, "e1"), "e0") == "e0");
    CHECK(choice(settings_with(2, "e1"), "local").empty());
    CHECK(choice(settings_with(0), "local").empty());
}

TEST_CASE("what is chosen is a part of the settings") {
    const SessionSettings settings = settings_with(2);

    Result<const Environment*> chosen = chosen_environment(settings, "e1");

    REQUIRE(chosen);
    CHECK(*chosen == &settings.config.environments[1]);
}

TEST_CASE("an environment that there is not is refused, with those that there are") {
    const ew::Error error = refusal(settings_with(2), "box");

    CHECK(error.kind == ErrorKind::invalid_params);
    CHECK(error.path == "environment");
    CHECK(error.message == "environment: there is no environment 'box'");
    CHECK(error.hint == "there are \"local\", \"e0\", \"e1\"");
    CHECK(refusal(settings_with(2, "e1"), "").kind == ErrorKind::invalid_params);
    CHECK(refusal(settings_with(2), "E1").kind == ErrorKind::invalid_params);
    CHECK(refusal(settings_with(2), std::string(100'000, 'x')).message.size() < 1000);
}

TEST_CASE("of many environments ten are named") {
    CHECK(refusal(settings_with(10), "x").hint.ends_with("\"e8\", \"e9\""));
    CHECK(
        refusal(settings_with(11), "x").hint.ends_with("\"e8\", \"e9\", …; see environment/list"));
}

TEST_CASE("without environments the hint says where they come from") {
    CHECK(refusal(settings_with(0), "box").hint.find("[[environments]] in config.toml") !=
          std::string::npos);
}

TEST_CASE("a filter takes what runs there, and without a name everything") {
    const SessionSettings settings = settings_with(2, "e1");
    const auto takes = [&](const std::optional<std::string>& wanted,
                           const std::optional<std::string>& environment) {
        Result<EnvironmentFilter> filter = EnvironmentFilter::of(settings, wanted);
        REQUIRE(filter);
        return filter->takes(environment);
    };

    CHECK(takes(std::nullopt, std::nullopt));
    CHECK(takes(std::nullopt, "e0"));
    CHECK(takes("local", std::nullopt));
    CHECK_FALSE(takes("local", "e1"));
    CHECK(takes("e0", "e0"));
    CHECK_FALSE(takes("e0", "e1"));
    CHECK_FALSE(takes("e0", std::nullopt));
    CHECK_FALSE(EnvironmentFilter::of(settings, "box"));
}

TEST_CASE("this machine is listed first, and then all in their order") {
    const auto list = environment_list(settings_with(2)).environments;

    REQUIRE(list.size() == 3);
    CHECK(list[0].id == "local");
    CHECK(list[0].is_default);
    CHECK(list[0].state == EnvironmentEntryState::local);
    CHECK(list[0].cwd == "/project");
    CHECK_FALSE(list[0].program.has_value());
    CHECK(list[2].id == "e1");
    CHECK_FALSE(list[2].is_default);
    CHECK(list[2].state == EnvironmentEntryState::idle);
    CHECK(list[2].program == "ssh");
    CHECK(list[2].args == std::vector<std::string>{"host", "execward", "serve"});
    CHECK_FALSE(list[2].cwd.has_value());
}

TEST_CASE("exactly one is the default") {
    for (const char* otherwise : {"", "local", "e0", "e1"}) {
        std::string found;
        for (const auto& entry : environment_list(settings_with(2, otherwise)).environments)
            if (entry.is_default) found += entry.id + " ";
        const std::string expected = *otherwise != '\0' ? otherwise : "local";
        CHECK(found == expected + " ");
    }
}

TEST_SUITE_END();
