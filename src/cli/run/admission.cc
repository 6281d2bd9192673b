#include "cli/run/admission.h"

#include "cli/run/terminal_question.h"
#include "core/environment.h"
#include "core/text/display.h"
#include "json/types.h"
#include "os/shells.h"
#include "server/approval/asking.h"
#include "server/confine/process_sandbox.h"
#include "server/exec/approval_question.h"
#include "server/exec/expected_confinement.h"
#include "server/request/exec_request.h"
#include "server/request/start_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ew::cli {

namespace {

constexpr const char* call_id = "run";
constexpr const char* process_id = "1000"; // each session begins with this one

} // namespace

Result<std::unique_ptr<Admission>> Admission::open(server::SessionSetup setup,
                                                   const protocol::Settings& settings,
                                                   const server::Warn& warn) {
    server::Session session(std::move(setup), 0);
    protocol::InitializeParams params;
    params.client_name = "execward run";
    params.settings = settings;
    TRY(session.initialize(params));
    return std::unique_ptr<Admission>(new Admission(std::move(session), warn));
}

// The command keeps the caller's own terminal, locale and pager, unlike a command of an agent.
Result<void> Admission::plan(std::vector<std::string> argv) {
    const server::SessionSettings& settings = session_.settings();
    const server::SessionSetup& setup = session_.setup();
    const os::ShellProgram no_shell;
    call_.call_id = call_id;
    call_.params.argv = std::move(argv);
    call_.plan = TRY(
        server::plan_exec(call_.params, {settings, no_shell, session_.tag(),
                                         server::hidden_places(setup.paths, session_.database()),
                                         setup.config.environment.set}));
    core::Variables& variables = call_.plan.environment.variables;
    variables = core::apply(settings.config.environment, server::own_environment());
    // An entry without a name is not a variable; no command gets it.
    std::erase_if(variables, [](const auto& entry) { return entry.first.empty(); });
    return server::find_program(call_.plan);
}

Result<void> Admission::admit(std::vector<std::string> argv, const sandbox::Machine* machine) {
    TRY(plan(std::move(argv)));
    const server::ExecPlan& plan = call_.plan;
    if (plan.policy && plan.policy->network == sandbox::Network::hosts)
        call_.plan.context.hosts = gate_.host_rules();
    call_.ruling = gate_.rule_on(plan, call_.params, plan.policy.has_value());
    // Hardened only if nothing but the list of harmless programs allows the command.
    if (!call_.ruling.judgement.needs_safe_list) call_.ruling.hardening = core::Hardening::none;
    if (const std::optional<Error> refused = refusal(machine)) {
        audit(server::audit_row(call_, "refusal", refused->message));
        return *refused;
    }
    call_.attempts = 1;
    const server::Attempt attempt =
        server::first_attempt(call_, call_.ruling.decision == core::Decision::prompt);
    begin_ = server::begin_event(call_, attempt, process_id);
    begin_.sandbox = server::expected_confinement(machine, plan, {});
    audit(server::start_row(call_, attempt, process_id, begin_.sandbox));
    return {};
}

std::optional<Error> Admission::refusal(const sandbox::Machine* machine) {
    const std::string& reason = call_.ruling.judgement.reason;
    if (call_.ruling.decision == core::Decision::forbidden)
        return Error{ErrorKind::denied, fmt::format("the command was not run: {}", reason),
                     call_.ruling.way_out.empty() ? "execward policy explain tells what decided"
                                                  : call_.ruling.way_out};
    if (std::optional<Error> hindered = server::hindrance(machine, call_.plan)) return hindered;
    if (call_.ruling.decision == core::Decision::allow) return std::nullopt;
    return ask(machine);
}

// Returns nullopt if the answer is to run it.
std::optional<Error> Admission::ask(const sandbox::Machine* machine) {
    const std::string& reason = call_.ruling.judgement.reason;
    const UniqueFd terminal = own_terminal();
    if (!terminal)
        return Error{ErrorKind::denied,
                     fmt::format("the command was not run: it needs a person's approval ({}), and "
                                 "there is no terminal to ask on",
                                 reason),
                     way_out()};
    server::JudgedCall asked = call_;
    asked.ruling.judgement.proposed_prefix.clear(); // execward approvals grant is for more words
    server::Question question = server::first_question(
        asked, session_, server::expected_confinement(machine, call_.plan, {}));
    question.id = "the question";
    audit(server::audit_row(call_, "question", std::string(json::name_of(question.request.kind))));
    const std::optional<protocol::ApprovalAnswer> answer = ask_on_terminal(
        terminal.get(), question.request, session_.settings().config.approval_timeout);
    if (!answer)
        return Error{ErrorKind::denied,
                     "the command was not run: nobody answered the question in time",
                     "a longer approval_timeout_ms gives more time; 0 waits as long as it takes"};
    records_.keep(question, *answer);
    if (server::approves(answer->decision)) return std::nullopt;
    if (!answer->scope) return Error{ErrorKind::denied, "the command was not run: it was denied"};
    return Error{
        ErrorKind::denied, "the command was not run: it was denied, now and later",
        "execward approvals list shows the denial, execward approvals revoke withdraws it"};
}

// Returns the narrowest way first.
std::string Admission::way_out() const {
    const std::vector<std::string>& words = call_.ruling.judgement.proposed_prefix;
    const bool asks_when_unknown =
        session_.settings().config.approval_policy == core::ApprovalPolicy::untrusted;
    std::string ways = "in a terminal, the answers p and a allow exactly this from then on";
    if (!words.empty())
        ways += fmt::format(
            "; execward approvals grant --scope=project --project={} -- {} allows it there",
            core::shell_quoted({session_.project()}), core::shell_quoted(words));
    if (call_.ruling.judgement.is_by_rule) return ways; // the strictest rule counts
    ways += "; a rule allows it (docs/rules.md)";
    if (asks_when_unknown) ways += "; --approval-policy=on-request asks less";
    return ways;
}

std::vector<std::string> Admission::withheld() const {
    core::EnvironmentPolicy all = session_.settings().config.environment;
    all.ignore_default_excludes = true;
    const core::Variables& kept = call_.plan.environment.variables;
    std::vector<std::string> names;
    for (const auto& [name, value] : core::apply(all, server::own_environment()))
        if (!name.empty() &&
            std::ranges::find(kept, name, &core::Variables::value_type::first) == kept.end())
            names.push_back(name);
    std::ranges::sort(names);
    return names;
}

os::SpawnRequest Admission::request() const {
    return server::spawn_request(call_.plan, call_.ruling.hardening, true);
}

core::Proxies Admission::proxies() const {
    return core::proxies_of(session_.setup().config.confinement.network_proxy,
                            server::own_environment());
}

std::unique_ptr<RunHosts> Admission::hosts(bool asks) {
    const server::ExecPlan& plan = call_.plan;
    if (!plan.policy || plan.policy->network != sandbox::Network::hosts) return nullptr;
    return std::make_unique<RunHosts>(
        RunHosts::Parts{session_, gate_, records_},
        server::host_command(call_, server::extent_of(plan, session_)), begin_.sandbox, asks);
}

// The row is on the disk before the command starts, or this process is replaced by it.
void Admission::audit(store::AuditRow row) {
    now_ = clock_now();
    records_.audit(std::move(row));
    records_.flush_all();
}

void Admission::note_failure(const Error& error) {
    audit(server::audit_row(call_, "failure", error.message));
}

void Admission::note_end(const server::ProgramEnd& end, const sandbox::DenialLog& denials,
                         const std::vector<sandbox::HostUse>& host_uses) {
    if (denials.total() > 0)
        records_.audit(server::denial_row(begin_, denials.total(), server::to_wire(denials)));
    for (const sandbox::HostUse& use : host_uses)
        records_.audit(server::host_row(begin_.call_id, begin_.argv, begin_.workdir, use));
    audit(server::exit_row(begin_, end));
}

} // namespace ew::cli
