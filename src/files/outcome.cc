#include "files/outcome.h"

#include <cerrno>
#include <cstring>

namespace ew::files {

namespace {

Trouble trouble_of(int error_number) {
    switch (error_number) {
    case ENOENT: return Trouble::not_found;
    case EACCES:
    case EPERM: return Trouble::permission;
    case EISDIR: return Trouble::wrong_kind;
    case EROFS: return Trouble::read_only;
    case ENOSPC:
    case EDQUOT: return Trouble::no_space;
    case EFBIG:
    case EMFILE:
    case ENFILE: return Trouble::limit;
    default: return Trouble::other;
    }
}

} // namespace

Failed failed(std::string_view path, int error_number) {
    return failed(trouble_of(error_number), path, ::strerror(error_number));
}

Failed failed(Trouble trouble, std::string_view path, std::string_view words) {
    constexpr std::size_t longest = 8192; // more than PATH_MAX, so no longer path names a file
    std::string message(path.substr(0, longest));
    message += ": ";
    message += words;
    return {trouble, std::move(message), {}};
}

} // namespace ew::files
