// Placeholders in a sandbox, such as an empty .git that must stay missing
// (sandbox/launch/placeholders.h). The file process treats them as missing.
#pragma once

#include "files/outcome.h"

#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

namespace ew::files {

class StandIns {
public:
    explicit StandIns(const std::vector<std::string>& paths) {
        struct stat status = {};
        for (const std::string& path : paths)
            if (::lstat(path.c_str(), &status) == 0)
                known_.emplace_back(status.st_dev, status.st_ino);
    }

    bool empty() const { return known_.empty(); }

    bool contain(dev_t device, ino_t inode) const {
        for (const auto& [known_device, known_inode] : known_)
            if (known_device == device && known_inode == inode) return true;
        return false;
    }

    bool contain(const struct stat& status) const { return contain(status.st_dev, status.st_ino); }

    bool contain(int fd) const {
        struct stat status = {};
        return !known_.empty() && ::fstat(fd, &status) == 0 && contain(status);
    }

private:
    std::vector<std::pair<dev_t, ino_t>> known_;
};

// The failure of an attempt to create a file where a placeholder is.
inline Failure protects(const std::string& path) {
    return failed(Trouble::read_only, path, "is protected in the sandbox and does not exist");
}

} // namespace ew::files
