#include "core/exec_environment.h"
#include "support/child_process.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

using ew::core::EnvironmentPolicy;
using ew::core::exec_environment;
using ew::core::ExecEnvironment;
using ew::core::hardened;
using ew::core::Hardening;
using ew::core::is_inert_variable;
using ew::core::Variables;

namespace {

std::string value_of(const Variables& variables, std::string_view name) {
    const auto at = std::find_if(variables.begin(), variables.end(),
                                 [&](const auto& variable) { return variable.first == name; });
    return at == variables.end() ? "(absent)" : at->second;
}

// What a script prints to both streams, in a directory and with these variables.
std::string run(const std::string& script, const ew::test::TempDirectory& place,
                const Variables& variables) {
    return ew::test::in_child([&] {
               ::clearenv();
               ::setenv("PATH", "/usr/bin:/bin", 1);
               ::setenv("HOME", place.path().c_str(), 1);
               ::setenv("PLACE", place.path().c_str(), 1);
               for (const auto& [name, value] : variables)
                   ::setenv(name.c_str(), value.c_str(), 1);
               ::dup2(STDERR_FILENO, STDOUT_FILENO);
               return ::chdir(place.path().c_str()) == 0 &&
                      ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr) == 0;
           })
        .errors;
}

} // namespace

TEST_SUITE_BEGIN("core/exec_environment");

TEST_CASE("the ten fixed variables are there and win over what is inherited") {
    const Variables inherited = {{"TERM", "xterm"}, {"LANG", "de_DE.UTF-8"}, {"PAGER", "less"}};

    const Variables got = exec_environment({}, inherited, "s", {}).variables;

    CHECK(value_of(got, "NO_COLOR") == "1");
    CHECK(value_of(got, "TERM") == "dumb");
    for (const char* name : {"LANG", "LC_CTYPE", "LC_ALL"})
        CHECK(value_of(got, name) == "C.UTF-8");
    CHECK(value_of(got, "COLORTERM").empty());
    for (const char* name : {"PAGER", "GIT_PAGER", "GH_PAGER"})
        CHECK(value_of(got, name) == "cat");
    CHECK(value_of(got, "EXECWARD_EXEC") == "1");
}

TEST_CASE("the fixed variables win over those that the policy sets or leaves out") {
    const EnvironmentPolicy policy = {.set = {{"TERM", "xterm"}}, .include_only = {"PATH"}};

    const Variables got = exec_environment(policy, {{"PATH", "/bin"}}, "s", {}).variables;

    CHECK(value_of(got, "TERM") == "dumb");
    CHECK(value_of(got, "PATH") == "/bin");
    CHECK(got.size() == 12);
}

TEST_CASE("what a call sets wins over everything but the two variables of execward") {
    const Variables overlay = {
        {"TERM", "xterm"}, {"NEW", "1"}, {"EXECWARD_SESSION_ID", "other"}, {"EXECWARD_EXEC", "0"}};

    const Variables got = exec_environment({}, {}, "session-1", overlay).variables;

    CHECK(value_of(got, "TERM") == "xterm");
    CHECK(value_of(got, "NEW") == "1");
    CHECK(value_of(got, "EXECWARD_SESSION_ID") == "session-1");
    CHECK(value_of(got, "EXECWARD_EXEC") == "1");
}

TEST_CASE("no name is there twice") {
    const Variables inherited = {{"TERM", "xterm"}, {"EXECWARD_SESSION_ID", "outer"}};
    Variables got =
        exec_environment({}, inherited, "s", {{"TERM", "a"}, {"EXECWARD_EXEC", "x"}}).variables;

    std::sort(got.begin(), got.end());

    const auto is_same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
    CHECK(std::adjacent_find(got.begin(), got.end(), is_same_name) == got.end());
}

TEST_CASE("names that are inherited and not passed on are reported in order") {
    const EnvironmentPolicy policy = {.exclude = {"AWS_*"}};
    const Variables inherited = {{"ZZ_TOKEN", "x"}, {"PATH", "/bin"}, {"AWS_REGION", "x"},
                                 {"API_KEY", "x"},  {"TERM", "x"},    {"API_KEY", "twice"}};

    const ExecEnvironment got = exec_environment(policy, inherited, "s", {});

    CHECK(got.dropped == std::vector<std::string>{"API_KEY", "AWS_REGION", "ZZ_TOKEN"});
}

TEST_CASE("what a call brings back was not dropped") {
    const ExecEnvironment got =
        exec_environment({}, {{"API_KEY", "x"}}, "s", {{"API_KEY", "mine"}});

    CHECK(got.dropped.empty());
    CHECK(value_of(got.variables, "API_KEY") == "mine");
}

TEST_CASE("a few plain values of well-known names are inert") {
    for (const auto& variable : Variables{{"CI", "true"},
                                          {"CI", ""},
                                          {"NO_COLOR", "1"},
                                          {"FORCE_COLOR", "0"},
                                          {"CLICOLOR", "1"},
                                          {"CLICOLOR_FORCE", "1"},
                                          {"COLUMNS", "120"},
                                          {"LINES", "40"},
                                          {"TERM", "dumb"},
                                          {"TERM", "screen.xterm-256color"},
                                          {"TZ", "UTC"},
                                          {"TZ", "America/Argentina/Buenos_Aires"},
                                          {"LC_ALL", "C"},
                                          {"LANG", "C.UTF-8"},
                                          {"PAGER", "cat"},
                                          {"GIT_PAGER", "cat"},
                                          {"LC_COLLATE", "POSIX"}})
        CHECK_MESSAGE(is_inert_variable(variable.first, variable.second), variable.first, "=",
                      variable.second);
}

TEST_CASE("a name that nobody knows is not inert, nor a value that says more than it should") {
    for (const auto& variable : Variables{{"FOO", "1"},
                                          {"US_MARK", "1"},
                                          {"DEBUG", "1"},
                                          {"ci", "1"},
                                          {"", ""},
                                          {"PATH", "/bin"},
                                          {"LD_PRELOAD", ""},
                                          {"PAGER", "less"},
                                          {"REPORTTIME", "path[$(touch x)]"},
                                          {"REPORTMEMORY", "path[$(touch x)]"},
                                          {"DIRSTACKSIZE", "path[$(touch x)]"},
                                          {"READNULLCMD", "evil"},
                                          {"MY_APP_MODE", "1"},
                                          {"PAGER", "cat "},
                                          {"GIT_PAGER", ""},
                                          {"CI", "a[$(touch x)]"},
                                          {"CI", "-x"},
                                          {"CI", "a b"},
                                          {"CI", "a\nb"},
                                          {"CI", "\xc3\xa9"},
                                          {"CI", std::string(65, 'a')},
                                          {"COLUMNS", "a[$(touch x)]"},
                                          {"COLUMNS", "x"},
                                          {"LINES", "-1"},
                                          {"LINES", "12345678"},
                                          {"TERM", "/tmp/x"},
                                          {"TERM", "../x"},
                                          {"TZ", "/etc/passwd"},
                                          {"TZ", ":x"},
                                          {"TZ", "../../tmp/x"},
                                          {"TZ", "a/../../x"},
                                          {"LC_ALL", "zh_CN.GBK"},
                                          {"LC_ALL", "C.GBK"},
                                          {"LANGUAGE", "C"},
                                          {"LC_ALL", "/tmp/x"}})
        CHECK_MESSAGE(!is_inert_variable(variable.first, variable.second), variable.first, "=",
                      variable.second);
}

TEST_CASE("a hardened environment keeps what is inert, PATH and HOME, and nothing else") {
    const Variables got = hardened({{"PATH", "/bin"},
                                    {"HOME", "/home/me"},
                                    {"TERM", "dumb"},
                                    {"COLUMNS", "120"},
                                    {"LINES", "a[$(touch x)]"},
                                    {"ARGV0", "rm"},
                                    {"PYTEST_ADDOPTS", "-p evil"},
                                    {"LD_PRELOAD", "x"},
                                    {"BASH_FUNC_ls%%", "() { evil; }"},
                                    {"GIT_DIR", "/elsewhere"},
                                    {"PAGER", "less"},
                                    {"REPORTTIME", "path[$(touch x)]"},
                                    {"REPORTMEMORY", "path[$(touch x)]"},
                                    {"DIRSTACKSIZE", "path[$(touch x)]"},
                                    {"READNULLCMD", "evil"},
                                    {"MY_APP_MODE", "1"},
                                    {"EXECWARD_EXEC", "1"},
                                    {"EXECWARD_SESSION_ID", "s"}},
                                   Hardening::all);

    CHECK(value_of(got, "PATH") == "/bin");
    CHECK(value_of(got, "HOME") == "/home/me");
    CHECK(value_of(got, "TERM") == "dumb");
    CHECK(value_of(got, "COLUMNS") == "120");
    CHECK(value_of(got, "EXECWARD_EXEC") == "1");
    CHECK(value_of(got, "EXECWARD_SESSION_ID") == "s");
    CHECK(value_of(got, "PAGER") == "cat");
    CHECK(value_of(got, "GIT_PAGER") == "cat");
    for (const char* name :
         {"LD_PRELOAD", "BASH_FUNC_ls%%", "GIT_DIR", "LINES", "ARGV0", "PYTEST_ADDOPTS",
          "REPORTTIME", "REPORTMEMORY", "DIRSTACKSIZE", "READNULLCMD", "MY_APP_MODE"})
        CHECK_MESSAGE(value_of(got, name) == "(absent)", name);
}

TEST_CASE("the environment of a script that also does other things only gets settings") {
    const Variables given = {{"JAVA_HOME", "/opt/java"}, {"PAGER", "less"}};
    const Variables got = hardened(given, Hardening::settings);
    CHECK(value_of(got, "JAVA_HOME") == "/opt/java");
    CHECK(value_of(got, "PAGER") == "cat");
    CHECK(hardened(given, Hardening::none) == given);
}

TEST_CASE("a hardened environment is in UTF-8, whatever locale a call asks for") {
    const Variables got = hardened({{"LC_ALL", "zh_CN.GBK"},
                                    {"LANG", "ja_JP.SJIS"},
                                    {"LANGUAGE", "de"},
                                    {"LC_CTYPE", "zh_TW.Big5"}},
                                   Hardening::all);

    CHECK(value_of(got, "LC_ALL") == "C.UTF-8");
    CHECK(value_of(got, "LANG") == "C.UTF-8");
    CHECK(value_of(got, "LC_CTYPE") == "(absent)");
    CHECK(value_of(got, "LANGUAGE") == "(absent)");
}

TEST_CASE("a hardened environment fixes the settings of git that start programs") {
    const Variables got = hardened({{"GIT_CONFIG_COUNT", "1"},
                                    {"GIT_CONFIG_KEY_0", "core.fsmonitor"},
                                    {"GIT_CONFIG_VALUE_0", "evil"}},
                                   Hardening::settings);

    Variables settings;
    const int count = std::stoi(value_of(got, "GIT_CONFIG_COUNT"));
    for (int i = 0; i < count; ++i)
        settings.emplace_back(value_of(got, "GIT_CONFIG_KEY_" + std::to_string(i)),
                              value_of(got, "GIT_CONFIG_VALUE_" + std::to_string(i)));
    CHECK(value_of(settings, "safe.bareRepository") == "explicit");
    CHECK(value_of(settings, "core.fsmonitor") == "false");
    CHECK(value_of(settings, "core.hooksPath") == "/dev/null");
    CHECK(value_of(settings, "format.pretty") == "medium");
    for (const char* name : {"gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program"})
        CHECK(value_of(settings, name) == "/bin/false");
    CHECK(value_of(got, "GIT_OPTIONAL_LOCKS") == "0");
    CHECK(value_of(got, "GIT_TERMINAL_PROMPT") == "0");
}

TEST_CASE("under a hardened environment git starts nothing that a repository names") {
    if (::access("/usr/bin/git", X_OK) != 0) return;
    const ew::test::TempDirectory place;
    const std::string made = run(R"sh(
        git init -q repo && cd repo && git config user.email a@b && git config user.name n &&
        echo 1 > file && git add file && git commit -qm one &&
        printf '#!/bin/sh\ntouch %s/started\n' "$PLACE" > ../program && chmod +x ../program &&
        cp ../program .git/hooks/post-index-change &&
        git config core.fsmonitor "$PLACE/program" && git config core.pager "$PLACE/program" &&
        git config pager.status "$PLACE/program" && git config gpg.program "$PLACE/program" &&
        git config log.showSignature true && git cat-file commit HEAD |
            sed 's/^committer.*/&\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x/' > ../signed &&
        git update-ref HEAD "$(git hash-object -t commit -w --stdin < ../signed)" && echo made)sh",
                                 place, {});
    REQUIRE(made == "made\n");
    const std::string look =
        "cd repo && touch file && git status --short && git log --format=%s && "
        "git show --stat --format=%s && git diff && test -e ../started && "
        "echo started";
    REQUIRE(run(look, place, {}).ends_with("started\n"));
    std::filesystem::remove(place.path("started"));

    const std::string output = run(look, place, hardened({}, Hardening::all));

    CHECK(output.starts_with("one\none\n"));
    CHECK_FALSE(output.ends_with("started\n"));
}

TEST_CASE("under a hardened environment git checks no signature that a repository asks about") {
    if (::access("/usr/bin/git", X_OK) != 0) return;
    const ew::test::TempDirectory place;
    const std::string made = run(R"sh(
        git init -q repo && cd repo && git config user.email a@b && git config user.name n &&
        echo 1 > file && git add file && git commit -qm one &&
        printf '#!/bin/sh\ntouch %s/started\n' "$PLACE" > ../program && chmod +x ../program &&
        git config format.pretty '%s %G?' && git config core.alternateRefsCommand "$PLACE/program" &&
        for kind in openpgp x509 ssh; do git config gpg.$kind.program "$PLACE/program"; done &&
        git config gpg.ssh.allowedSignersFile "$PLACE/program" &&
        git clone -q --bare . ../other && echo "$PLACE/other/objects" > .git/objects/info/alternates &&
        sign() { git cat-file commit HEAD |
            sed "s/^committer.*/&\\ngpgsig -----BEGIN $1-----\\n AAAA\\n -----END $1-----/" > ../signed &&
            git update-ref "refs/heads/$2" "$(git hash-object -t commit -w --stdin < ../signed)"; } &&
        sign 'PGP SIGNATURE' pgp && sign 'SSH SIGNATURE' ssh && sign 'SIGNED MESSAGE' x509 &&
        echo made)sh",
                                 place, {});
    REQUIRE(made == "made\n");
    for (const char* look : {"git log -1 pgp", "git log -1 ssh", "git log -1 x509", "git show ssh",
                             "git show x509", "git log --alternate-refs"}) {
        const std::string script = std::string("cd repo && ") + look;
        (void)run(script, place, {});
        CHECK_MESSAGE(std::filesystem::remove(place.path("started")), look);

        const std::string output = run(script, place, hardened({}, Hardening::all));

        CHECK_MESSAGE(output.starts_with("commit "), output);
        CHECK_MESSAGE(!std::filesystem::remove(place.path("started")), look);
    }
}

TEST_CASE("under a hardened environment git shows an ordinary repository as ever") {
    if (::access("/usr/bin/git", X_OK) != 0) return;
    const ew::test::TempDirectory place;
    // Without the advice, which git gives when it took long.
    REQUIRE(run("git init -q -b main repo && cd repo && git config user.email a@b && "
                "git config advice.statusUoption false && "
                "git config user.name n && echo 1 > file && git add file && git commit -qm one && "
                "git branch side && git tag v2 && git tag v1 && echo 2 >> file && echo made",
                place, {}) == "made\n");

    for (const char* look :
         {"git log", "git log --oneline", "git log --format='%h %an %s' --stat", "git show",
          "git show --stat HEAD", "git status", "git status --short --branch", "git branch",
          "git branch -v", "git tag -l", "git tag", "git diff", "git rev-parse HEAD"}) {
        const std::string script = std::string("cd repo && ") + look;
        const std::string output = run(script, place, hardened({}, Hardening::all));
        CHECK_FALSE(output.empty());
        CHECK(output == run(script, place, {}));
    }
}

TEST_SUITE_END();
