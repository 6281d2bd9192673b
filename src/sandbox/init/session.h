// What execward-init does outside a single sandbox: it sets up the namespaces of a session.
#pragma once

namespace ew::sandbox::init {

// `execward-init hold network|no-network`, executed by bubblewrap as the first program in new
// namespaces (launch/namespaces.h). Sends the namespaces, and ends. It must not need capabilities:
// Ubuntu's AppArmor profile takes them from what bubblewrap executes. Returns the exit status.
int hold(char** arguments);

} // namespace ew::sandbox::init
