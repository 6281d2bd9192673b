#include "cli/commands.h"
namespace ew::cli {
int replay(int, char**) { return status_usage; }
} // namespace ew::cli
