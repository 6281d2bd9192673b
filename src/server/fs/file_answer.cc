#include "server/fs/file_answer.h"

#include "json/writer.h"
#include "protocol/files.h"
#include "protocol/process.h"

#include <optional>
#include <string_view>

namespace ew::server {

namespace {

using files::Verb;

std::string_view opening_of(Verb verb) {
    switch (verb) {
    case Verb::read_file: return R"({"dataBase64":")";
    case Verb::read_block: return R"({"chunk":")";
    case Verb::read_directory:
    case Verb::walk: return R"({"entries":[)";
    case Verb::write_file:
    case Verb::create_directory:
    case Verb::metadata:
    case Verb::canonicalize:
    case Verb::remove:
    case Verb::copy:
    case Verb::open:
    case Verb::open_replace:
    case Verb::write_block:
    case Verb::commit:
    case Verb::watch_missing:
    case Verb::patch_check:
    case Verb::patch_apply: break;
    }
    return {};
}

void begin_result(FileTask& task) {
    if (task.result.empty()) task.result.append(opening_of(task.request.verb));
}

void append_entry(ByteBuffer& out, Verb verb, files::Entry entry) {
    if (out.view().back() != '[') out.append(',');
    if (verb == Verb::read_directory)
        return json::write_value(out, protocol::DirectoryEntry{std::move(entry.name),
                                                               entry.is_directory, entry.is_file});
    json::write_value(out, protocol::WalkEntry{{std::move(entry.name)},
                                               entry.is_directory ? protocol::WalkKind::directory
                                                                  : protocol::WalkKind::file});
}

void append_problems(ByteBuffer& out, std::string_view problems) {
    out.append(std::string_view(R"(],"errors":[)"));
    while (std::optional<files::Problem> problem = files::take_problem(problems)) {
        if (out.view().back() != '[') out.append(',');
        json::write_value(
            out, protocol::WalkError{{std::move(problem->path)}, std::move(problem->message)});
    }
    out.append(']');
}

void append_flag(ByteBuffer& out, std::string_view name, bool value) {
    out.append(name);
    json::write_value(out, value);
    out.append('}');
}

protocol::FileMetadata metadata_of(const files::Done& done) {
    protocol::FileMetadata metadata;
    metadata.is_directory = done.is_directory;
    metadata.is_file = done.is_file;
    metadata.is_symlink = done.is_link;
    metadata.size = done.size;
    metadata.created_at_ms = done.created_at_ms;
    metadata.modified_at_ms = done.modified_at_ms;
    return metadata;
}

ErrorKind kind_of(files::Trouble trouble) {
    switch (trouble) {
    case files::Trouble::not_found: return ErrorKind::not_found;
    case files::Trouble::permission: return ErrorKind::permission_denied;
    case files::Trouble::wrong_kind: return ErrorKind::wrong_kind;
    case files::Trouble::read_only: return ErrorKind::read_only;
    case files::Trouble::no_space: return ErrorKind::disk_full;
    case files::Trouble::limit: return ErrorKind::limit;
    case files::Trouble::unfit: return ErrorKind::invalid_params;
    case files::Trouble::outside: return ErrorKind::permission_denied;
    case files::Trouble::changed: return ErrorKind::changed;
    case files::Trouble::not_undone:
    case files::Trouble::other: break;
    }
    return ErrorKind::io_failed;
}

} // namespace

bool take_frame(FileTask& task, const files::Frame& frame) {
    switch (frame.kind) {
    case files::FrameKind::text:
        begin_result(task);
        task.result.append(frame.body);
        return true;
    case files::FrameKind::entries: {
        begin_result(task);
        std::string_view body = frame.body;
        while (std::optional<files::Entry> entry = files::take_entry(body))
            append_entry(task.result, task.request.verb, std::move(*entry));
        return true;
    }
    case files::FrameKind::problems: task.problems.append(frame.body); return true;
    case files::FrameKind::done:
    case files::FrameKind::failed: break;
    }
    return false;
}

void finish_result(FileTask& task, const files::Done& done) {
    begin_result(task);
    ByteBuffer& out = task.result;
    switch (task.request.verb) {
    case Verb::read_file: return out.append(std::string_view("\"}"));
    case Verb::read_block: return append_flag(out, R"(","eof":)", done.is_end);
    case Verb::read_directory: return out.append(std::string_view("]}"));
    case Verb::walk:
        append_problems(out, task.problems);
        return append_flag(out, R"(,"truncated":)", done.is_truncated);
    case Verb::metadata: return json::write_value(out, metadata_of(done));
    case Verb::canonicalize:
        return json::write_value(out, protocol::CanonicalizeResult{{done.path}});
    case Verb::open:
    case Verb::open_replace: return json::write_value(out, protocol::OpenResult{task.handle_id});
    case Verb::watch_missing:
        return json::write_value(out, protocol::WatchMissingResult{!done.exists});
    case Verb::write_file:
    case Verb::create_directory:
    case Verb::remove:
    case Verb::copy:
    case Verb::write_block:
    case Verb::commit: return json::write_value(out, protocol::Empty{});
    case Verb::patch_check:
    case Verb::patch_apply: return;
    }
}

Error error_of(const files::Failed& failed, bool is_confined) {
    Error error = {kind_of(failed.trouble), failed.message, failed.hint};
    const bool is_of_sandbox =
        failed.trouble == files::Trouble::permission || failed.trouble == files::Trouble::read_only;
    if (is_confined && is_of_sandbox)
        error.hint = "the request's sandbox may forbid it: see what its policy lets be read and "
                     "written";
    return error;
}

} // namespace ew::server
