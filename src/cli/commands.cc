#include "cli/commands.h"

#include "cli/approvals.h"
#include "cli/audit.h"
#include "cli/cast.h"
#include "cli/completions.h"
#include "cli/config.h"
#include "cli/doctor.h"
#include "cli/mcp.h"
#include "cli/patch.h"
#include "cli/policy.h"
#include "cli/project.h"
#include "cli/replay.h"
#include "cli/report.h"
#include "cli/run/run.h"
#include "cli/schema.h"
#include "cli/screen.h"
#include "cli/serve.h"
#include "cli/setup/client_setup.h"

#include <array>
#include <string>

namespace ew::cli {

namespace {

constexpr std::array<const Command*, 17> all = {
    &serve_command,  &mcp_command,         &run_command,    &doctor_command, &patch_command,
    &policy_command, &approvals_command,   &audit_command,  &report_command, &project_command,
    &config_command, &config_init_command, &replay_command, &cast_command,   &screen_command,
    &schema_command, &completions_command,
};

} // namespace

std::span<const Command* const> commands() {
    return all;
}

const Command* find_command(int argc, char** argv) {
    const std::string first = argc > 1 ? argv[1] : "";
    const std::string both = argc > 2 ? first + ' ' + argv[2] : first;
    const Command* found = nullptr;
    for (const Command* command : all) {
        if (command->name == both) return command;
        if (command->name == first) found = command;
    }
    return found;
}

} // namespace ew::cli
