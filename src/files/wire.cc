#include "files/wire.h"

#include "files/encoding.h"

#include <cstring>

namespace ew::files {

namespace {

constexpr std::size_t length_size = sizeof(std::uint32_t);
constexpr std::size_t header_size = 1 + length_size; // of a frame
constexpr std::size_t longest_request = longest_content + (1U << 20);

} // namespace

std::string encode(const Request& request) {
    std::string body;
    body.reserve(request.data.size() + request.path.size() + 256);
    put(body, std::uint32_t{0}); // room for the length, set below
    put(body, static_cast<std::uint8_t>(request.verb));
    put(body, request.path);
    put(body, request.other_path);
    put(body, request.paths);
    put(body, request.stand_ins);
    put_flag(body, request.follows_links);
    put_flag(body, request.recursive);
    put_flag(body, request.force);
    put(body, request.offset);
    put(body, request.length);
    put(body, request.walk.max_depth);
    put(body, request.walk.max_directories);
    put(body, request.walk.max_entries);
    put_flag(body, request.walk.follows_directory_links);
    put_flag(body, request.walk.prunes_hidden_directories);
    put(body, request.data);
    put(body, request.token);
    put(body, request.expected);
    const auto size = static_cast<std::uint32_t>(body.size() - length_size);
    std::memcpy(body.data(), &size, sizeof size);
    return body;
}

std::optional<std::uint64_t> size_of_request(std::string_view buffered) {
    Taker taker(buffered);
    const auto size = taker.number<std::uint32_t>();
    if (!taker.is_good() || (taker.rest().size() < size && size <= longest_request))
        return std::nullopt;
    return length_size + std::uint64_t{size};
}

std::optional<Request> decode_request(std::string_view text) {
    Taker taker(text);
    const auto size = taker.number<std::uint32_t>();
    if (!taker.is_good() || taker.rest().size() != size) return std::nullopt;
    Request request;
    const auto verb = taker.number<std::uint8_t>();
    if (verb > static_cast<std::uint8_t>(Verb::patch_apply)) return std::nullopt;
    request.verb = static_cast<Verb>(verb);
    request.path = taker.text();
    request.other_path = taker.text();
    request.paths = taker.texts();
    request.stand_ins = taker.texts();
    request.follows_links = taker.flag();
    request.recursive = taker.flag();
    request.force = taker.flag();
    request.offset = taker.number<std::uint64_t>();
    request.length = taker.number<std::uint64_t>();
    request.walk.max_depth = taker.number<std::uint64_t>();
    request.walk.max_directories = taker.number<std::uint64_t>();
    request.walk.max_entries = taker.number<std::uint64_t>();
    request.walk.follows_directory_links = taker.flag();
    request.walk.prunes_hidden_directories = taker.flag();
    request.data = taker.text();
    request.token = taker.text();
    request.expected = taker.text();
    if (!taker.is_at_end()) return std::nullopt;
    return request;
}

std::string encode_frame(FrameKind kind, std::string_view body) {
    std::string frame;
    frame.reserve(header_size + body.size());
    put(frame, static_cast<std::uint8_t>(kind));
    put(frame, static_cast<std::uint32_t>(body.size()));
    frame.append(body);
    return frame;
}

std::optional<Frame> first_frame(std::string_view buffered) {
    Taker taker(buffered);
    const auto kind = taker.number<std::uint8_t>();
    const auto size = taker.number<std::uint32_t>();
    if (!taker.is_good() || is_garbage(buffered) || taker.rest().size() < size) return std::nullopt;
    return Frame{static_cast<FrameKind>(kind), taker.rest().substr(0, size),
                 header_size + std::uint64_t{size}};
}

bool is_garbage(std::string_view buffered) {
    if (buffered.empty()) return false;
    Taker taker(buffered);
    const bool is_known =
        taker.number<std::uint8_t>() <= static_cast<std::uint8_t>(FrameKind::failed);
    const auto size = taker.number<std::uint32_t>();
    return !is_known || (taker.is_good() && size > longest_frame);
}

void append(std::string& body, const Entry& entry) {
    put(body, entry.name);
    put_flag(body, entry.is_directory);
    put_flag(body, entry.is_file);
}

void append(std::string& body, const Problem& problem) {
    put(body, problem.path);
    put(body, problem.message);
}

std::optional<Entry> take_entry(std::string_view& body) {
    Taker taker(body);
    Entry entry;
    entry.name = taker.text();
    entry.is_directory = taker.flag();
    entry.is_file = taker.flag();
    if (!taker.is_good()) return std::nullopt;
    body = taker.rest();
    return entry;
}

std::optional<Problem> take_problem(std::string_view& body) {
    Taker taker(body);
    Problem problem;
    problem.path = taker.text();
    problem.message = taker.text();
    if (!taker.is_good()) return std::nullopt;
    body = taker.rest();
    return problem;
}

std::string encode_done(const Done& done) {
    std::string body;
    for (const bool flag : {done.is_directory, done.is_file, done.is_link, done.is_truncated,
                            done.is_end, done.exists})
        put_flag(body, flag);
    put(body, done.size);
    put(body, done.created_at_ms);
    put(body, done.modified_at_ms);
    put(body, done.path);
    put(body, static_cast<std::uint32_t>(done.places.size()));
    for (const WatchedPlace& place : done.places) {
        put(body, place.watch);
        put(body, place.name);
    }
    return body;
}

std::optional<Done> decode_done(std::string_view body) {
    Taker taker(body);
    Done done;
    done.is_directory = taker.flag();
    done.is_file = taker.flag();
    done.is_link = taker.flag();
    done.is_truncated = taker.flag();
    done.is_end = taker.flag();
    done.exists = taker.flag();
    done.size = taker.number<std::uint64_t>();
    done.created_at_ms = taker.number<std::int64_t>();
    done.modified_at_ms = taker.number<std::int64_t>();
    done.path = taker.text();
    const auto count = taker.number<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && taker.is_good(); ++i) {
        WatchedPlace& place = done.places.emplace_back();
        place.watch = taker.number<std::int32_t>();
        place.name = taker.text();
    }
    if (!taker.is_at_end()) return std::nullopt;
    return done;
}

std::string encode_failed(const Failed& failed) {
    std::string body;
    put(body, static_cast<std::uint8_t>(failed.trouble));
    put(body, failed.message);
    put(body, failed.hint);
    return body;
}

std::optional<Failed> decode_failed(std::string_view body) {
    Taker taker(body);
    Failed failed;
    const auto trouble = taker.number<std::uint8_t>();
    failed.message = taker.text();
    failed.hint = taker.text();
    if (!taker.is_at_end() || trouble > static_cast<std::uint8_t>(Trouble::other))
        return std::nullopt;
    failed.trouble = static_cast<Trouble>(trouble);
    return failed;
}

} // namespace ew::files
