// The places that the commands of a session can write: no program there is trusted.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::server {

// Grows only: a place that an earlier command could write stays what that command has made of it.
class WritablePlaces {
public:
    // Beyond this number of places, the whole file system counts as one.
    static constexpr std::size_t most = 1024;

    void add(const std::vector<std::string>& paths);

    const std::vector<std::string>& paths() const { return paths_; }

private:
    std::vector<std::string> paths_;
};

// Returns a function for JudgedCommand::stays_inside. `roots` have no symlinks.
std::function<bool(std::string_view path)> stays_inside(std::vector<std::string> roots);

} // namespace ew::server
