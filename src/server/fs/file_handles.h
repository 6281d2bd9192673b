// Files that clients have opened (fs/open). A handle is known by the serial of the task that opens
// it. Its name is free again as soon as it is to be closed; the file stays open until all that was
// asked of it before is done.
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

    // The task is going to open a file under its handle_id.
    void add(const FileTask& opening);

    // Returns nullopt if no handle has this name.
    std::optional<std::uint64_t> find(const std::string& name) const;

    // What the file will replace when it is closed. Returns an empty path if it was opened to be
    // read.
    std::string path_to_replace(std::uint64_t serial) const;

    void free_name(const std::string& name);

    // What the file process needs for a task on a handle; borrowed. Completes the request of a
    // commit. Errors: the file is not open, or not for this.
    Result<std::vector<int>> descriptors_for(FileTask& task) const;

    // The task has opened the file. Errors: a descriptor did not arrive.
    Result<void> keep_open(const FileTask& opening, const files::Done& done,
                           std::vector<UniqueFd> received);

    // The task has put the new file in its place, which closes it.
    void close(const FileTask& committing);

    // The task has failed: the file is not open, or its new content is not complete.
    void note_failure(const FileTask& task, const Error& error);

private:
    // An open file. Of one that replaces another also the directory, and what commit needs.
    struct Handle {
        bool is_open = false; // fs/open has been answered
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
