// The messages of fs/*. Each struct lists its members once, in fields(); schema/types.json
// describes them.
#pragma once

#include "json/types.h"
#include "protocol/process_start.h"
#include "protocol/sandbox.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::protocol {

using json::FileUri;

struct ReadFileParams {
    Path path = {};
    bool follow_symlinks = true;
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, ReadFileParams& params) {
    visit.required("path", params.path);
    visit.optional("followSymlinks", params.follow_symlinks);
    visit.optional("sandbox", params.sandbox);
}

struct ReadFileResult {
    Bytes data = {};
};

template <class Visitor>
void fields(Visitor& visit, ReadFileResult& result) {
    visit.required("dataBase64", result.data);
}

struct WriteFileParams {
    Path path = {};
    Bytes data = {};
    bool follow_symlinks = true;
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, WriteFileParams& params) {
    visit.required("path", params.path);
    visit.required("dataBase64", params.data);
    visit.optional("followSymlinks", params.follow_symlinks);
    visit.optional("sandbox", params.sandbox);
}

struct CreateDirectoryParams {
    Path path = {};
    bool recursive = true;
    bool follow_symlinks = true;
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, CreateDirectoryParams& params) {
    visit.required("path", params.path);
    visit.optional("recursive", params.recursive);
    visit.optional("followSymlinks", params.follow_symlinks);
    visit.optional("sandbox", params.sandbox);
}

struct GetMetadataParams {
    Path path = {};
    bool follow_symlinks = true;
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, GetMetadataParams& params) {
    visit.required("path", params.path);
    visit.optional("followSymlinks", params.follow_symlinks);
    visit.optional("sandbox", params.sandbox);
}

struct FileMetadata {
    bool is_directory = false;
    bool is_file = false;
    bool is_symlink = false;
    std::uint64_t size = 0;
    std::int64_t created_at_ms = 0;
    std::int64_t modified_at_ms = 0;
};

template <class Visitor>
void fields(Visitor& visit, FileMetadata& metadata) {
    visit.required("isDirectory", metadata.is_directory);
    visit.required("isFile", metadata.is_file);
    visit.required("isSymlink", metadata.is_symlink);
    visit.required("size", metadata.size);
    visit.required("createdAtMs", metadata.created_at_ms);
    visit.required("modifiedAtMs", metadata.modified_at_ms);
}

struct CanonicalizeParams {
    Path path = {};
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, CanonicalizeParams& params) {
    visit.required("path", params.path);
    visit.optional("sandbox", params.sandbox);
}

struct CanonicalizeResult {
    FileUri path = {};
};

template <class Visitor>
void fields(Visitor& visit, CanonicalizeResult& result) {
    visit.required("path", result.path);
}

struct ReadDirectoryParams {
    Path path = {};
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, ReadDirectoryParams& params) {
    visit.required("path", params.path);
    visit.optional("sandbox", params.sandbox);
}

struct DirectoryEntry {
    std::string file_name = {};
    bool is_directory = false;
    bool is_file = false;
};

template <class Visitor>
void fields(Visitor& visit, DirectoryEntry& entry) {
    visit.required("fileName", entry.file_name);
    visit.required("isDirectory", entry.is_directory);
    visit.required("isFile", entry.is_file);
}

struct ReadDirectoryResult {
    std::vector<DirectoryEntry> entries = {};
};

template <class Visitor>
void fields(Visitor& visit, ReadDirectoryResult& result) {
    visit.required("entries", result.entries);
}

struct WalkOptions {
    std::uint64_t max_depth = 0;
    std::uint64_t max_directories = 0;
    std::uint64_t max_entries = 0;
    bool follow_directory_symlinks = false;
    bool prune_hidden_directories = false;
};

template <class Visitor>
void fields(Visitor& visit, WalkOptions& options) {
    visit.required("maxDepth", options.max_depth);
    visit.required("maxDirectories", options.max_directories);
    visit.required("maxEntries", options.max_entries);
    visit.required("followDirectorySymlinks", options.follow_directory_symlinks);
    visit.optional("pruneHiddenDirectories", options.prune_hidden_directories);
}

struct WalkParams {
    Path path = {};
    WalkOptions options = {};
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, WalkParams& params) {
    visit.required("path", params.path);
    visit.required("options", params.options);
    visit.optional("sandbox", params.sandbox);
}

enum class WalkKind : std::uint8_t { file, directory };

struct WalkEntry {
    FileUri path = {};
    WalkKind kind = WalkKind::file;
};

template <class Visitor>
void fields(Visitor& visit, WalkEntry& entry) {
    visit.required("path", entry.path);
    visit.required("kind", entry.kind);
}

struct WalkError {
    FileUri path = {};
    std::string message = {};
};

template <class Visitor>
void fields(Visitor& visit, WalkError& error) {
    visit.required("path", error.path);
    visit.required("message", error.message);
}

struct WalkResult {
    std::vector<WalkEntry> entries = {};
    std::vector<WalkError> errors = {};
    bool truncated = false;
};

template <class Visitor>
void fields(Visitor& visit, WalkResult& result) {
    visit.required("entries", result.entries);
    visit.required("errors", result.errors);
    visit.required("truncated", result.truncated);
}

struct RemoveParams {
    Path path = {};
    bool recursive = true;
    bool force = true;
    bool follow_symlinks = true;
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, RemoveParams& params) {
    visit.required("path", params.path);
    visit.optional("recursive", params.recursive);
    visit.optional("force", params.force);
    visit.optional("followSymlinks", params.follow_symlinks);
    visit.optional("sandbox", params.sandbox);
}

struct CopyParams {
    Path source_path = {};
    Path destination_path = {};
    bool recursive = false;
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, CopyParams& params) {
    visit.required("sourcePath", params.source_path);
    visit.required("destinationPath", params.destination_path);
    visit.required("recursive", params.recursive);
    visit.optional("sandbox", params.sandbox);
}

enum class OpenMode : std::uint8_t { read, replace };

struct OpenParams {
    std::string handle_id = {};
    Path path = {};
    OpenMode mode = OpenMode::read;
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, OpenParams& params) {
    visit.required("handleId", params.handle_id, Bounds{0, longest_name});
    visit.required("path", params.path);
    visit.optional("mode", params.mode);
    visit.optional("sandbox", params.sandbox);
}

struct OpenResult {
    std::string handle_id = {};
};

template <class Visitor>
void fields(Visitor& visit, OpenResult& result) {
    visit.required("handleId", result.handle_id);
}

struct ReadBlockParams {
    std::string handle_id = {};
    std::uint64_t offset = 0;
    std::uint64_t len = 0; // out of bounds: invalid request (-32600), as with Codex's server
};

template <class Visitor>
void fields(Visitor& visit, ReadBlockParams& params) {
    visit.required("handleId", params.handle_id, Bounds{0, longest_name});
    visit.required("offset", params.offset);
    visit.required("len", params.len);
}

struct ReadBlockResult {
    Bytes chunk = {};
    bool eof = false;
};

template <class Visitor>
void fields(Visitor& visit, ReadBlockResult& result) {
    visit.required("chunk", result.chunk);
    visit.required("eof", result.eof);
}

struct WriteBlockParams {
    std::string handle_id = {};
    std::uint64_t offset = 0;
    Bytes chunk = {};
};

template <class Visitor>
void fields(Visitor& visit, WriteBlockParams& params) {
    visit.required("handleId", params.handle_id, Bounds{0, longest_name});
    visit.required("offset", params.offset);
    visit.required("chunk", params.chunk);
}

struct CloseParams {
    std::string handle_id = {};
};

template <class Visitor>
void fields(Visitor& visit, CloseParams& params) {
    visit.required("handleId", params.handle_id, Bounds{0, longest_name});
}

struct WatchMissingParams {
    std::uint64_t watch_id = 0;
    std::vector<Path> missing = {};
    std::optional<SandboxRequest> sandbox = {};
};

template <class Visitor>
void fields(Visitor& visit, WatchMissingParams& params) {
    visit.required("watchId", params.watch_id);
    visit.required("missing", params.missing);
    visit.optional("sandbox", params.sandbox);
}

struct WatchMissingResult {
    bool watching = false;
};

template <class Visitor>
void fields(Visitor& visit, WatchMissingResult& result) {
    visit.required("watching", result.watching);
}

struct MissingChanged {
    std::uint64_t watch_id = 0;
};

template <class Visitor>
void fields(Visitor& visit, MissingChanged& changed) {
    visit.required("watchId", changed.watch_id);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::WalkKind> {
    static constexpr std::array<std::string_view, 2> list = {"file", "directory"};
};

template <>
struct Names<protocol::OpenMode> {
    static constexpr std::array<std::string_view, 2> list = {"read", "replace"};
};

} // namespace ew::json
