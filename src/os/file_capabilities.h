// The capabilities that bypass the owner and mode of files (capabilities(7)).
#pragma once

namespace ew::os {

// Makes CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER effective (as far as they are
// permitted) or not effective. Returns false if that is not allowed, or if there is nothing to
// change.
bool set_file_capabilities(bool are_effective);

// Returns true if the process is permitted to make them effective.
bool has_file_capabilities();

} // namespace ew::os
