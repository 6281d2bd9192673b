#include "core/judgement/further_words.h"
#include "support/testing.h"

#include <string>
#include <string_view>
#include <vector>

using ew::core::can_be_approved;
using ew::core::continues_harmlessly;
using ew::core::further_words_of;
using ew::core::Words;

namespace {

// Splits at blanks.
Words words(std::string_view text) {
    Words list;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        list.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return list;
}

bool continues(std::string_view prefix, std::string_view command) {
    const Words all = words(command);
    return continues_harmlessly(words(prefix), {all, std::vector<bool>(all.size(), false)});
}

} // namespace

TEST_SUITE_BEGIN("core/judgement");

TEST_CASE("only commands that are known can be approved as a rule") {
    for (const char* prefix : {"",
                               "bash",
                               "sh -c",
                               "python3",
                               "python3 -c",
                               "python3 x.py",
                               "perl",
                               "node -e",
                               "env",
                               "sudo apt update",
                               "xargs -n1",
                               "execward",
                               "execward run",
                               "sqlite3",
                               "tar",
                               "bwrap",
                               "tmux",
                               "docker compose",
                               "screen",
                               "socat",
                               "at",
                               "crontab",
                               "m4",
                               "dc",
                               "less",
                               "nano",
                               "cargo run",
                               "cargo",
                               "swift run",
                               "dotnet run",
                               "bunx",
                               "uv tool run",
                               "uv run",
                               "hatch run",
                               "direnv exec",
                               "mise exec",
                               "op run",
                               "lxc exec",
                               "heroku run",
                               "numactl",
                               "perf stat",
                               "hyperfine",
                               "start-stop-daemon",
                               "git",
                               "git submodule foreach",
                               "git config",
                               "git rebase",
                               "git bisect",
                               "git filter-branch",
                               "git difftool",
                               "git -c a.b=c push",
                               "git -C x push",
                               "codex exec",
                               "claude -p",
                               "ansible",
                               "entr",
                               "nodemon",
                               "wine",
                               "npm",
                               "npm run",
                               "npm exec x",
                               "npx",
                               "npx -y eslint",
                               "yarn",
                               "yarn node",
                               "go",
                               "go run ./x",
                               "go test example.com/x",
                               "find . -delete",
                               "rm -rf x",
                               "rm",
                               "sed",
                               "sed -i s/a/b/ x",
                               "docker exec box ls",
                               "docker run x",
                               "kubectl get pods",
                               "ssh host uptime",
                               "gdb a",
                               "vim a",
                               "make -f",
                               "./build.sh",
                               "./touch x",
                               "tee",
                               "unknown-tool a",
                               "cargo build --config x",
                               "npm test --script-shell=x",
                               "git commit -m",
                               "timeout 5 bash",
                               "timeout -k 1 5 make",
                               "timeout 60 make test",
                               "timeout 5 ls",
                               "make @x",
                               "meson test -C @x"}) {
        CAPTURE(std::string(prefix));
        CHECK_FALSE(can_be_approved(words(prefix)));
    }
    for (const char* prefix : {"touch",
                               "touch a",
                               "mkdir -p",
                               "npm test",
                               "npm run build",
                               "npm install lodash",
                               "cargo build",
                               "cargo test --release",
                               "make",
                               "make test",
                               "make -C sub test",
                               "go test ./...",
                               "go build -v ./cmd",
                               "pytest",
                               "python3.11 -m pytest",
                               "git push",
                               "git push origin main",
                               "git commit",
                               "git commit -m x",
                               "git commit --amend",
                               "/usr/bin/git add .",
                               "ls",
                               "find . -name x",
                               "git status"}) {
        CAPTURE(std::string(prefix));
        CHECK(can_be_approved(words(prefix)));
    }
}

TEST_CASE("further words that could run a program or write elsewhere do not follow a rule") {
    struct Row {
        const char* prefix;
        const char* command;
    };

    for (const Row& row : {
             Row{"make test", "make test SHELL=./evil"},
             Row{"make test", "make test --eval=$(shell x)"},
             Row{"make test", "make test install"},
             Row{"make test", "make test -f evil.mk"},
             Row{"make test", "make test -Cevil"},
             Row{"make", "make install"},
             Row{"git fetch .", "git fetch . --upload-pack=./evil"},
             Row{"git fetch", "git fetch ext::sh"},
             Row{"git push", "git push --receive-pack=./evil"},
             Row{"git push", "git push --force"},
             Row{"git push", "git push origin +main"},
             Row{"git commit", "git commit --amend"},
             Row{"git commit", "git commit --no-verify"},
             Row{"git commit -m x", "git commit -m x -n"},
             Row{"git diff", "git diff --output=x"},
             Row{"go vet ./...", "go vet ./... -vettool=./evil"},
             Row{"go test", "go test -exec ./evil"},
             Row{"go test", "go test -toolexec=./evil"},
             Row{"go build", "go build -o /x"},
             Row{"cargo build", "cargo build --config build.rustc-wrapper=evil"},
             Row{"cargo build", "cargo build --target=evil.json"},
             Row{"cargo build", "cargo build --manifest-path=evil/Cargo.toml"},
             Row{"cargo test", "cargo test -- --logfile=x"},
             Row{"cargo clippy", "cargo clippy --fix"},
             Row{"npm test", "npm test --script-shell=./evil"},
             Row{"npm test", "npm test --prefix=evil"},
             Row{"npm test", "npm test -- evil"},
             Row{"npm test", "npm test evil"},
             Row{"npm run build", "npm run build evil"},
             Row{"npm install", "npm install evil"},
             Row{"yarn test", "yarn test --x"},
             Row{"python3 -m pytest", "python3 -m pytest -p evilplug"},
             Row{"pytest", "pytest --rootdir=/x"},
             Row{"pytest", "pytest /tmp/evil.py"},
             Row{"pytest", "pytest ../evil.py"},
             Row{"pytest", "pytest a/../../evil.py"},
             Row{"pytest", "pytest @args"},
             Row{"python3 -m unittest", "python3 -m unittest evil"},
             Row{"prettier --check .", "prettier --check . --write"},
             Row{"eslint .", "eslint . --rulesdir=x"},
             Row{"eslint .", "eslint . -f ./evil.js"},
             Row{"ls", "ls; touch"},
             Row{"find .", "find . -delete"},
             Row{"sort", "sort -o x"},
             Row{"touch", "touch --unknown"},
             Row{"meson test -C b", "meson test -C b @args"},
             Row{"meson compile", "meson compile -j @x"},
             Row{"python3 -m pytest", "python3 -m pytest -k @x"},
             Row{"mkdir a", "mkdir a /etc/x"},
             Row{"mkdir a", "mkdir a ../x"},
             Row{"mkdir -p", "mkdir -p a ~/x"},
             Row{"mkdir /a", "mkdir /a /b"},
             Row{"rmdir a", "rmdir a /etc/x"},
             Row{"touch a", "touch a /etc/x"},
             Row{"touch a", "touch a b/../../x"},
             Row{"git stash", "git stash pop"},
             Row{"git stash", "git stash apply"},
         }) {
        CAPTURE(std::string(row.command));
        CHECK_FALSE(continues(row.prefix, row.command));
    }
}

TEST_CASE("everyday further words follow a rule") {
    struct Row {
        const char* prefix;
        const char* command;
    };

    for (const Row& row : {
             Row{"cargo build", "cargo build --release -p core --features a,b -j4"},
             Row{"cargo test", "cargo test parser --no-fail-fast -- --nocapture"},
             Row{"npm test", "npm test --silent"},
             Row{"npm ci", "npm ci --no-audit --no-fund"},
             Row{"make test", "make test -j8 -k"},
             Row{"make -C sub test", "make -C sub test -s"},
             Row{"go test ./...", "go test ./... -run TestX -count=1 -v"},
             Row{"go test", "go test ./pkg -race"},
             Row{"pytest", "pytest -q tests/test_a.py::test_b -k name --maxfail=1"},
             Row{"python3 -m pytest", "python3 -m pytest -x tests"},
             Row{"git commit", "git commit -am message"},
             Row{"git commit --amend", "git commit --amend --no-edit"},
             Row{"git add", "git add -A src"},
             Row{"git push", "git push -u"},
             Row{"mkdir -p", "mkdir -p a/b c"},
             Row{"touch a", "touch a b"},
             Row{"touch /a", "touch /a b"},
             Row{"rmdir a", "rmdir a b/c"},
             Row{"ruff check", "ruff check src --select=E"},
             Row{"git diff", "git diff --stat"},
             Row{"find .", "find . -name x"},
         }) {
        CAPTURE(std::string(row.command));
        CHECK(continues(row.prefix, row.command));
    }
}

TEST_CASE("patterns follow only where they cannot become options or leave the directory") {
    const auto with_pattern = [](const Words& prefix, const Words& all) {
        std::vector<bool> has_glob(all.size(), false);
        has_glob.back() = true;
        return continues_harmlessly(prefix, {all, has_glob});
    };

    CHECK(with_pattern({"pytest"}, {"pytest", "tests/test_*.py"}));
    CHECK_FALSE(with_pattern({"pytest"}, {"pytest", "*"}));
    CHECK_FALSE(with_pattern({"pytest"}, {"pytest", "tests/.*"}));
}

TEST_CASE("a person reads what a rule also allows") {
    CHECK(further_words_of({"npm", "test"}) ==
          "no further operands, and the options -s --silent --if-present --ignore-scripts");
    CHECK(further_words_of({"pnpm", "test"}) ==
          "no further operands, and the options that it has now");
    CHECK(further_words_of({"ls"}) == "further words with which it only reads and prints");
}

TEST_SUITE_END();
