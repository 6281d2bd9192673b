// A temporary directory of one test. The destructor removes it with everything in it.
#pragma once

#include "support/testing.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace ew::test {

class TempDirectory {
public:
    TempDirectory() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }

    ~TempDirectory() {
        std::error_code ignored; // a leftover in /tmp must not fail the test
        std::filesystem::remove_all(path_, ignored);
    }

    TempDirectory(const TempDirectory&) = delete;
    TempDirectory& operator=(const TempDirectory&) = delete;

    const std::string& path() const { return path_; }

    std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

    // Creates the missing directories with access for this user only. Returns the path.
    std::string make(std::string_view name) const {
        std::string made = path(name);
        if (std::filesystem::create_directories(made))
            std::filesystem::permissions(made, std::filesystem::perms::owner_all);
        return made;
    }

    // Writes a file with access for this user only, and creates its missing directories.
    std::string write(std::string_view name, std::string_view text) const {
        std::string written = path(name);
        make(std::filesystem::path(name).parent_path().string());
        std::ofstream(written, std::ios::binary) << text;
        std::filesystem::permissions(written, std::filesystem::perms::owner_read |
                                                  std::filesystem::perms::owner_write);
        return written;
    }

    std::string read(std::string_view name) const {
        std::ifstream file(path(name), std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    }

private:
    std::string path_ = "/tmp/execward-test-XXXXXX";
};

} // namespace ew::test
