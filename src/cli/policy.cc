// execward policy: what the rules say about a command, and what is wrong with the rules.
#include "cli/policy.h"

#include "base/byte_buffer.h"
#include "cli/shared/printing.h"
#include "cli/shared/store_access.h"
#include "config/config.h"
#include "config/paths.h"
#include "config/project.h"
#include "config/rule_files.h"
#include "config/settings.h"
#include "core/judgement/judgement.h"
#include "core/text/display.h"
#include "json/writer.h"
#include "os/io.h"
#include "os/programs.h"
#include "protocol/approval.h"
#include "server/approval/explanation.h"
#include "version.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view help =
    R"(Usage: execward policy explain [OPTION…] -- COMMAND [ARGUMENT…]
       execward policy check [FILE…]

explain tells whether a command would run, be asked about or be refused, and what decided that for
each command in it. Nothing is run. Of approvals it knows those that are rules in rules.d.
check reads the rules of the user, the system and the project of the working directory, or the
files, and prints each mistake with its place.

  --rules=FILE         rules of this file and no others; may be given again
  --approval-policy=P  untrusted, on-failure, on-request, never or granular (as configured)
  --sandbox=S          danger-full-access, read-only, workspace-write or external-sandbox (as
                       configured)
  --directory=DIR      where the command would run (the working directory)
  --json               for programs: what policy/explain answers
  -h, --help           show this help

Examples:
  execward policy explain -- git push
  execward policy explain --approval-policy=untrusted -- bash -c 'make && make install'

Exit status of explain: 0 whatever the decision, 1 it cannot be told, 2 usage. Of check: 0, 1 there
are mistakes, 2 usage.
)";

constexpr std::array<option, 7> long_options = {{
    {"rules", required_argument, nullptr, 'r'},
    {"approval-policy", required_argument, nullptr, 'p'},
    {"sandbox", required_argument, nullptr, 's'},
    {"directory", required_argument, nullptr, 'd'},
    {"json", no_argument, nullptr, 'j'},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
}};

int print_help() {
    print_line(help.substr(0, help.size() - 1)); // without the newline
    return finish(status_ok);
}

struct Options {
    std::string seen; // letters of the options that were given
    std::vector<std::string> rules;
    std::string approval_policy;
    std::string sandbox;
    std::string directory;
    std::vector<std::string> words; // that are no options

    bool has(char letter) const { return seen.find(letter) != std::string::npos; }
};

int refuse(std::string_view why) {
    fmt::print(stderr, "execward: {}; see execward policy --help\n", why);
    return status_usage;
}

// '?' among the letters: getopt has said what is wrong.
Options parse(int argc, char** argv) {
    Options options;
    // "+": the words of the command keep what looks like options of ours.
    for (int found = 0;
         (found = ::getopt_long(argc, argv, "+h", long_options.data(), nullptr)) != -1;) {
        options.seen += static_cast<char>(found);
        if (found == 'r') options.rules.emplace_back(optarg);
        if (found == 'p') options.approval_policy = optarg;
        if (found == 's') options.sandbox = optarg;
        if (found == 'd') options.directory = optarg;
    }
    options.words.assign(argv + optind, argv + argc);
    return options;
}

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

// The value that is called so. Absent: none is.
template <class Enum>
std::optional<Enum> value_named(std::string_view name) {
    const auto& names = config::names_of<Enum>;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Enum>(found - names.begin());
}

void print_problem(std::FILE* to, const config::RuleProblem& problem) {
    fmt::print(to, "{}\n", core::visible(toml::describe(problem)));
}

// The directory with the rules of the project. Empty: they do not count, and a line has said why if
// there are any.
std::string trusted_rules_dir(const std::string& project) {
    std::string rules_dir = config::project_rules_dir(project);
    std::error_code error;
    if (!std::filesystem::exists(rules_dir, error)) return {};
    Result<std::unique_ptr<store::Store>> store = open_store({}, store::Moment::now().wall);
    Result<bool> trusted =
        store ? (*store)->is_project_trusted(project) : Result<bool>(store.error());
    if (!trusted) (void)fail(trusted.error());
    // Not knowing is no reason to leave them out: they can only tighten.
    if (!trusted || *trusted) return rules_dir;
    fmt::print(stderr, "execward: {} does not count without execward project trust\n",
               core::visible(rules_dir));
    return {};
}

config::RulePlaces places_of(const std::string& project_dir) {
    return {config::Paths::from_environment().rules_directory, system_rules_directory, project_dir};
}

Result<core::RuleSet> rules_in_force(const Options& options, const std::string& directory) {
    config::LoadedRules loaded;
    if (options.has('r')) {
        loaded = config::load_rule_files(options.rules);
        for (const config::RuleProblem& problem : loaded.problems)
            if (problem.position.line == 0) return toml::as_error(problem);
    } else {
        const std::string project = config::project_root(directory);
        loaded = config::load_rules(places_of(trusted_rules_dir(project)));
    }
    for (const config::RuleProblem& problem : loaded.problems)
        print_problem(stderr, problem);
    return std::move(loaded.rules);
}

// Absent: an option has a value that does not exist, and a line has said which.
std::optional<core::JudgedCommand>
judged_command(const Options& options, const config::Config& config, const std::string& directory) {
    const auto policy = options.has('p')
                            ? value_named<core::ApprovalPolicy>(options.approval_policy)
                            : config.approval_policy;
    const auto sandbox =
        options.has('s') ? value_named<core::SandboxMode>(options.sandbox) : config.sandbox;
    if (!policy || !sandbox) {
        (void)refuse(fmt::format("there is no {} '{}'", policy ? "sandbox" : "approval policy",
                                 policy ? options.sandbox : options.approval_policy));
        return std::nullopt;
    }
    core::JudgedCommand judged;
    judged.argv = options.words;
    judged.policy = *policy;
    judged.granular = config.granular;
    judged.is_confined =
        sandbox == core::SandboxMode::read_only || sandbox == core::SandboxMode::workspace_write;
    judged.workspace_roots = {directory};
    judged.workdir = directory;
    judged.stays_inside = [directory](std::string_view path) {
        const std::optional<std::string> real = os::real_path(std::string(path));
        return real && (directory == "/" || (*real + "/").starts_with(directory + "/"));
    };
    return judged;
}

std::string_view meaning_of(core::Decision decision) {
    switch (decision) {
    case core::Decision::allow: return "it runs";
    case core::Decision::prompt: return "somebody is asked";
    case core::Decision::forbidden: return "it does not run";
    }
    return {};
}

void print_for_person(const core::Judgement& judgement, const std::string& gap) {
    const std::string_view decision = json::name_of(judgement.decision);
    const std::string reason = core::visible(judgement.reason);
    print_line(fmt::format("{}: {}{}{}", decision, meaning_of(judgement.decision),
                           reason.empty() ? "" : "; ", reason));
    std::vector<std::vector<std::string>> rows;
    for (const core::CommandVerdict& verdict : judgement.commands) {
        std::string why = core::visible(verdict.why);
        if (!verdict.justification.empty())
            why += fmt::format(" ({})", core::visible(verdict.justification));
        rows.push_back({fmt::format("  {}", json::name_of(verdict.decision)),
                        core::shell_quoted(verdict.words), std::move(why)});
    }
    print_table(rows);
    if (!judgement.obstacle.empty())
        print_line(fmt::format("The script could not be taken apart: {}",
                               core::visible(judgement.obstacle)));
    if (judgement.reason.find(gap) == std::string::npos)
        print_line(fmt::format("Rules may be missing: {}", core::visible(gap)));
    if (judgement.decision == core::Decision::prompt && !judgement.proposed_prefix.empty())
        print_line(fmt::format("The answer can be for every command that begins with: {}",
                               core::shell_quoted(judgement.proposed_prefix)));
}

int explain(const Options& options) {
    if (options.words.empty()) return refuse("explain needs a command");
    std::error_code error;
    const std::string directory =
        std::filesystem::canonical(options.directory.empty() ? "." : options.directory, error)
            .string();
    if (error)
        return fail(
            Error{ErrorKind::invalid_params,
                  fmt::format("{}: {}", core::visible(options.directory), error.message())});
    const std::string file = variable("EXECWARD_CONFIG");
    Result<config::ConfigFile> config = config::load_config(
        file.empty() ? config::Paths::from_environment().config_file : file,
        file.empty() ? config::WhenMissing::use_defaults : config::WhenMissing::fail);
    if (!config) return fail(config.error());
    const std::optional<core::JudgedCommand> judged =
        judged_command(options, config->config, directory);
    if (!judged) return status_usage;
    Result<core::RuleSet> rules = rules_in_force(options, directory);
    if (!rules) return fail(rules.error());

    os::TrustPlaces places;
    places.path = variable("PATH");
    places.workspace_roots = {directory};
    const os::TrustedPrograms programs(std::move(places));
    const core::Judgement judgement = core::judge(
        *judged, *rules, [&](std::string_view word) { return programs.is_trusted(word); });
    if (!options.has('j')) {
        print_for_person(judgement, rules->gap);
        return finish(status_ok);
    }
    ByteBuffer text;
    json::write_value(text, server::explanation_of(judgement));
    print_line(text.view());
    return finish(status_ok);
}

int check(const Options& options) {
    const std::string project_dir = config::project_rules_dir(project_of("."));
    const config::LoadedRules loaded = options.words.empty()
                                           ? config::load_rules(places_of(project_dir))
                                           : config::load_rule_files(options.words);
    for (const config::RuleProblem& problem : loaded.problems)
        print_problem(stdout, problem);
    const std::size_t rules = loaded.rules.rules.size();
    const std::size_t problems = loaded.problems.size();
    fmt::print(stderr, "{} rule{} {}, {} problem{}\n", rules, rules == 1 ? "" : "s",
               rules == 1 ? "counts" : "count", problems, problems == 1 ? "" : "s");
    return finish(problems == 0 ? status_ok : status_failure);
}

} // namespace

int policy(int argc, char** argv) {
    const std::string_view action = argc > 1 ? argv[1] : "";
    if (action == "--help" || action == "-h") return print_help();
    if (action != "explain" && action != "check")
        return refuse(action.empty() ? "say explain or check"
                                     : fmt::format("there is no action '{}'", action));
    const Options options = parse(argc - 1, argv + 1);
    if (options.has('?')) return status_usage;
    if (options.has('h')) return print_help();
    if (action == "explain") return explain(options);
    if (!options.seen.empty()) return refuse("check takes files and no options");
    return check(options);
}

} // namespace ew::cli
