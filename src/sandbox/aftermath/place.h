// A directory of a workspace as a descriptor. Commands that still run may change everything in it
// at any time, so no link is followed, only regular files are opened, and every read has a bound.
#pragma once

#include "base/unique_fd.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ew::sandbox {

enum class EntryKind : std::uint8_t { missing, directory, file, link, other };

struct PlaceEntry {
    std::string name = {};
    EntryKind kind = EntryKind::other;
};

class Place {
public:
    // A command may have taken the rights on a directory away from its owner, our user. The owner
    // has these while the object exists.
    enum class Rights : std::uint8_t { as_they_are, to_read, to_change };

    // Returns nullopt if there is no directory, or a link is in the way.
    static std::optional<Place> at(const std::string& path, Rights rights);
    std::optional<Place> inner(const std::string& name) const;

    ~Place();
    Place(Place&&) noexcept;
    Place& operator=(Place&&) = delete;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    const std::string& path() const { return path_; }

    int fd() const { return fd_.get(); }

    EntryKind kind(const std::string& name) const;

    // Returns nullopt if there are more than `most`, or they cannot be read.
    std::optional<std::vector<PlaceEntry>> entries(std::size_t most) const;

    // Returns false if that cannot be seen.
    bool is_empty() const;

    // Returns nullopt if it is not a regular file, is larger than `most`, or cannot be read.
    std::optional<std::string> read(const std::string& name, std::size_t most) const;

    // Returns a text that differs if the entry has been written since, or is another one.
    std::string stamp(const std::string& name) const;

    // Returns the target of a link, or an empty string if `name` is not a link.
    std::string target(const std::string& name) const;

private:
    static std::optional<Place> step_by_step(const std::string& path, Rights rights);

    Place(UniqueFd fd, std::string path, Rights rights);

    UniqueFd fd_;
    std::string path_;
    Rights rights_;
    std::optional<mode_t> mode_before_; // restored at the end
};

} // namespace ew::sandbox
