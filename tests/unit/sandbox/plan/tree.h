// A tree of files for one test, in a directory that no policy treats as temporary.
#pragma once

#include "support/testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace ew::test {

class Tree {
public:
    explicit Tree(const std::string& place = "/var/tmp") {
        std::string path = place + "/execward-tree-XXXXXX";
        if (::mkdtemp(path.data()) != nullptr) root_ = std::filesystem::canonical(path);
        REQUIRE(!root_.empty());
    }

    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    ~Tree() {
        std::error_code ignored;
        if (!root_.empty()) std::filesystem::remove_all(root_, ignored);
    }

    const std::string& root() const { return root_; }

    std::string at(const std::string& name) const { return root_ + "/" + name; }

    std::string directory(const std::string& name) const {
        std::filesystem::create_directories(at(name));
        return at(name);
    }

    std::string file(const std::string& name, const std::string& content = "") const {
        std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
        std::ofstream(at(name)) << content;
        return at(name);
    }

    std::string link(const std::string& name, const std::string& target) const {
        REQUIRE(::symlink(target.c_str(), at(name).c_str()) == 0);
        return at(name);
    }

    // The minimum that git accepts as a git directory.
    std::string git(const std::string& name) const {
        directory(name + "/objects");
        directory(name + "/refs");
        directory(name + "/hooks");
        file(name + "/config", "[core]\n\trepositoryformatversion = 0\n");
        file(name + "/HEAD", "ref: refs/heads/main\n");
        return at(name);
    }

    bool has(const std::string& name) const {
        struct stat status = {};
        return ::lstat(at(name).c_str(), &status) == 0;
    }

    std::string content(const std::string& name) const {
        std::ifstream stream(at(name));
        return {std::istreambuf_iterator<char>(stream), {}};
    }

private:
    std::string root_;
};

} // namespace ew::test
