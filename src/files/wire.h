// The messages between the server and a file process. A file process is `execward-init files`: it
// serves one request after the other over the stream socket that is its stdin, and may wait for a
// disk. Outside a sandbox it serves until the socket ends. In a sandbox it has the rights of any
// program there, and serves one request.
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
constexpr std::uint64_t most_entries = 200'000;  // in a directory that is read
constexpr std::uint64_t most_missing = 1024;     // paths in one watch

enum class Verb : std::uint8_t {
    read_file,  // -> text: the content in base64
    write_file, // `data`; replaces the file in one step, or creates it; the directory must exist
    create_directory, // `recursive`: with its parents; an existing directory is accepted
    metadata,         // -> Done
    canonicalize,     // -> Done::path
    read_directory,   // -> entries
    walk,             // `walk` -> entries, problems, Done::is_truncated
    remove,           // `recursive`, `force`; removes a symlink itself, never its target
    copy,             // `path` to `other_path`; `recursive` for a directory
    open,             // -> one descriptor, for reading
    open_replace, // -> two descriptors: the new file, and its directory; Done::path: the `path` for
                  // commit
    read_block,   // one descriptor; `offset`, `length` -> text in base64, Done::is_end
    write_block,  // one descriptor; `offset`, `data`
    commit,       // both descriptors of open_replace: the new file replaces the old one
    watch_missing, // one descriptor, of inotify(7); `paths` -> Done::exists, Done::places
    patch_check,   // `path`: the directory that paths of the patch in `data` start from; `paths`:
                   // canonical directories that the files must be in; empty: anywhere.
                   // -> text: a PatchReport (patch_report.h) in pieces, not in base64
    patch_apply,   // the same, with `token` and `expected` -> text: a PatchReport
};

struct WalkOptions {
    std::uint64_t max_depth = 0; // 0: only the entries of the root
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
    bool follows_links = true; // false: a symlink anywhere in the path is an error (wrong_kind)
    bool recursive = false;
    bool force = false; // a missing file is no error
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    WalkOptions walk = {};
    std::string data = {};
    std::string token = {};    // 32 hexadecimal digits: the token of the journal
    std::string expected = {}; // PatchReport::digest of the checked patch
    // Placeholders in the sandbox, which are removed afterwards: they count as missing.
    std::vector<std::string> stand_ins = {};
};

// Encodes a request with its length in front. Descriptors go with its first byte (SCM_RIGHTS,
// unix(7)).
std::string encode(const Request& request);

// Returns the size of the first request in `buffered`, including the length. Returns nullopt if the
// length is incomplete.
std::optional<std::uint64_t> size_of_request(std::string_view buffered);

// Decodes the result of encode(). Returns nullopt if `text` is invalid.
std::optional<Request> decode_request(std::string_view text);

// An answer is a sequence of frames; the last one is done or failed.
enum class FrameKind : std::uint8_t { text, entries, problems, done, failed };

struct Frame {
    FrameKind kind = FrameKind::done;
    std::string_view body = {}; // refers to the buffer
    std::uint64_t size = 0;     // of the frame, including the header
};

constexpr std::uint64_t usual_frame = 256U << 10; // size of a body; a longer one is split
constexpr std::uint64_t longest_frame = 8U << 20; // size of a body; only Done may be that long

std::string encode_frame(FrameKind kind, std::string_view body);

// Returns the first frame in `buffered`. Returns nullopt if it is incomplete, or if its size
// exceeds longest_frame: see is_garbage().
std::optional<Frame> first_frame(std::string_view buffered);
bool is_garbage(std::string_view buffered);

struct Entry {
    std::string name = {}; // read_directory: the name; walk: the absolute path
    bool is_directory = false;
    bool is_file = false; // a regular file, or a symlink to one
};

struct Problem {
    std::string path = {};
    std::string message = {};
};

// Appends an item to the body of a frame.
void append(std::string& body, const Entry& entry);
void append(std::string& body, const Problem& problem);

// Takes the first item from `body`. Returns nullopt if none is left, or if it is invalid.
std::optional<Entry> take_entry(std::string_view& body);
std::optional<Problem> take_problem(std::string_view& body);

// A watched directory, and the name in it that matters.
struct WatchedPlace {
    std::int32_t watch = 0; // watch descriptor of inotify(7)
    std::string name = {};

    bool operator==(const WatchedPlace&) const = default;
};

struct Done {
    bool is_directory = false;
    bool is_file = false;
    bool is_link = false; // metadata: the path itself is a symlink
    std::uint64_t size = 0;
    std::int64_t created_at_ms = 0; // since 1970; 0 if unknown to the file system
    std::int64_t modified_at_ms = 0;
    bool is_truncated = false;
    bool is_end = false;
    bool exists = false; // watch_missing: one of the paths exists, and nothing is watched
    std::string path = {};
    std::vector<WatchedPlace> places = {};
};

// Descriptors go with the first byte of the frame.
std::string encode_done(const Done& done);
std::optional<Done> decode_done(std::string_view body);

enum class Trouble : std::uint8_t {
    not_found,  // ENOENT
    permission, // EACCES, EPERM
    wrong_kind, // not a regular file, a directory, a symlink where none is allowed, a copy into
                // itself
    read_only,  // EROFS
    no_space,   // ENOSPC, EDQUOT
    limit,      // too large, too many
    unfit,      // an invalid patch, or one that does not fit the files
    outside,    // a path of a patch that leads out of the permitted directories
    changed,    // a file changed since the patch was checked
    not_undone, // a failed patch left changes: its journal is still needed
    other,
};

struct Failed {
    Trouble trouble = Trouble::other;
    std::string message = {}; // names the object: "/srv/x: No such file or directory"
    std::string hint = {};    // a sentence that says what to do; empty if unknown
};

std::string encode_failed(const Failed& failed);
std::optional<Failed> decode_failed(std::string_view body);

} // namespace ew::files
