#include "files/patching.h"

namespace ew::files {

Failure check_patch(const PatchOrder&, PatchReport&) {
    return failed(Trouble::other, "patch", "cannot be checked yet");
}

Failure apply_patch(const PatchOrder&, const PatchTicket&, PatchReport&) {
    return failed(Trouble::other, "patch", "cannot be applied yet");
}

Failure recover_patch(std::string_view, RecoveryReport&) {
    return failed(Trouble::other, "patch", "cannot be undone yet");
}

} // namespace ew::files
