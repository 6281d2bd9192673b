#include "files/verbs/contents.h"

// Reading files, and writing to open files.

#include "files/entry_ref.h"
#include "files/stand_ins.h"
#include "json/base64.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>

namespace ew::files {

namespace {

// A multiple of three, so that the concatenated base64 of the pieces is the base64 of the whole.
constexpr std::size_t piece_size = 144 << 10;
static_assert(piece_size % 3 == 0 && json::base64_size(piece_size) <= usual_frame);
constexpr std::size_t base64_slack = 4; // see encode_base64

void add_base64(Answer& answer, std::string_view bytes) {
    std::string text(json::base64_size(bytes.size()) + base64_slack, '\0');
    json::encode_base64(bytes, text.data());
    text.resize(json::base64_size(bytes.size()));
    answer.add(FrameKind::text, text);
}

// Reads up to `size` bytes, and fewer only at the end. Returns -1 and sets errno on failure.
ssize_t read_up_to(int file, char* to, std::size_t size, off_t offset) {
    std::size_t done = 0;
    while (done < size) {
        const ssize_t count =
            ::pread(file, to + done, size - done, offset + static_cast<off_t>(done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return static_cast<ssize_t>(done);
}

// The server may not know the path of an opened file.
std::string_view name_of(const Request& request) {
    return request.path.empty() ? "the file" : std::string_view(request.path);
}

Failed too_large(const std::string& path) {
    return failed(Trouble::limit, path,
                  "has more than " + std::to_string(longest_content) +
                      " bytes: read it in pieces, with fs/open and fs/readBlock");
}

// Does not wait and opens only a regular file, even if the name changes its meaning meanwhile.
Failure open_for_reading(const Request& request, bool follows_links, UniqueFd& file) {
    EntryRef place;
    if (Failure failure = find_entry(request.path, follows_links, place)) return failure;
    struct stat status = {};
    const StandIns stand_ins(request.stand_ins);
    if (::fstatat(place.directory.get(), place.name.c_str(), &status, 0) == 0 &&
        stand_ins.contain(status))
        return failed(request.path, ENOENT);
    const int flags = follows_links ? O_RDONLY : O_RDONLY | O_NOFOLLOW;
    return open_regular(request.path, place, flags, file);
}

} // namespace

void read_file(const Request& request, Answer& answer) {
    UniqueFd file;
    if (Failure failure = open_for_reading(request, request.follows_links, file))
        return answer.finish(*failure);
    struct stat status = {};
    if (::fstat(file.get(), &status) == 0 &&
        static_cast<std::uint64_t>(status.st_size) > longest_content)
        return answer.finish(too_large(request.path));
    std::string piece(piece_size, '\0');
    for (std::uint64_t offset = 0;;) {
        const ssize_t count =
            read_up_to(file.get(), piece.data(), piece.size(), static_cast<off_t>(offset));
        if (count < 0) return answer.finish(failed(request.path, errno));
        offset += static_cast<std::uint64_t>(count);
        if (offset > longest_content) return answer.finish(too_large(request.path));
        add_base64(answer, std::string_view(piece).substr(0, static_cast<std::size_t>(count)));
        if (static_cast<std::size_t>(count) < piece.size()) return answer.finish(Done{});
    }
}

void open_file(const Request& request, Answer& answer) {
    UniqueFd file;
    if (Failure failure = open_for_reading(request, true, file)) return answer.finish(*failure);
    answer.finish(Done{}, {file.get()});
}

void read_block(const Request& request, int file, Answer& answer) {
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
    Done done;
    done.is_end = true;
    if (request.offset > most - request.length) return answer.finish(done);
    std::string block(std::min(request.length, longest_block), '\0');
    const ssize_t count =
        read_up_to(file, block.data(), block.size(), static_cast<off_t>(request.offset));
    if (count < 0) return answer.finish(failed(name_of(request), errno));
    std::string_view rest = std::string_view(block).substr(0, static_cast<std::size_t>(count));
    done.is_end = rest.size() < block.size();
    while (!rest.empty()) {
        add_base64(answer, rest.substr(0, piece_size));
        rest.remove_prefix(std::min(rest.size(), piece_size));
    }
    answer.finish(done);
}

void write_block(const Request& request, int file, Answer& answer) {
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
    if (request.offset > most - request.data.size())
        return answer.finish(failed(name_of(request), EFBIG));
    std::string_view rest = request.data;
    auto offset = static_cast<off_t>(request.offset);
    while (!rest.empty()) {
        const ssize_t count = ::pwrite(file, rest.data(), rest.size(), offset);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return answer.finish(failed(name_of(request), count < 0 ? errno : EIO));
        offset += count;
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    answer.finish(Done{});
}

} // namespace ew::files
