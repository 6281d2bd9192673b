#include "base/script_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace ew {

UniqueFd make_script_file(std::string_view content) {
    const UniqueFd made(::memfd_create("script", MFD_ALLOW_SEALING | MFD_CLOEXEC));
    if (!made) return {};
    while (!content.empty()) {
        const ssize_t count = ::write(made.get(), content.data(), content.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return {};
        content.remove_prefix(static_cast<std::size_t>(count));
    }
    constexpr int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (::fcntl(made.get(), F_ADD_SEALS, seals) != 0) return {};
    return UniqueFd(::fcntl(made.get(), F_DUPFD_CLOEXEC, script_fd + 1));
}

} // namespace ew
