#include "cli/shared/whole_file.h"

#include <array>
#include <cstdio>
#include <memory>

namespace ew::cli {

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

} // namespace

std::optional<std::string> read_file(const std::string& path) {
    const File file(std::fopen(path.c_str(), "re"), &std::fclose);
    if (!file) return std::nullopt;
    std::string text;
    std::array<char, 64 << 10> piece;
    for (std::size_t count = 1; count > 0;) {
        count = std::fread(piece.data(), 1, piece.size(), file.get());
        text.append(piece.data(), count);
    }
    if (std::ferror(file.get()) != 0) return std::nullopt;
    return text;
}

bool write_file(const std::string& path, std::string_view text) {
    File file(std::fopen(path.c_str(), "we"), &std::fclose);
    if (!file) return false;
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    return std::fclose(file.release()) == 0 && is_written;
}

} // namespace ew::cli
