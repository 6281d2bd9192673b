#include "config/rule_files.h"

#include "config/linked_file.h"
#include "config/owned_file.h"
#include "config/rule_text.h"
#include "os/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace ew::config {

namespace {

using core::RuleLayer;

class Loader {
public:
    explicit Loader(std::vector<std::string> writable = {}) : writable_(std::move(writable)) {}

    void load_directory(const std::string& path, RuleLayer layer);
    void load_file(int directory, const std::string& name, RuleSource source);
    LoadedRules finish();

private:
    struct SeenFile {
        dev_t device;
        ino_t number;
        std::string path;
    };

    // Counters per directory, so that one directory cannot use up the limits of another.
    struct Progress {
        std::vector<SeenFile> seen;
        std::size_t rules = 0;
        std::size_t bytes = 0;
        bool is_stopped = false;
    };

    void complain(const std::string& file, std::string message) {
        loaded_.problems.push_back({file, {}, std::move(message)});
    }

    // Only the first gap is reported.
    void note_gap(std::string_view what, std::string_view where) {
        std::string& gap = loaded_.rules.gap;
        if (gap.empty()) gap = fmt::format("{}, and a rule {} may be about this", what, where);
    }

    void miss(const std::string& path, std::string message);
    void take(RuleText text, const RuleSource& source);
    bool is_new(const FileText& file, const std::string& path);
    void add(core::HostExecutable entry, const std::string& file);
    void stop(const std::string& path, std::string_view why, RuleLayer layer);

    std::vector<std::string> writable_; // directories where confined commands can write
    LoadedRules loaded_;
    Progress here_;
    bool may_allow_ = true;
};

// Returns the sorted names of the rules files in a directory. Returns nullopt if it cannot be read.
std::optional<std::vector<std::string>> rule_file_names(DIR* directory) {
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(directory)) {
        const std::string_view name = entry->d_name;
        if (!name.starts_with('.') && name.ends_with(".toml")) names.emplace_back(name);
    }
    if (errno != 0) return std::nullopt;
    std::sort(names.begin(), names.end());
    return names;
}

void Loader::load_directory(const std::string& path, RuleLayer layer) {
    if (path.empty()) return;
    here_ = Progress();
    const auto cannot_be_read = [&] {
        miss(path, fmt::format("cannot be read: {}", strerror(errno)));
    };
    struct stat link = {};
    if (::lstat(path.c_str(), &link) != 0) {
        if (errno != ENOENT && errno != ENOTDIR) cannot_be_read();
        return;
    }
    const os::Directory directory = os::open_directory(path);
    struct stat info = {};
    if (!directory || ::fstat(::dirfd(directory.get()), &info) != 0) return cannot_be_read();
    const std::string distrust = S_ISLNK(link.st_mode) ? "is a symbolic link" : distrust_of(info);
    // A project's own rules never allow anything, so others may be able to write them.
    const bool is_trusted = distrust.empty() || layer == RuleLayer::project;
    if (!is_trusted) complain(path, distrust + ", so no rule in it allows anything");
    std::optional<std::vector<std::string>> names = rule_file_names(directory.get());
    if (!names) return cannot_be_read();
    const bool has_more = names->size() > most_rule_files;
    if (has_more) names->resize(most_rule_files);
    for (const std::string& name : *names)
        load_file(::dirfd(directory.get()), name,
                  {fmt::format("{}/{}", path, name), layer, is_trusted});
    if (has_more) stop(path, fmt::format("has more than {} files", most_rule_files), layer);
}

void Loader::load_file(int directory, const std::string& name, RuleSource source) {
    if (here_.is_stopped) return;
    Result<FileText> file = read_regular_file(directory, name, longest_rule_file);
    const bool is_too_long = !file && file.error().kind == ErrorKind::limit;
    here_.bytes += is_too_long ? longest_rule_file : file ? file->text.size() : 0;
    if (here_.bytes > most_rule_bytes)
        return stop(source.file, fmt::format("there are more than {} bytes", most_rule_bytes),
                    source.layer);
    if (!file) return miss(source.file, std::move(file.error().message));
    if (!is_new(*file, source.file)) return;
    const bool must_be_ours = source.layer == RuleLayer::user && directory != AT_FDCWD;
    std::string distrust = must_be_ours ? distrust_of(file->info) : std::string();
    if (distrust.empty() && must_be_ours) {
        distrust = distrust_of_link(source.file, writable_);
        // Somebody may have removed rules, too.
        if (!distrust.empty()) note_gap(fmt::format("{} {}", source.file, distrust), "in it");
    }
    if (!distrust.empty()) {
        complain(source.file, distrust + ", so no rule in it allows anything");
        source.may_allow = false;
    }
    take(read_rules(file->text, source), source);
}

void Loader::take(RuleText text, const RuleSource& source) {
    for (RuleProblem& problem : text.problems)
        loaded_.problems.push_back(std::move(problem));
    if (text.mistake) {
        const toml::Position position = *text.mistake;
        note_gap(position.line == 0 ? fmt::format("{} has a mistake", source.file)
                                    : fmt::format("{}:{}:{} has a mistake", source.file,
                                                  position.line, position.column),
                 "in it");
    }
    const std::size_t room = most_rules - here_.rules;
    const bool has_more = text.rules.size() + text.hosts.size() > room;
    if (text.rules.size() > room) text.rules.resize(room);
    if (has_more) text.hosts.resize(std::min(text.hosts.size(), room - text.rules.size()));
    here_.rules += text.rules.size() + text.hosts.size();
    for (core::HostRule& rule : text.hosts)
        loaded_.hosts.push_back(std::move(rule));
    for (core::PrefixRule& rule : text.rules)
        loaded_.rules.rules.push_back(std::move(rule));
    for (core::HostExecutable& entry : text.host_executables)
        add(std::move(entry), source.file);
    if (has_more)
        stop(source.file, fmt::format("there are more than {} rules", most_rules), source.layer);
}

// Records a file or directory that exists but cannot be read.
void Loader::miss(const std::string& path, std::string message) {
    note_gap(fmt::format("{} {}", path, message), "in it");
    complain(path, std::move(message));
}

// Returns false for a file that was already read under another name, which would report its
// mistakes twice.
bool Loader::is_new(const FileText& file, const std::string& path) {
    for (const SeenFile& seen : here_.seen) {
        if (seen.device != file.info.st_dev || seen.number != file.info.st_ino) continue;
        complain(path, fmt::format("is the same file as {}, and was read once", seen.path));
        return false;
    }
    here_.seen.push_back({file.info.st_dev, file.info.st_ino, path});
    return true;
}

// The first entry for a program counts, so the system's entry wins over the user's.
void Loader::add(core::HostExecutable entry, const std::string& file) {
    std::vector<core::HostExecutable>& known = loaded_.rules.host_executables;
    const bool is_known = std::any_of(known.begin(), known.end(),
                                      [&](const auto& other) { return other.name == entry.name; });
    if (is_known)
        complain(file, fmt::format("host_executable '{}' is there already, and this one has no "
                                   "effect",
                                   entry.name));
    else
        known.push_back(std::move(entry));
}

// A project that exceeds a limit does not disable what the user allows.
void Loader::stop(const std::string& path, std::string_view why, RuleLayer layer) {
    here_.is_stopped = true;
    note_gap(fmt::format("{}: {}", path, why), "among the others");
    const bool is_project = layer == RuleLayer::project;
    complain(path, fmt::format("{}: the others are not read{}", why,
                               is_project ? "" : ", and no rule allows anything"));
    if (!is_project) may_allow_ = false;
}

LoadedRules Loader::finish() {
    if (!may_allow_)
        std::erase_if(loaded_.rules.rules,
                      [](const auto& rule) { return rule.decision == core::Decision::allow; });
    if (!may_allow_)
        std::erase_if(loaded_.hosts,
                      [](const auto& rule) { return rule.decision == core::Decision::allow; });
    return std::move(loaded_);
}

} // namespace

LoadedRules load_rules(const RulePlaces& places) {
    Loader loader(places.writable);
    loader.load_directory(places.system_dir, RuleLayer::system);
    loader.load_directory(places.project_dir, RuleLayer::project);
    loader.load_directory(places.user_dir, RuleLayer::user);
    return loader.finish();
}

LoadedRules load_rule_files(const std::vector<std::string>& files) {
    Loader loader;
    for (const std::string& file : files)
        loader.load_file(AT_FDCWD, file, {file, RuleLayer::user});
    return loader.finish();
}

} // namespace ew::config
