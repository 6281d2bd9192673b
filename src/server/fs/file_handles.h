// Files that clients have opened (fs/open). The serial number of the task that opens a file
// identifies its handle. A name is free again as soon as its file is to be closed; the file stays
// open until all earlier requests for it are done.
#pragma once

#include "base/error.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "files/wire.h"
#include "server/fs/file_task.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ew::server {

class FileHandles {
public:
    static constexpr std::size_t most = 512;

    // Errors: the name is in use, or too many files are open.
    Result<void> allows(const std::string& name) const;

    // The task will open a file under its handle_id.
    void add(const FileTask& opening);

    // Returns nullopt if no handle has this name.
    std::optional<std::uint64_t> find(const std::string& name) const;

    // Returns the path that the file will replace when it is closed. Returns an empty path if the
    // file was opened for reading.
    std::string path_to_replace(std::uint64_t serial) const;

    void free_name(const std::string& name);

    // Returns the borrowed descriptors that the file process needs for a task on a handle.
    // Completes the request of a commit. Errors: the file is not open, or was not opened for this.
    Result<std::vector<int>> descriptors_for(FileTask& task) const;

    // The task has opened the file. Errors: a descriptor did not arrive.
    Result<void> keep_open(const FileTask& opening, const files::Done& done,
                           std::vector<UniqueFd> received);

    // The task has put the new file in its place: closes the handle.
    void close(const FileTask& committing);

    // The task has failed: its file is not open, or the new content is not complete.
    void note_failure(const FileTask& task, const Error& error);

private:
    // An open file. A handle that replaces a file also has its directory, and the token for the
    // commit.
    struct Handle {
        bool is_open = false; // fs/open was answered
        bool replaces = false;
        std::string path = {};
        UniqueFd file = {};
        UniqueFd directory = {};
        std::string token = {};
        std::optional<Error> failure = {}; // of a block: the new content is not complete
    };

    std::map<std::uint64_t, Handle> handles_;
    std::map<std::string, std::uint64_t> serials_; // by name
};

} // namespace ew::server
