// From every form in which a request describes a sandbox to the policy that it means.
#pragma once

#include "protocol/sandbox.h"
#include "sandbox/policy/policy.h"

#include <string>
#include <vector>

namespace ew::server {

// The decoder has checked that members which need each other are there. Special places are not
// filled in yet.
sandbox::Policy requested_policy(const protocol::SandboxRequest& request);

std::vector<std::string> natives_of(const std::vector<protocol::Path>& paths);

} // namespace ew::server
