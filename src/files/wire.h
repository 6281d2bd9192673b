// What the server and a file process say to each other. A file process is `execward-init files`: it
// does one request after the other over the stream socket that is its standard input, and may wait
// for a disk as long as that takes. Outside a sandbox it serves until the socket ends; in a sandbox
// it has the rights of any program there, and does one request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::files {

constexpr std::uint64_t longest_content = 48u << 20; // bytes of a file in one message
constexpr std::uint64_t longest_block = 1u << 20;    // bytes of read_block and write_block
constexpr std::uint64_t deepest_walk = 64;
constexpr std::uint64_t most_walk_directories = 10'000;
constexpr std::uint64_t most_walk_entries = 50'000;
constexpr std::uint64_t longest_walk = 4u << 20; // bytes of paths
constexpr std::uint64_t most_entries = 200'000;  // of a directory that is read
constexpr std::uint64_t most_missing = 1024;     // paths that one watch looks for

enum class Verb : std::uint8_t {
    read_file,        // -> text: the content in base64
    write_file,       // `data`; replaces at once or creates; the directory has to exist
    create_directory, // `recursive`: with its parents, and one that exists is fine
    metadata,         // -> Done
    canonicalize,     // -> Done::path
    read_directory,   // -> entries
    walk,             // `walk` -> entries, problems, Done::is_truncated
    remove,           // `recursive`, `force`; a link itself, never what it leads to
    copy,             // `path` to `other_path`; `recursive` for a directory
    open,             // -> one descriptor, for reading
    open_replace,     // -> two descriptors: of a new file, and of the directory it will lie in;
                      //    Done::path: what commit takes as `path`
    read_block,       // one descriptor; `offset`, `length` -> text in base64, Done::is_end
    write_block,      // one descriptor; `offset`, `data`
    commit,           // both descriptors of open_replace: the new file takes its place
    watch_missing,    // one descriptor, of inotify(7); `paths` -> Done::exists, Done::places
    patch_check,      // `path`: what paths of the patch in `data` are relative to; `paths`: the
                      //    directories that they must lie in, canonical, none: anywhere.
                      //    -> text: a PatchReport (patch_report.h) in pieces, not in base64
    patch_apply,      // the same, with `token` and `expected` -> text: a PatchReport
};

struct WalkOptions {
    std::uint64_t max_depth = 0; // 0: what the root holds
    std::uint64_t max_directories = 0;
    std::uint64_t max_entries = 0;
    bool follows_directory_links = false;
    bool prunes_hidden_directories = false;
};

struct Request {
    Verb verb = Verb::metadata;
    std::string path = {}; // absolute, without "." and ".."
    std::string other_path = {};
    std::vector<std::string> paths = {};
    bool follows_links = true; // false: a link anywhere in the path is an error (wrong_kind)
    bool recursive = false;
    bool force = false; // what is missing is fine
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    WalkOptions walk = {};
    std::string data = {};
    std::string token = {};    // 32 hexadecimal digits, those of the journal
    std::string expected = {}; // PatchReport::digest as it was looked at
    // What only holds a place in the sandbox, and is gone afterwards: it counts as missing.
    std::vector<std::string> stand_ins = {};
};

// The text of a request as it goes over the socket, its length in front. Descriptors go with its
// first byte (SCM_RIGHTS, unix(7)).
std::string encode(const Request& request);

// How many bytes of `buffered` make the first request, length included. Absent: not all there yet.
std::optional<std::uint64_t> size_of_request(std::string_view buffered);

// `text` as encode() made it. Absent: it did not.
std::optional<Request> decode_request(std::string_view text);

// An answer is a row of frames, of which the last is done or failed.
enum class FrameKind : std::uint8_t { text, entries, problems, done, failed };

struct Frame {
    FrameKind kind = FrameKind::done;
    std::string_view body = {}; // into the buffer
    std::uint64_t size = 0;     // of the frame, header included
};

constexpr std::uint64_t usual_frame = 256U << 10; // body; longer ones are begun anew
constexpr std::uint64_t longest_frame = 8U << 20; // body; only Done may be longer than usual

std::string encode_frame(FrameKind kind, std::string_view body);

// The first frame in `buffered`. Absent: not all there yet. A size beyond longest_frame is no
// frame: see is_garbage().
std::optional<Frame> first_frame(std::string_view buffered);
bool is_garbage(std::string_view buffered);

struct Entry {
    std::string name = {}; // read_directory: the name; walk: the absolute path
    bool is_directory = false;
    bool is_file = false; // a regular one, where a link leads to one too
};

struct Problem {
    std::string path = {};
    std::string message = {};
};

// Appended one after the other to the body of a frame.
void append(std::string& body, const Entry& entry);
void append(std::string& body, const Problem& problem);

// Takes the first from `body`. Absent: none is left, or it is garbage.
std::optional<Entry> take_entry(std::string_view& body);
std::optional<Problem> take_problem(std::string_view& body);

// A directory that is watched, and the name in it on which everything depends.
struct WatchedPlace {
    std::int32_t watch = 0; // descriptor of inotify(7)
    std::string name = {};

    bool operator==(const WatchedPlace&) const = default;
};

struct Done {
    bool is_directory = false;
    bool is_file = false;
    bool is_link = false; // of metadata: the path itself
    std::uint64_t size = 0;
    std::int64_t created_at_ms = 0; // since 1970; 0: the file system does not know
    std::int64_t modified_at_ms = 0;
    bool is_truncated = false;
    bool is_end = false;
    bool exists = false; // of watch_missing: one of the paths does, and nothing is watched
    std::string path = {};
    std::vector<WatchedPlace> places = {};
};

// Descriptors go with the first byte of the frame.
std::string encode_done(const Done& done);
std::optional<Done> decode_done(std::string_view body);

enum class Trouble : std::uint8_t {
    not_found,  // ENOENT
    permission, // EACCES, EPERM
    wrong_kind, // not a regular file, is a directory, a link where none may be, into itself
    read_only,  // EROFS
    no_space,   // ENOSPC, EDQUOT
    limit,      // too large, too many
    unfit,      // a patch that is none, or does not fit the files
    outside,    // a path of a patch that leads out of the directories where it may change something
    changed,    // what a patch was to change is not as it was looked at
    not_undone, // a patch that failed has left something: its journal is still needed
    other,
};

struct Failed {
    Trouble trouble = Trouble::other;
    std::string message = {}; // names the object: "/srv/x: No such file or directory"
    std::string hint = {};    // the way out; empty: none is known
};

std::string encode_failed(const Failed& failed);
std::optional<Failed> decode_failed(std::string_view body);

} // namespace ew::files
