#include "config/project.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace ew::config {

namespace {

std::string resolved(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr),
                                                      &std::free);
    return real ? std::string(real.get()) : path;
}

// In a linked work tree, .git is a file that names the repository: git-worktree(1).
bool has_git(const std::string& directory) {
    struct stat info = {};
    if (::stat((directory + "/.git").c_str(), &info) != 0) return false;
    const bool is_kind = S_ISDIR(info.st_mode) || S_ISREG(info.st_mode);
    return is_kind && (info.st_uid == 0 || info.st_uid == ::geteuid());
}

} // namespace

std::string project_root(const std::string& workspace) {
    std::string start = resolved(workspace);
    for (std::string directory = start; directory.size() > 1 && directory.front() == '/';) {
        if (has_git(directory)) return directory;
        directory.resize(directory.rfind('/'));
    }
    return start;
}

std::string project_rules_dir(const std::string& project) {
    return project + "/.execward/rules.d";
}

} // namespace ew::config
