#include "transcript/recorder.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>

namespace ew::transcript {

Result<std::unique_ptr<Recorder>> Recorder::open(const std::string& path) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file)
        return Error{ErrorKind::internal,
                     fmt::format("cannot record to '{}': {}", path, strerror(errno))};
    return std::unique_ptr<Recorder>(new Recorder(std::move(file)));
}

void Recorder::line(char direction, std::string_view message) {
    const double elapsed = std::chrono::duration<double, std::milli>(clock_now() - begun_).count();
    const std::string text = fmt::format("# +{:.1f} ms\n{} {}\n", elapsed, direction, message);
    (void)!::write(file_.get(), text.data(), text.size()); // a full disk ends no session
}

} // namespace ew::transcript
