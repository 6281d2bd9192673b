#include "server/fs/file_requests.h"

#include "server/fs/file_watches.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace ew::server {

namespace {

using files::Verb;

files::Request on_path(Verb verb, protocol::Path& path) {
    files::Request request;
    request.verb = verb;
    request.path = std::move(path.native);
    return request;
}

Error beyond(std::string_view member, std::uint64_t most) {
    return {ErrorKind::limit, fmt::format("{} may be {} at most", member, most)};
}

} // namespace

Result<files::Request> request_of(protocol::ReadFileParams& params) {
    files::Request request = on_path(Verb::read_file, params.path);
    request.follows_links = params.follow_symlinks;
    return request;
}

Result<files::Request> request_of(protocol::WriteFileParams& params) {
    files::Request request = on_path(Verb::write_file, params.path);
    request.follows_links = params.follow_symlinks;
    request.data = std::move(params.data.bytes);
    return request;
}

Result<files::Request> request_of(protocol::CreateDirectoryParams& params) {
    files::Request request = on_path(Verb::create_directory, params.path);
    request.follows_links = params.follow_symlinks;
    request.recursive = params.recursive;
    return request;
}

Result<files::Request> request_of(protocol::GetMetadataParams& params) {
    files::Request request = on_path(Verb::metadata, params.path);
    request.follows_links = params.follow_symlinks;
    return request;
}

Result<files::Request> request_of(protocol::CanonicalizeParams& params) {
    return on_path(Verb::canonicalize, params.path);
}

Result<files::Request> request_of(protocol::ReadDirectoryParams& params) {
    return on_path(Verb::read_directory, params.path);
}

Result<files::Request> request_of(protocol::WalkParams& params) {
    const protocol::WalkOptions& options = params.options;
    if (options.max_depth > files::deepest_walk)
        return beyond("options.maxDepth", files::deepest_walk);
    if (options.max_directories > files::most_walk_directories)
        return beyond("options.maxDirectories", files::most_walk_directories);
    if (options.max_entries > files::most_walk_entries)
        return beyond("options.maxEntries", files::most_walk_entries);
    files::Request request = on_path(Verb::walk, params.path);
    request.walk = {options.max_depth, options.max_directories, options.max_entries,
                    options.follow_directory_symlinks, options.prune_hidden_directories};
    return request;
}

Result<files::Request> request_of(protocol::RemoveParams& params) {
    files::Request request = on_path(Verb::remove, params.path);
    request.follows_links = params.follow_symlinks;
    request.recursive = params.recursive;
    request.force = params.force;
    return request;
}

Result<files::Request> request_of(protocol::CopyParams& params) {
    files::Request request = on_path(Verb::copy, params.source_path);
    request.other_path = std::move(params.destination_path.native);
    request.recursive = params.recursive;
    return request;
}

Result<files::Request> request_of(protocol::OpenParams& params) {
    const bool replaces = params.mode == protocol::OpenMode::replace;
    return on_path(replaces ? Verb::open_replace : Verb::open, params.path);
}

Result<files::Request> request_of(const protocol::ReadBlockParams& params) {
    if (params.len == 0 || params.len > files::longest_block)
        return Error{ErrorKind::limit,
                     fmt::format("len is between 1 and {}", files::longest_block)};
    files::Request request;
    request.verb = Verb::read_block;
    request.offset = params.offset;
    request.length = params.len;
    return request;
}

Result<files::Request> request_of(protocol::WriteBlockParams& params) {
    if (params.chunk.bytes.size() > files::longest_block)
        return beyond("the size of chunk", files::longest_block);
    files::Request request;
    request.verb = Verb::write_block;
    request.offset = params.offset;
    request.data = std::move(params.chunk.bytes);
    return request;
}

Result<files::Request> request_of(protocol::WatchMissingParams& params) {
    if (params.missing.size() > files::most_missing)
        return beyond("the number of missing paths", files::most_missing);
    files::Request request;
    request.verb = Verb::watch_missing;
    std::size_t bytes = 0;
    for (protocol::Path& path : params.missing) {
        bytes += path.native.size();
        request.paths.push_back(std::move(path.native));
    }
    if (bytes > FileWatches::most_bytes)
        return beyond("the bytes of missing paths", FileWatches::most_bytes);
    return request;
}

} // namespace ew::server
