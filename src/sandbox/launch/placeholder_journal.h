// The journal of placeholders (placeholders.h): a directory with one small file for each path,
// which identifies the placeholder that we made there.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>

namespace ew::sandbox {

struct PlaceholderRecord {
    dev_t device = 0;
    ino_t inode = 0;
    std::string path = {};
    std::optional<std::string> content = {}; // of a file; nullopt for a directory

    bool is(const struct stat& status) const;
};

// Reads the record in an open file of the journal. Returns nullopt if it holds none.
std::optional<PlaceholderRecord> read_record(int file);

// Makes the directory and those above it. If that fails, JournalEntry::open() reports it.
void make_journal(const std::string& journal);

// One file of the journal, locked against all other processes that work on the same path.
class JournalEntry {
public:
    static std::string name_for(const std::string& path);

    // Errors: another process keeps its lock on the entry.
    static Result<JournalEntry> open(const std::string& journal, const std::string& name,
                                     int flags);

    std::optional<PlaceholderRecord> record() const { return read_record(file_.get()); }

    bool write(const PlaceholderRecord& record) const;
    void remove() const; // if this fails, a later sweep removes it

private:
    JournalEntry() = default;

    std::string path_;
    UniqueFd file_;
};

// Returns nullopt if the file has more than `most` bytes or cannot be read.
std::optional<std::string> read_all(int file, std::size_t most);

// Is the open file the one that has the name in the directory?
bool is_same_file(int file, int directory, const std::string& name);

} // namespace ew::sandbox
