#include "server/process/typed_input.h"

#include <fmt/format.h>

namespace ew::server {

Result<std::string> bytes_of(const TypedInput& input, const core::KeyModes& modes) {
    std::string bytes = input.text;
    if (input.paste) bytes += core::pasted(*input.paste, modes);
    for (std::size_t i = 0; i < input.keys.size(); ++i) {
        Result<std::string> key = core::key_bytes(input.keys[i], modes);
        if (!key) {
            Error error = std::move(key.error());
            error.path = fmt::format("keys[{}]", i);
            error.message = fmt::format("{}: {}", error.path, error.message);
            return error;
        }
        bytes += *key;
    }
    return bytes;
}

} // namespace ew::server
