// The table of these commands. Left out are options that name a program, a file to write, a
// configuration, a place to fetch from or a variable for the build, and those that undo or skip
// something.
#include "core/judgement/further_words.h"

#include "core/judgement/command_safety.h"
#include "core/judgement/program_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace ew::core {

namespace {

// Says which operands may follow the approved words.
enum class Operands : std::uint8_t {
    none,
    below, // relative paths that stay below the working directory
    any,
};

// One command. The options are in the notation of KnownOptions.
struct Command {
    std::string_view name; // the program and its subcommands
    std::string_view shorts = {};
    std::string_view longs = {};
    Operands operands = Operands::none;
    // Options that may stand among the approved words, but not follow them.
    std::string_view fixed_shorts = {};
    std::string_view fixed_longs = {};
    std::size_t least_operands = 0; // among the approved words
};

constexpr std::string_view cargo_shorts = "vqrp:j:F:";
constexpr std::string_view cargo_longs =
    "verbose quiet release package= workspace all exclude= lib bins bin= examples example= tests "
    "test= benches bench= all-targets profile= features= all-features no-default-features jobs= "
    "keep-going locked offline frozen message-format= color= no-run no-fail-fast doc no-deps";
constexpr std::string_view install_longs =
    "silent ignore-scripts no-audit no-fund prefer-offline offline no-save save-dev save-exact "
    "production omit= include= legacy-peer-deps frozen-lockfile";
constexpr std::string_view maven_longs = "quiet batch-mode offline errors no-transfer-progress";
constexpr std::string_view gradle_longs =
    "quiet info warn offline stacktrace no-daemon rerun-tasks continue parallel console=";
constexpr std::string_view pip_longs = "quiet verbose no-deps no-cache-dir no-input no-color "
                                       "disable-pip-version-check";
constexpr std::string_view pytest_longs =
    "verbose quiet exitfirst maxfail= tb= lf last-failed ff failed-first sw stepwise durations= "
    "collect-only co no-header no-summary color= strict-markers disable-warnings showlocals";
constexpr std::string_view pytest_shorts = "vqxslk:m:r:";
constexpr std::string_view unittest_longs = "verbose quiet failfast catch buffer locals";

// Options from the manuals of git 2.39, cargo 1.70, npm 9, GNU make 4.3, pytest 7, ruff 0.1,
// black 23, mypy 1.0, eslint 8, prettier 3, meson 1.0, ninja 1.11 and CTest 3.25.
constexpr std::array commands = {
    Command{"black", "lqv", "check diff quiet verbose color no-color line-length= target-version=",
            Operands::below},
    Command{"cargo bench", cargo_shorts, cargo_longs, Operands::any},
    Command{"cargo build", cargo_shorts, cargo_longs},
    Command{"cargo check", cargo_shorts, cargo_longs},
    Command{"cargo clippy", cargo_shorts, cargo_longs},
    Command{"cargo doc", cargo_shorts, cargo_longs},
    Command{"cargo fmt", "vq", "verbose quiet all check"},
    Command{"cargo test", cargo_shorts, cargo_longs, Operands::any},
    Command{"ctest", "VQNj:R:E:L:",
            "verbose extra-verbose quiet show-only? parallel= tests-regex= exclude-regex= "
            "label-regex= rerun-failed output-on-failure stop-on-failure timeout= progress",
            Operands::none, "", "test-dir="},
    Command{"docker images", "aq", "all quiet digests no-trunc"},
    Command{"docker ps", "aqsn:lf:", "all quiet size last= latest no-trunc filter="},
    Command{"eslint", "", "quiet max-warnings= no-color color ext= debug", Operands::below, "",
            "fix cache"},
    Command{"flake8", "qv",
            "quiet verbose count statistics show-source select= ignore= exclude= extend-ignore= "
            "max-line-length= max-complexity= color=",
            Operands::below},
    Command{"git add", "nvuA",
            "all update verbose dry-run intent-to-add refresh ignore-errors ignore-missing sparse",
            Operands::any, "f", "force"},
    Command{"git branch", "qv", "quiet verbose", Operands::any},
    Command{"git clone", "qvnb:",
            "quiet verbose no-checkout depth= branch= single-branch no-single-branch no-tags "
            "progress shallow-since=",
            Operands::none, "", "", 1},
    Command{"git commit", "am:vqsF:",
            "all message= file= no-edit verbose quiet signoff no-signoff allow-empty dry-run "
            "author= date= status no-status short branch porcelain long cleanup= only include",
            Operands::any, "nC:", "amend no-verify reset-author reuse-message= no-gpg-sign"},
    Command{"git fetch", "qvpatn",
            "quiet verbose prune all append tags no-tags dry-run depth= progress no-progress"},
    Command{"git merge",
            "nqvm:", "stat no-stat ff no-ff ff-only quiet verbose no-edit progress no-progress",
            Operands::none, "", "abort continue squash"},
    Command{"git mv", "kvn", "verbose dry-run", Operands::none, "", "", 2},
    Command{"git pull", "qvpn",
            "quiet verbose prune tags no-tags dry-run ff-only no-ff ff depth= progress "
            "no-progress no-edit stat no-stat",
            Operands::none, "r", "rebase no-rebase autostash"},
    Command{"git push", "qvun",
            "quiet verbose set-upstream dry-run porcelain progress no-progress atomic",
            Operands::none, "", "tags follow-tags"},
    Command{"git rm", "nq", "cached dry-run quiet ignore-unmatch", Operands::none, "r"},
    Command{"git stash", "kuaq", "keep-index no-keep-index include-untracked all quiet"},
    Command{"git stash apply", "q", "index quiet"},
    Command{"git stash pop", "q", "index quiet"},
    Command{"git stash push",
            "kuaqm:", "keep-index no-keep-index include-untracked all quiet staged message="},
    Command{"git switch", "qc:", "quiet create= guess no-guess"},
    Command{"git tag", "am:nlF:", "annotate message= file= list", Operands::any},
    Command{"gofmt", "lds", "", Operands::below},
    Command{"gradle build", "qiwS", gradle_longs},
    Command{"gradle check", "qiwS", gradle_longs},
    Command{"gradle test", "qiwS", gradle_longs, Operands::none, "", "tests="},
    Command{"make", "j::ksnBiqt",
            "jobs? keep-going silent quiet dry-run just-print always-make no-print-directory "
            "output-sync? trace touch question",
            Operands::none, "C:f:", "directory= file="},
    Command{"meson compile", "vj:", "verbose jobs=", Operands::none, "C:"},
    Command{"meson test", "vqt:",
            "verbose quiet timeout-multiplier= num-processes= maxfail= repeat= no-rebuild list "
            "print-errorlogs no-suite= suite=",
            Operands::any, "C:"},
    Command{"mkdir", "pvm:", "parents verbose mode=", Operands::below},
    Command{"mvn compile", "qBoe", maven_longs},
    Command{"mvn package", "qBoe", maven_longs},
    Command{"mvn test", "qBoe", maven_longs},
    Command{"mvn verify", "qBoe", maven_longs},
    Command{"mypy", "v",
            "strict pretty show-error-codes show-error-context show-column-numbers verbose "
            "ignore-missing-imports no-error-summary no-incremental warn-unused-ignores "
            "check-untyped-defs disallow-untyped-defs python-version=",
            Operands::below},
    Command{"ninja", "vnj:k:l:", "verbose quiet", Operands::none, "C:"},
    Command{"npm ci", "s", install_longs},
    Command{"npm i", "sDE", install_longs},
    Command{"npm install", "sDE", install_longs},
    Command{"npm run", "s", "silent if-present ignore-scripts", Operands::none, "", "", 1},
    Command{"npm t", "s", "silent if-present ignore-scripts"},
    Command{"npm test", "s", "silent if-present ignore-scripts"},
    Command{"pip install", "qv", pip_longs, Operands::none, "r:e:U",
            "requirement= editable= upgrade user pre"},
    Command{"pip3 install", "qv", pip_longs, Operands::none, "r:e:U",
            "requirement= editable= upgrade user pre"},
    Command{"pnpm i", "", install_longs},
    Command{"pnpm install", "", install_longs},
    Command{"pnpm run", "", "", Operands::none, "", "", 1},
    Command{"pnpm test"},
    Command{"prettier", "cul", "check list-different ignore-unknown no-color log-level=",
            Operands::below, "w", "write"},
    Command{"pytest", pytest_shorts, pytest_longs, Operands::below},
    Command{"python -m pytest", pytest_shorts, pytest_longs, Operands::below},
    Command{"python -m unittest", "vqfcb", unittest_longs},
    Command{"rmdir", "pv", "parents verbose ignore-fail-on-non-empty", Operands::below},
    Command{"ruff check", "qvns",
            "diff quiet verbose silent select= ignore= extend-select= exclude= show-fixes "
            "statistics no-cache exit-zero line-length= target-version=",
            Operands::below, "", "fix unsafe-fixes"},
    Command{"ruff format", "qvns", "check diff quiet verbose silent exclude= no-cache",
            Operands::below},
    Command{"touch",
            "acmhfd:r:t:", "no-create no-dereference date= reference= time=", Operands::below},
    Command{"tsc", "w", "noEmit watch pretty strict skipLibCheck listFiles", Operands::none, "p:b",
            "project= build"},
    Command{"yarn install", "", install_longs},
    Command{"yarn run", "", "", Operands::none, "", "", 1},
    Command{"yarn test"},
};

// go(1) has long options with one dash.
struct GoCommand {
    std::string_view name;
    std::string_view flags;
    std::string_view with_value = {}; // -run=X or -run X
};

constexpr std::array go_commands = {
    GoCommand{"go build", "-v -x -n -a -race -trimpath", "-p -tags"},
    GoCommand{"go fmt", "-n -x"},
    GoCommand{"go mod tidy", "-v -x"},
    GoCommand{"go test", "-v -x -n -a -race -short -cover -json -failfast -benchmem",
              "-p -tags -run -count -timeout -bench -cpu -parallel -shuffle -skip"},
    GoCommand{"go vet", "-v -x -n -json", "-p -tags"},
};

// Options of the tests, behind the "--" of cargo test.
constexpr std::string_view harness_options = "--nocapture --show-output --ignored "
                                             "--include-ignored --exact --list --test-threads";

bool is_python(std::string_view name) {
    return name.starts_with("python") &&
           name.substr(6).find_first_not_of("0123456789.") == std::string_view::npos;
}

// Returns the number of words of `name` if the command begins with them, or 0.
std::size_t words_of_name(std::string_view name, const Words& words) {
    std::size_t count = 0;
    while (!name.empty()) {
        const std::size_t end = std::min(name.find(' '), name.size());
        const std::string_view word = name.substr(0, end);
        if (count >= words.size()) return 0;
        const bool is_met = count == 0 ? word == base_name(words[0]) ||
                                             (word == "python" && is_python(base_name(words[0])))
                                       : word == words[count];
        if (!is_met) return 0;
        ++count;
        name.remove_prefix(std::min(end + 1, name.size()));
    }
    return count;
}

// Returns the entry with the longest name, or null.
template <class Table>
const typename Table::value_type* find_entry(const Table& table, const Words& words) {
    const typename Table::value_type* best = nullptr;
    for (const auto& entry : table)
        if (words_of_name(entry.name, words) > 0 &&
            (!best || entry.name.size() > best->name.size()))
            best = &entry;
    return best;
}

// Returns true if the word names a place at or below the working directory. Some programs read
// further arguments from a file behind @.
bool is_below(const ShellCommand& command, std::size_t at) {
    const std::string_view word = command.words[at];
    const std::string path = "/" + std::string(word) + "/";
    const bool may_become_dot_dot = command.has_glob[at] && path.find("/.") != std::string::npos;
    return !word.empty() && std::string_view("/@+~").find(word.front()) == std::string_view::npos &&
           path.find("/../") == std::string::npos && !may_become_dot_dot;
}

// The words of a command as the table reads them.
struct Reading {
    std::vector<std::size_t> operands = {}; // indices of words
    std::size_t fixed = 0;                  // number of options that may not follow
    const void* entry = nullptr;            // of the table
    Operands more = Operands::none;
};

std::optional<Reading> read(const Command& entry, const ShellCommand& command) {
    // Many programs read words from a file whose name stands behind @, also in place of a value.
    const auto names_file = [](const std::string& word) { return word.starts_with('@'); };
    if (std::ranges::any_of(command.words, names_file)) return std::nullopt;
    const std::string shorts = std::string(entry.shorts) + std::string(entry.fixed_shorts);
    const std::string longs = std::string(entry.longs) + " " + std::string(entry.fixed_longs);
    auto words = read_words(command, words_of_name(entry.name, command.words),
                            {.shorts = shorts, .longs = longs});
    if (!words || words->operands.size() < entry.least_operands) return std::nullopt;
    Reading reading;
    for (const auto& option : words->options) {
        const bool is_fixed =
            option.name.size() == 1
                ? entry.fixed_shorts.find(option.name) != std::string_view::npos
                : is_listed(entry.fixed_longs, option.name) ||
                      is_listed(entry.fixed_longs, std::string(option.name) + "=");
        reading.fixed += is_fixed ? 1 : 0;
    }
    for (const std::size_t at : words->operands) {
        const std::string_view word = command.words[at];
        const bool is_option = word.size() > 1 && word.front() == '-'; // behind --
        if (is_option && !(entry.name == "cargo test" &&
                           is_listed(harness_options, word.substr(0, word.find('=')))))
            return std::nullopt;
    }
    reading.operands = std::move(words->operands);
    reading.more = entry.operands;
    reading.entry = &entry;
    return reading;
}

std::optional<Reading> read(const GoCommand& entry, const ShellCommand& command) {
    Reading reading;
    reading.more = Operands::below;
    reading.entry = &entry;
    const Words& words = command.words;
    for (std::size_t i = words_of_name(entry.name, words); i < words.size(); ++i) {
        const std::string_view word = words[i];
        const std::size_t equals = word.find('=');
        if (command.has_glob[i]) return std::nullopt;
        if (!word.starts_with('-')) {
            // Other operands are packages of the module's dependencies.
            if (word != "." && !word.starts_with("./")) return std::nullopt;
            reading.operands.push_back(i);
        } else if (is_listed(entry.with_value, word.substr(0, equals))) {
            if (equals == std::string_view::npos && ++i >= words.size()) return std::nullopt;
        } else if (!is_listed(entry.flags, word)) {
            return std::nullopt;
        }
    }
    return reading;
}

// Returns nullopt if the table does not know the command, or one of its words.
std::optional<Reading> read(const ShellCommand& command) {
    if (const GoCommand* entry = find_entry(go_commands, command.words))
        return read(*entry, command);
    if (const Command* entry = find_entry(commands, command.words)) return read(*entry, command);
    return std::nullopt;
}

bool only_reads(const ShellCommand& command) {
    return is_known_safe(command, [](std::string_view) { return true; });
}

ShellCommand without_patterns(const Words& words) {
    return {words, std::vector<bool>(words.size(), false)};
}

std::string names_of(std::string_view list, std::string_view dashes, std::string_view suffixes) {
    std::string names;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        std::string_view name = list.substr(0, end);
        name = name.substr(0, name.find_first_of(suffixes));
        if (!name.empty()) names.append(" ").append(dashes).append(name);
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return names;
}

std::string options_of(const Command& entry) {
    std::string names;
    for (const char letter : entry.shorts)
        if (letter != ':') names.append(" -").append(1, letter);
    return names + names_of(entry.longs, "--", "=?");
}

std::string_view described(Operands operands) {
    switch (operands) {
    case Operands::none: return "no further operands";
    case Operands::below: return "further relative paths without ..";
    case Operands::any: return "any further operands";
    }
    return {};
}

} // namespace

bool can_be_approved(const Words& prefix) {
    if (prefix.empty() || prefix.front().empty() || !is_straight_path(prefix.front())) return false;
    const ShellCommand command = without_patterns(prefix);
    return read(command) || only_reads(command);
}

bool continues_harmlessly(const Words& prefix, const ShellCommand& command) {
    const ShellCommand before = without_patterns(prefix);
    if (only_reads(before)) return only_reads(command);
    const std::optional<Reading> approved = read(before);
    const std::optional<Reading> reading = read(command);
    if (!approved || !reading || reading->entry != approved->entry ||
        reading->fixed != approved->fixed)
        return false;
    return std::all_of(reading->operands.begin(), reading->operands.end(), [&](std::size_t at) {
        if (at < prefix.size() || reading->more == Operands::any) return true;
        return reading->more == Operands::below && is_below(command, at);
    });
}

std::string further_words_of(const Words& prefix) {
    const ShellCommand command = without_patterns(prefix);
    if (only_reads(command)) return "further words with which it only reads and prints";
    std::string options;
    Operands operands = Operands::below;
    if (const GoCommand* entry = find_entry(go_commands, command.words)) {
        options = names_of(entry->flags, "", "") + names_of(entry->with_value, "", "");
    } else if (const Command* known = find_entry(commands, command.words)) {
        options = options_of(*known);
        operands = known->operands;
    }
    return fmt::format("{}, and the options{}", described(operands),
                       options.empty() ? " that it has now" : options);
}

} // namespace ew::core
