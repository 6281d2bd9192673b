// execward doctor: tries what this machine can enforce, and says how to get the rest.
#include "cli/doctor.h"

#include "base/byte_buffer.h"
#include "base/clock.h"
#include "cli/shared/places.h"
#include "config/paths.h"
#include "config/settings.h"
#include "core/text/display.h"
#include "json/writer.h"
#include "sandbox/launch/init_place.h"
#include "sandbox/trial/trial.h"
#include "sandbox/trial/trial_memory.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

using core::SandboxMode;
using sandbox::Guarantee;
using sandbox::Machine;
using sandbox::Network;

constexpr std::string_view about =
    R"(Usage: execward doctor [OPTION…]

Builds a sandbox over a scratch directory, tries in it what is forbidden, and tells what this machine
can enforce, by which means, and how to get what is missing. Servers go by what it finds until the
machine, execward or bubblewrap changes. Nothing is left behind.
)";

constexpr auto options = std::to_array<Option>({
    {.name = "sandbox",
     .argument = "P",
     .meaning = "the policy that the exit status is about",
     .usual = "workspace-write",
     .choices = "workspace-write|read-only|danger-full-access|external-sandbox",
     .old_name = "policy",
     .details = "`--policy` is its earlier name."},
    {.name = "json",
     .meaning = "for programs: one JSON object",
     .details = "`doctor --help` lists its members."},
});

constexpr std::string_view notes =
    R"(Members of the object:
  rung          full, mounts, landlock, landlock-old or none
  isRoot        whether it was tried as root
  bubblewrap    path, or null: there is none that can be trusted
  init          path of execward-init, or null
  landlock      version of its interface; 0: it is not there
  mechanisms    mounts, proc, networkNamespace, seccomp, seccompNotification: true or false
  guarantees    for each: name, meaning, networkOff and networkOn (whether it is kept, null where
                that makes no sense), meansOff and meansOn (by what)
  troubles      what stands in the way: mechanism, step, advice
  policies      what enforcement "require" does here: policy, network (true: enabled), runs, and
                missing, the names of guarantees
  policy        the one that the exit status is about
  isSufficient  whether everything for it is there
  milliseconds  how long it took

Example:
  execward doctor --json | python3 -m json.tool

Exit status: 0 everything for the policy is there, 1 something is missing, 2 usage.
)";

constexpr std::array<Action, 1> actions = {};

struct MechanismsView {
    bool mounts = false;
    bool proc = false;
    bool network_namespace = false;
    bool seccomp = false;
    bool notification = false;
};

template <class Visitor>
void fields(Visitor& visit, MechanismsView& view) {
    visit.required("mounts", view.mounts);
    visit.required("proc", view.proc);
    visit.required("networkNamespace", view.network_namespace);
    visit.required("seccomp", view.seccomp);
    visit.required("seccompNotification", view.notification);
}

struct GuaranteeView {
    std::string name;
    std::string meaning;
    bool network_off = false;
    std::optional<bool> network_on;
    std::string means_off;
    std::string means_on;
};

template <class Visitor>
void fields(Visitor& visit, GuaranteeView& view) {
    visit.required("name", view.name);
    visit.required("meaning", view.meaning);
    visit.required("networkOff", view.network_off);
    visit.required("networkOn", view.network_on);
    visit.required("meansOff", view.means_off);
    visit.required("meansOn", view.means_on);
}

struct TroubleView {
    std::string mechanism;
    std::string step;
    std::string advice;
};

template <class Visitor>
void fields(Visitor& visit, TroubleView& view) {
    visit.required("mechanism", view.mechanism);
    visit.required("step", view.step);
    visit.required("advice", view.advice);
}

struct PolicyView {
    std::string policy;
    bool network = false;
    bool runs = false;
    std::vector<std::string> missing;
};

template <class Visitor>
void fields(Visitor& visit, PolicyView& view) {
    visit.required("policy", view.policy);
    visit.required("network", view.network);
    visit.required("runs", view.runs);
    visit.required("missing", view.missing);
}

struct Report {
    std::string rung;
    bool is_root = false;
    std::optional<std::string> bubblewrap;
    std::optional<std::string> init;
    std::uint64_t landlock = 0;
    MechanismsView mechanisms;
    std::vector<GuaranteeView> guarantees;
    std::vector<TroubleView> troubles;
    std::vector<PolicyView> policies;
    std::string policy;
    bool is_sufficient = false;
    std::int64_t milliseconds = 0;
};

template <class Visitor>
void fields(Visitor& visit, Report& report) {
    visit.required("rung", report.rung);
    visit.required("isRoot", report.is_root);
    visit.required("bubblewrap", report.bubblewrap);
    visit.required("init", report.init);
    visit.required("landlock", report.landlock);
    visit.required("mechanisms", report.mechanisms);
    visit.required("guarantees", report.guarantees);
    visit.required("troubles", report.troubles);
    visit.required("policies", report.policies);
    visit.required("policy", report.policy);
    visit.required("isSufficient", report.is_sufficient);
    visit.required("milliseconds", report.milliseconds);
}

std::optional<std::string> unless_empty(const std::string& text) {
    if (text.empty()) return std::nullopt;
    return text;
}

PolicyView policy_view(const Machine& machine, SandboxMode mode, Network network) {
    sandbox::ModeOptions wish;
    wish.has_network = network == Network::enabled;
    const sandbox::Policy policy = sandbox::policy_of(mode, wish);
    PolicyView view;
    view.policy = std::string(config::name_of(mode));
    view.network = wish.has_network;
    view.runs = true;
    if (!sandbox::needs_sandbox(policy)) return view;
    const sandbox::GuaranteeSet missing =
        sandbox::needed_by(policy) - sandbox::given_by(machine, network);
    for (const Guarantee guarantee : missing.list())
        view.missing.emplace_back(sandbox::name_of(guarantee));
    view.runs = missing.empty();
    return view;
}

GuaranteeView guarantee_view(const Machine& machine, Guarantee guarantee) {
    GuaranteeView view;
    view.name = sandbox::name_of(guarantee);
    view.meaning = sandbox::meaning_of(guarantee);
    view.network_off = sandbox::given_by(machine, Network::restricted).has(guarantee);
    if (guarantee != Guarantee::net_off)
        view.network_on = sandbox::given_by(machine, Network::enabled).has(guarantee);
    view.means_off = sandbox::means_for(machine, Network::restricted, guarantee);
    view.means_on = sandbox::means_for(machine, Network::enabled, guarantee);
    return view;
}

Report report_on(const Machine& machine, SandboxMode mode) {
    Report report;
    report.rung = sandbox::rung_of(machine);
    report.is_root = machine.is_root;
    report.bubblewrap = unless_empty(machine.bubblewrap);
    report.init = unless_empty(machine.init);
    report.landlock = static_cast<std::uint64_t>(machine.landlock);
    report.mechanisms = {machine.has_mounts, machine.has_proc, machine.has_network_namespace,
                         machine.has_filter, machine.has_notify};
    for (std::size_t i = 0; i < sandbox::guarantee_count; ++i)
        report.guarantees.push_back(guarantee_view(machine, static_cast<Guarantee>(i)));
    for (const sandbox::Trouble& trouble : machine.troubles)
        report.troubles.push_back({trouble.mechanism, trouble.step, trouble.advice});
    for (const SandboxMode one : {SandboxMode::workspace_write, SandboxMode::read_only})
        for (const Network network : {Network::restricted, Network::enabled})
            report.policies.push_back(policy_view(machine, one, network));
    report.policy = std::string(config::name_of(mode));
    report.is_sufficient = policy_view(machine, mode, Network::restricted).runs;
    return report;
}

std::string whether(bool is_there) {
    return is_there ? "yes" : "no";
}

void print_mechanisms(const Report& report) {
    const MechanismsView& mechanisms = report.mechanisms;
    const auto path = [](const std::optional<std::string>& text) {
        return text ? core::visible(*text) : std::string("none that can be trusted");
    };
    print_table({
        {"rung", report.rung},
        {"bubblewrap", path(report.bubblewrap)},
        {"execward-init", path(report.init)},
        {"namespaces", whether(mechanisms.mounts)},
        {"own /proc", whether(mechanisms.proc)},
        {"own network", whether(mechanisms.network_namespace)},
        {"Landlock",
         report.landlock > 0 ? fmt::format("ABI {}", report.landlock) : std::string("no")},
        {"seccomp", whether(mechanisms.seccomp)},
        {"notification", whether(mechanisms.notification)},
        {"tried as", fmt::format("{}, in {} ms", report.is_root ? "root" : "an ordinary user",
                                 report.milliseconds)},
    });
}

void print_guarantees(const Report& report) {
    std::vector<std::vector<std::string>> rows = {
        {"GUARANTEE", "NETWORK OFF", "NETWORK ON", "MEANING"}};
    for (const GuaranteeView& guarantee : report.guarantees) {
        const std::string on = guarantee.means_on.empty() ? "no" : guarantee.means_on;
        rows.push_back({guarantee.name, guarantee.network_off ? guarantee.means_off : "no",
                        guarantee.network_on ? on : "", guarantee.meaning});
    }
    print_line("");
    print_table(rows);
}

void print_policies(const Report& report) {
    print_line("");
    for (const PolicyView& view : report.policies) {
        std::string missing;
        for (const std::string& name : view.missing)
            missing += (missing.empty() ? "" : ", ") + name;
        print_line(fmt::format("{}, network {}: {}", view.policy, view.network ? "on" : "off",
                               view.runs ? "commands run"
                                         : "commands are refused, for want of " + missing));
    }
}

void print_verdict(const Report& report) {
    const std::string_view verdict =
        report.is_sufficient
            ? "Commands run, confined in full"
            : "Commands do not run, since this machine cannot confine them in full";
    print_line(fmt::format("{} ({}, network off).\n", verdict, report.policy));
}

void print_for_person(const Report& report) {
    print_verdict(report);
    print_mechanisms(report);
    print_guarantees(report);
    if (!report.troubles.empty()) print_line("");
    for (const TroubleView& trouble : report.troubles) {
        print_line(
            fmt::format("{}: {}", core::visible(trouble.mechanism), core::visible(trouble.step)));
        if (!trouble.advice.empty())
            print_line(fmt::format("  what helps: {}", core::visible(trouble.advice)));
    }
    print_policies(report);
}

int doctor(const Arguments& arguments) {
    const SandboxMode mode =
        config::value_named<SandboxMode>(arguments.value("sandbox").value_or(""))
            .value_or(SandboxMode::workspace_write);
    const sandbox::TrialPlaces places = {sandbox::init_place(),
                                         state_place(config::Paths::from_environment())};
    const TimePoint began = clock_now();
    const Machine machine = sandbox::run_trial(places);
    const auto took = std::chrono::duration_cast<Millis>(clock_now() - began);
    sandbox::remember_trial(places, machine);
    Report report = report_on(machine, mode);
    report.milliseconds = took.count();
    if (arguments.has("json")) {
        ByteBuffer text;
        json::write_value(text, report);
        print_line(text.view());
    } else {
        print_for_person(report);
    }
    return finish(report.is_sufficient ? status_ok : status_failure);
}

} // namespace

constinit const Command doctor_command = {
    .name = "doctor",
    .summary = "say what this machine can enforce, and what to do about the rest",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = doctor};

} // namespace ew::cli
