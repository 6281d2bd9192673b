// For builds that are not relocatable.
#include "sandbox/launch/bubblewrap.h"

namespace ew::sandbox {

const std::string_view init_digest;

} // namespace ew::sandbox
