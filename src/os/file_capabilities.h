// The capabilities that reach files in spite of their owners and modes (capabilities(7)).
#pragma once

namespace ew::os {

// Makes CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER effective, as far as they are
// permitted, or not. False: it is not allowed, or there is nothing to change.
bool set_file_capabilities(bool are_effective);

// Could they be made effective?
bool has_file_capabilities();

} // namespace ew::os
