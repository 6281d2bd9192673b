#include "config/config.h"
#include "config/settings.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>

using ew::ErrorKind;
using ew::Millis;
using ew::Result;
using ew::config::Config;
using ew::config::ConfigFile;
using ew::config::Enforcement;
using ew::config::load_config;
using ew::config::parse_config;
using ew::config::WhenMissing;
using ew::core::ApprovalPolicy;
using ew::core::SandboxMode;
using ew::core::Variables;
using ew::test::TempDirectory;

namespace {

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

} // namespace

TEST_SUITE_BEGIN("config/config");

TEST_CASE("an empty file is all defaults") {
    const Config config = parsed("");

    CHECK(config.approval_policy == ApprovalPolicy::on_request);
    CHECK(config.sandbox == SandboxMode::workspace_write);
    CHECK(config.confinement.writable_roots.empty());
    CHECK(config.confinement.deny_read.empty());
    CHECK_FALSE(config.confinement.network_access);
    CHECK_FALSE(config.confinement.network_by_host);
    CHECK_FALSE(config.confinement.network_observe);
    CHECK(config.confinement.network_proxy.empty());
    CHECK_FALSE(config.confinement.shared_tmp);
    CHECK_FALSE(config.confinement.exclude_slash_tmp);
    CHECK_FALSE(config.confinement.exclude_tmpdir_env_var);
    CHECK(config.confinement.enforcement == Enforcement::require);
    CHECK_FALSE(config.confinement.report_writes);
    CHECK(config.confinement.private_caches);
    CHECK(config.confinement.read_only == ew::config::usual_read_only());
    CHECK(config.granular == ew::core::GranularFlags{});
    CHECK(config.approval_timeout == Millis(0));
    CHECK(config.shell.empty());
    CHECK_FALSE(config.login_shell);
    CHECK(config.max_output_tokens == 10000);
    CHECK(config.default_yield == Millis(10000));
    CHECK(config.write_yield == Millis(250));
    CHECK(config.min_yield == Millis(250));
    CHECK(config.max_yield == Millis(30000));
    CHECK(config.min_poll == Millis(5000));
    CHECK(config.max_poll == Millis(300000));
    CHECK_FALSE(config.environment.ignore_default_excludes);
    CHECK(config.default_environment.empty());
    CHECK(config.environments.empty());
    CHECK(config.database.empty());
    CHECK(config.audit_flush == Millis(1000));
    CHECK(config.audit_keep_days == 90);
    CHECK(config.session_keep_days == 30);
}

TEST_CASE("every setting can be given, and the file says which it has") {
    Result<ConfigFile> file = parse_config(R"(
approval_policy = "granular"
approval_timeout_ms = 60000
sandbox = "danger-full-access"
shell = "/bin/dash"
login_shell = true
max_output_tokens = 500
default_yield_ms = 1
write_yield_ms = 2
min_yield_ms = 3
max_yield_ms = 4
min_poll_ms = 5
max_poll_ms = 6
default_environment = "box"
environments = [{ id = "box", program = "ssh" }]
database = ":memory:"
audit_flush_ms = 7
audit_keep_days = 8
session_keep_days = 9
[confinement]
writable_roots = ["/a"]
deny_read = ["/b", "/c/*.key", "**/.env"]
network_access = true
network_by_host = true
network_observe = true
network_proxy = "http://me:secret@proxy.example:3128"
shared_tmp = true
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
enforcement = "best-effort"
report_writes = true
private_caches = false
read_only = [".idea", "/a/b", "~/.bashrc"]
[granular]
sandbox_approval = false
rules = false
skill_approval = false
request_permissions = false
mcp_elicitations = false
[environment]
inherit = "core"
default_excludes = false
exclude = ["AWS_*", "X"]
set = { CI = "1", "odd name" = "" }
include_only = ["CI"]
)",
                                           "c.toml");
    REQUIRE(file);
    const Config& config = file->config;

    CHECK(config.approval_policy == ApprovalPolicy::granular);
    CHECK(config.approval_timeout == Millis(60000));
    CHECK(config.sandbox == SandboxMode::danger_full_access);
    CHECK(config.shell == "/bin/dash");
    CHECK(config.login_shell);
    CHECK(config.max_output_tokens == 500);
    CHECK(config.default_yield == Millis(1));
    CHECK(config.write_yield == Millis(2));
    CHECK(config.min_yield == Millis(3));
    CHECK(config.max_yield == Millis(4));
    CHECK(config.min_poll == Millis(5));
    CHECK(config.max_poll == Millis(6));
    CHECK(config.default_environment == "box");
    CHECK(config.environments.size() == 1);
    CHECK(config.database == ":memory:");
    CHECK(config.audit_flush == Millis(7));
    CHECK(config.audit_keep_days == 8);
    CHECK(config.session_keep_days == 9);
    CHECK(config.confinement.writable_roots == std::vector<std::string>{"/a"});
    CHECK(config.confinement.deny_read == std::vector<std::string>{"/b", "/c/*.key", "**/.env"});
    CHECK(config.confinement.network_access);
    CHECK(config.confinement.network_by_host);
    CHECK(config.confinement.network_observe);
    CHECK(config.confinement.network_proxy == "http://me:secret@proxy.example:3128");
    CHECK(config.confinement.shared_tmp);
    CHECK(config.confinement.exclude_slash_tmp);
    CHECK(config.confinement.exclude_tmpdir_env_var);
    CHECK(config.confinement.enforcement == Enforcement::best_effort);
    CHECK(config.confinement.report_writes);
    CHECK_FALSE(config.confinement.private_caches);
    CHECK(config.confinement.read_only == std::vector<std::string>{".idea", "/a/b", "~/.bashrc"});
    CHECK(config.granular == ew::core::GranularFlags{false, false, false, false, false});
    CHECK(config.environment.inherit == ew::core::EnvironmentPolicy::Inherit::core);
    CHECK(config.environment.ignore_default_excludes);
    CHECK(config.environment.exclude == std::vector<std::string>{"AWS_*", "X"});
    CHECK(config.environment.set == Variables{{"CI", "1"}, {"odd name", ""}});
    CHECK(config.environment.include_only == std::vector<std::string>{"CI"});

    Config none;
    std::size_t count = 0;
    const auto check_given = [&](const ew::config::Setting& setting, const auto&) {
        ++count;
        CHECK_MESSAGE(std::count(file->given.begin(), file->given.end(), setting.full_name()) == 1,
                      setting.full_name());
    };
    ew::config::visit_settings(check_given, none);
    CHECK(file->given.size() == count);
}

TEST_CASE("the words of the file name all values") {
    for (const auto& [word, value] : {std::pair("untrusted", ApprovalPolicy::untrusted),
                                      std::pair("on-failure", ApprovalPolicy::on_failure),
                                      std::pair("on-request", ApprovalPolicy::on_request),
                                      std::pair("never", ApprovalPolicy::never),
                                      std::pair("granular", ApprovalPolicy::granular)})
        CHECK(parsed("approval_policy = \"" + std::string(word) + "\"").approval_policy == value);
    for (const auto& [word, value] :
         {std::pair("danger-full-access", SandboxMode::danger_full_access),
          std::pair("read-only", SandboxMode::read_only),
          std::pair("workspace-write", SandboxMode::workspace_write),
          std::pair("external-sandbox", SandboxMode::external_sandbox)})
        CHECK(parsed("sandbox = \"" + std::string(word) + "\"").sandbox == value);
}

TEST_CASE("a key that is unknown is a mistake, with the one that was meant") {
    CHECK(mistakes("\naproval_policy = \"never\"") ==
          "c.toml:2:1: unknown key 'aproval_policy'; did you mean 'approval_policy'?");
    CHECK(mistakes("[granular]\nrule = false") ==
          "c.toml:2:1: unknown key 'granular.rule'; did you mean 'granular.rules'?");
    CHECK(mistakes("[enviroment]\ninherit = \"all\"") ==
          "c.toml:1:2: unknown key 'enviroment'; did you mean 'environment'?");
}

TEST_CASE("a value of the wrong kind is a mistake, with place and expectation") {
    CHECK(mistakes("login_shell = \"yes\"") ==
          "c.toml:1:15: key 'login_shell': expected true or false, found a string");
    CHECK(mistakes("approval_policy = \"nevr\"")
              .starts_with("c.toml:1:19: key 'approval_policy': expected "));
    CHECK(mistakes("max_output_tokens = \"many\"")
              .starts_with("c.toml:1:21: key 'max_output_tokens': expected an integer"));
    CHECK(mistakes("[environment]\nexclude = \"X\"")
              .starts_with("c.toml:2:11: key 'environment.exclude': expected "));
    CHECK(mistakes("environment = 5")
              .starts_with("c.toml:1:15: key 'environment': expected a table"));
}

TEST_CASE("a number out of bounds is a mistake") {
    CHECK(mistakes("max_output_tokens = 262145").find("between 0 and 262144") != std::string::npos);
    CHECK(mistakes("min_poll_ms = -1").find("between 0 and 3600000") != std::string::npos);
    CHECK(mistakes("session_keep_days = 0").find("between 1 and") != std::string::npos);
}

TEST_CASE("bounds that contradict each other are a mistake") {
    CHECK(mistakes("min_yield_ms = 40000") ==
          "c.toml:1:16: key 'min_yield_ms': expected to be at most max_yield_ms, which is 30000");
    CHECK(mistakes("max_poll_ms = 10").find("'min_poll_ms'") != std::string::npos);
}

TEST_CASE("a database is an absolute path or in memory") {
    CHECK(parsed("database = \"/var/x.db\"").database == "/var/x.db");
    CHECK(mistakes("database = \"x.db\"").starts_with("c.toml:1:12: key 'database': expected an"));
}

TEST_CASE("paths of the confinement are absolute, and patterns may be relative") {
    CHECK(mistakes("[confinement]\nwritable_roots = [\"/a\", \"b\"]") ==
          "c.toml:2:18: key 'confinement.writable_roots': expected absolute paths without NUL");
    CHECK(mistakes("[confinement]\ndeny_read = [\"~/.ssh\"]").find("expected absolute paths and") !=
          std::string::npos);
    CHECK(mistakes("[confinement]\ndeny_read = [\"*\\u0000\"]").find("without NUL") !=
          std::string::npos);
    CHECK(parsed("[confinement]\ndeny_read = [\"{a,b}.key\"]").confinement.deny_read.size() == 1);
    CHECK(mistakes("[confinement]\nread_only = [\"a/../b\"]").find("without '..'") !=
          std::string::npos);
    CHECK(parsed("[confinement]\nread_only = []").confinement.read_only.empty());
    CHECK(mistakes("[confinement]\nenforcement = \"hard\"")
              .starts_with("c.toml:2:15: key 'confinement.enforcement': expected "));
    CHECK(mistakes("[confinement]\nshare_tmp = true") ==
          "c.toml:2:1: unknown key 'confinement.share_tmp'; did you mean "
          "'confinement.shared_tmp'?");
}

TEST_CASE("a variable has a name without = and a string without NUL") {
    CHECK(mistakes("environment.set.A = 5") ==
          "c.toml:1:21: variable 'A': expected a string without NUL, found an integer");
    CHECK(mistakes("environment.set.\"A=B\" = \"x\"").find("has no =") != std::string::npos);
    CHECK(mistakes("environment.set.A = \"x\\u0000\"").find("without NUL") != std::string::npos);
}

TEST_CASE("all mistakes are told at once, in the order of the file") {
    CHECK(mistakes("[environment]\ninherit = 1\n[granular]\nrules = 2\nx = 3").find('\n') !=
          std::string::npos);
    const std::string all = mistakes("sandbox = 1\nnonsense = 2\nshell = 3");
    CHECK(all.find("c.toml:1") < all.find("c.toml:2"));
    CHECK(all.find("c.toml:2") < all.find("c.toml:3"));
    CHECK(all.find("c.toml:3") != std::string::npos);
}

TEST_CASE("text that is no TOML is a mistake with its place") {
    CHECK(mistakes("login_shell = yes").starts_with("c.toml:1:"));
}

TEST_CASE("a file that is missing means defaults or is an error, as asked for") {
    const TempDirectory place;
    const std::string path = place.path("config.toml");

    Result<ConfigFile> file = load_config(path, WhenMissing::use_defaults);
    REQUIRE(file);
    CHECK_FALSE(file->exists);
    CHECK(load_config("", WhenMissing::use_defaults));

    file = load_config(path, WhenMissing::fail);
    REQUIRE_FALSE(file);
    CHECK(file.error().kind == ErrorKind::config_invalid);
    CHECK(file.error().message == path + ": cannot be opened: No such file or directory");
}

TEST_CASE("a file is read, and mistakes name it") {
    const TempDirectory place;
    const std::string path = place.write("config.toml", "login_shell = true\n");
    Result<ConfigFile> file = load_config(path, WhenMissing::fail);
    REQUIRE(file);
    CHECK(file->exists);
    CHECK(file->config.login_shell);

    (void)place.write("config.toml", "login_shel = true\n");
    file = load_config(path, WhenMissing::use_defaults);
    REQUIRE_FALSE(file);
    CHECK(file.error().message.starts_with(path + ":1:1: unknown key 'login_shel'"));
}

TEST_CASE("a file that somebody else could have written is refused") {
    const TempDirectory place;
    const std::string path = place.write("config.toml", "");
    for (const mode_t mode : {0620U, 0602U, 0666U}) {
        ::chmod(path.c_str(), mode);
        Result<ConfigFile> file = load_config(path, WhenMissing::use_defaults);
        REQUIRE_FALSE(file);
        CHECK(file.error().kind == ErrorKind::config_invalid);
        CHECK_FALSE(file.error().hint.empty());
    }
    ::chmod(path.c_str(), 0644);
    CHECK(load_config(path, WhenMissing::use_defaults));
}

TEST_CASE("a file that is a directory or a pipe is refused, not waited for") {
    const TempDirectory place;
    const std::string pipe = place.path("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);

    CHECK_FALSE(load_config(pipe, WhenMissing::use_defaults));
    CHECK_FALSE(load_config(place.path(), WhenMissing::use_defaults));
}

TEST_SUITE_END();
