#include "config/config.h"
#include "config/rule_text.h"
#include "support/testing.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

using ew::ErrorKind;
using ew::Millis;
using ew::Result;
using ew::config::Config;
using ew::config::ConfigFile;
using ew::config::Environment;
using ew::config::parse_config;
using ew::core::SandboxMode;
using ew::core::Variables;

namespace {

using Words = std::vector<std::string>;

Config parsed(const std::string& text) {
    Result<ConfigFile> file = parse_config(text, "c.toml");
    INFO(text);
    if (!file) FAIL(file.error().message);
    return file->config;
}

std::string mistakes(const std::string& text) {
    Result<ConfigFile> file = parse_config(text, "c.toml");
    INFO(text);
    REQUIRE_FALSE(file);
    CHECK(file.error().kind == ErrorKind::config_invalid);
    return file.error().message;
}

// One with these lines beside an id and a program.
std::string with(const std::string& lines) {
    return "[[environments]]\nid = \"box\"\nprogram = \"ssh\"\n" + lines;
}

Millis timeout_of(const std::string& line) {
    return parsed(with(line)).environments.front().initialize_timeout;
}

std::string many(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
        text += fmt::format("[[environments]]\nid = \"e{}\"\nprogram = \"ssh\"\n", i);
    return text;
}

} // namespace

TEST_SUITE_BEGIN("config/environments");

TEST_CASE("an environment has everything that the file says") {
    const Config config = parsed(R"(
default_environment = "box"
[[environments]]
id = "box"
program = "ssh"
args = ["box", "execward", "serve"]
env = { A = "1", B = "" }
cwd = "/here"
workspace_roots = ["/srv/a", "/srv/b"]
sandbox = "read-only"
initialize_timeout_ms = 500
[[environments]]
id = "Pod_2-x"
program = "/usr/bin/kubectl"
)");

    CHECK(config.default_environment == "box");
    REQUIRE(config.environments.size() == 2);
    const Environment& box = config.environments[0];
    CHECK(box.id == "box");
    CHECK(box.program == "ssh");
    CHECK(box.args == Words{"box", "execward", "serve"});
    CHECK(box.env == Variables{{"A", "1"}, {"B", ""}});
    CHECK(box.cwd == "/here");
    CHECK(box.workspace_roots == Words{"/srv/a", "/srv/b"});
    CHECK(box.sandbox == SandboxMode::read_only);
    CHECK(box.initialize_timeout == Millis(500));
    const Environment& pod = config.environments[1];
    CHECK(pod.id == "Pod_2-x");
    CHECK(pod.program == "/usr/bin/kubectl");
    CHECK(pod.args.empty());
    CHECK(pod.env.empty());
    CHECK(pod.cwd.empty());
    CHECK(pod.workspace_roots.empty());
    CHECK_FALSE(pod.sandbox.has_value());
    CHECK(pod.initialize_timeout == Millis(20000));
}

TEST_CASE("the time for the handshake is milliseconds, or seconds with a fraction, not both") {
    CHECK(timeout_of("initialize_timeout_ms = 1") == Millis(1));
    CHECK(timeout_of("initialize_timeout_ms = 3600000") == Millis(3600000));
    CHECK(timeout_of("initialize_timeout_sec = 10") == Millis(10000));
    CHECK(timeout_of("initialize_timeout_sec = 1.5") == Millis(1500));
    CHECK(timeout_of("initialize_timeout_sec = 0.0001") == Millis(1));
    CHECK(timeout_of("initialize_timeout_sec = 3600") == Millis(3600000));

    CHECK(mistakes(with("initialize_timeout_ms = 0")) ==
          "c.toml:4:25: key 'environments.initialize_timeout_ms': 0 is not between 1 and 3600000");
    CHECK(mistakes(with("initialize_timeout_ms = 3600001")).starts_with("c.toml:4:25: "));
    for (const char* seconds : {"0", "-1.5", "0.0", "nan", "inf", "3600.1", "3601"})
        CHECK(mistakes(with(fmt::format("initialize_timeout_sec = {}", seconds))) ==
              "c.toml:4:26: key 'environments.initialize_timeout_sec': expected a number above 0, "
              "at most 3600");
    CHECK(mistakes(with("initialize_timeout_sec = \"1\""))
              .starts_with("c.toml:4:26: key 'environments.initialize_timeout_sec': expected a "
                           "number, found a string"));
    CHECK(mistakes(with("initialize_timeout_ms = 5\ninitialize_timeout_sec = 5"))
              .starts_with("c.toml:5:26: key 'environments.initialize_timeout_sec': says the same "
                           "as initialize_timeout_ms"));
}

TEST_CASE("an id is letters, digits, - and _, at most 64, and not local") {
    const auto id = [](const std::string& text) {
        return "[[environments]]\nprogram = \"ssh\"\nid = \"" + text + "\"";
    };
    CHECK(parsed(id(std::string(64, 'a'))).environments.front().id == std::string(64, 'a'));

    for (const char* bad : {"a b", "a/b", "é", "a.b", "a\\u0000"})
        CHECK(mistakes(id(bad)) == "c.toml:3:6: key 'environments.id': expected at most 64 "
                                   "letters, digits, - and _");
    CHECK(mistakes(id(std::string(65, 'a'))).starts_with("c.toml:3:6: "));
    CHECK(mistakes(id("")).starts_with("c.toml:3:6: key 'environments.id': expected the name"));
    CHECK(mistakes(id("local")) == "c.toml:3:6: key 'environments.id': \"local\" is this machine; "
                                   "choose another name");
    CHECK(mistakes("[[environments]]\nprogram = \"ssh\"")
              .starts_with("c.toml:1:1: key 'environments.id': is missing"));
    CHECK(mistakes("[[environments]]\nprogram = \"ssh\"\nid = 5")
              .starts_with("c.toml:3:6: key 'environments.id': expected a string"));
}

TEST_CASE("two environments cannot have the same id") {
    CHECK(mistakes(with("[[environments]]\nprogram = \"x\"\nid = \"box\"")) ==
          "c.toml:6:6: key 'environments.id': 'box' is the id of the environment in line 2, too");
    CHECK(parsed(with("[[environments]]\nprogram = \"x\"\nid = \"Box\"")).environments.size() == 2);
}

TEST_CASE("a program is a name or an absolute path") {
    const auto program = [](const std::string& line) {
        return "[[environments]]\nid = \"box\"\n" + line;
    };
    CHECK(mistakes(program("")).starts_with("c.toml:1:1: key 'environments.program': is missing"));
    CHECK(mistakes(program("program = \"\""))
              .starts_with("c.toml:3:11: key 'environments.program': expected a name"));
    for (const char* bad : {"bin/ssh", "./ssh", "ssh\\u0000", "/bin/ss\\u0000h"})
        CHECK(mistakes(program(fmt::format("program = \"{}\"", bad))) ==
              "c.toml:3:11: key 'environments.program': expected a name that is looked up in PATH, "
              "or an absolute path, without NUL");
}

TEST_CASE("arguments and variables are strings without NUL") {
    CHECK(mistakes(with("args = [\"a\", \"b\\u0000\"]")) ==
          "c.toml:4:14: key 'environments.args': expected strings without NUL");
    CHECK(mistakes(with("args = \"a\"")).starts_with("c.toml:4:8: key 'environments.args': "));
    CHECK(mistakes(with("args = [1]")).starts_with("c.toml:4:9: key 'environments.args': "));
    CHECK(mistakes(with("env.A = 5")) ==
          "c.toml:4:9: variable 'A': expected a string without NUL, found an integer");
    CHECK(mistakes(with("env = { \"A=B\" = \"\" }")).find("has no =") != std::string::npos);
    CHECK(mistakes(with("env = { A = \"\\u0000\" }")).find("without NUL") != std::string::npos);
    CHECK(mistakes(with("env = 5")).starts_with("c.toml:4:7: key 'environments.env': "));
}

TEST_CASE("directories are absolute paths") {
    CHECK(mistakes(with("cwd = \"here\"")) ==
          "c.toml:4:7: key 'environments.cwd': expected an absolute path without NUL");
    CHECK(mistakes(with("cwd = \"\"")).starts_with("c.toml:4:7: "));
    CHECK(mistakes(with("cwd = \"/a\\u0000\"")).starts_with("c.toml:4:7: "));
    CHECK(mistakes(with("workspace_roots = [\"/a\", \"~/b\"]")) ==
          "c.toml:4:26: key 'environments.workspace_roots': expected absolute paths without NUL");
    CHECK(mistakes(with("workspace_roots = [\"/a\\u0000\"]")).starts_with("c.toml:4:20: "));
}

TEST_CASE("a confinement is one of the modes") {
    CHECK(parsed(with("sandbox = \"external-sandbox\"")).environments.front().sandbox ==
          SandboxMode::external_sandbox);
    CHECK(mistakes(with("sandbox = \"readonly\""))
              .starts_with("c.toml:4:11: key 'environments.sandbox': expected "));
}

TEST_CASE("a key of an environment that is unknown is a mistake, with the one that was meant") {
    CHECK(mistakes(with("programm = \"x\"")) ==
          "c.toml:4:1: unknown key 'environments.programm'; did you mean 'environments.program'?");
    CHECK(mistakes(with("url = \"ws://x\"")) == "c.toml:4:1: unknown key 'environments.url'");
}

TEST_CASE("there are at most 64 environments") {
    CHECK(parsed(many(64)).environments.size() == 64);
    CHECK(mistakes(many(66)) == "c.toml:193:1: key 'environments': there are more than 64");
}

TEST_CASE("the default is this machine or one of the environments") {
    CHECK(parsed("default_environment = \"\"").default_environment.empty());
    CHECK(parsed("default_environment = \"local\"").default_environment == "local");
    CHECK(parsed("default_environment = \"box\"\n" + with("")).default_environment == "box");

    CHECK(mistakes("default_environment = \"bx\"\n" + with("")) ==
          "c.toml:1:23: key 'default_environment': there is no environment 'bx'; did you mean "
          "'box'?");
    CHECK(mistakes("default_environment = \"production\"") ==
          "c.toml:1:23: key 'default_environment': there is no environment 'production'");
    CHECK(mistakes("default_environment = 5").starts_with("c.toml:1:23: "));
}

TEST_CASE("what is no list of tables is a mistake") {
    CHECK(mistakes("environments = 5")
              .starts_with("c.toml:1:16: key 'environments': expected tables [[environments]]"));
    CHECK(mistakes("[environments]\nid = \"box\"")
              .starts_with("c.toml:1:1: key 'environments': expected tables [[environments]]"));
    CHECK(mistakes("environments = [5]").starts_with("c.toml:1:17: key 'environments': "));
    CHECK(parsed("environments = []").environments.empty());
}

TEST_CASE("[[environment]] is another name") {
    const Config config = parsed("default_environment = \"box\"\n"
                                 "[[environment]]\nid = \"box\"\nprogram = \"ssh\"\n"
                                 "[[environment]]\nid = \"other\"\nprogram = \"ssh\"");
    REQUIRE(config.environments.size() == 2);
    CHECK(config.environments[1].id == "other");
    CHECK(mistakes("[[environment]]\nid = \"box\"\nprogram = \"ssh\"\nargs = [3]")
              .starts_with("c.toml:4:9: key 'environment.args"));
    CHECK(mistakes("[[environment]]\nid = \"a\"\nprogram = \"ssh\"\n"
                   "[[environments]]\nid = \"b\"\nprogram = \"ssh\"")
              .find("key 'environments': says the same as [[environment]]") != std::string::npos);
    CHECK(parsed("[environment]\ninherit = \"core\"\n[[environments]]\nid = \"b\"\n"
                 "program = \"ssh\"")
              .environments.size() == 1);
}

TEST_CASE("all mistakes of all environments are told, in the order of the file") {
    const std::string all = mistakes("default_environment = \"x\"\n[[environments]]\nid = \"a b\"\n"
                                     "[[environments]]\nid = \"b\"\nprogram = \"x\"\ncwd = \"c\"");

    CHECK(all.find("c.toml:1:23: ") == 0);
    CHECK(all.find("c.toml:2:1: key 'environments.program'") < all.find("c.toml:3:6: "));
    CHECK(all.find("c.toml:3:6: ") < all.find("c.toml:7:7: "));
    CHECK(all.find("c.toml:7:7: ") != std::string::npos);
}

TEST_CASE("a file of rules, such as a project has, cannot have environments") {
    const ew::config::RuleText rules = ew::config::read_rules(
        with(""), {"r.toml", ew::core::RuleLayer::project, /*may_allow=*/true});

    REQUIRE(rules.problems.size() == 1);
    CHECK(rules.problems.front().message.starts_with("unknown key 'environments'"));
}

TEST_SUITE_END();
