#include "cli/setup/codex_setup.h"

#include "base/unique_fd.h"
#include "cli/shared/confirmation.h"
#include "cli/shared/printing.h"
#include "config/owned_file.h"
#include "core/text/display.h"
#include "os/io.h"
#include "patch/diff.h"
#include "toml/toml.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace ew::cli {

namespace {

constexpr const char* file_name = "environments.toml";
constexpr int most_backups = 100;
constexpr mode_t mode_bits = 07777;
constexpr mode_t mode_of_new_file = 0600;

// `path` has been through visible(), as all paths below have that are not opened.
Error refusal(const std::string& path, std::string_view why, std::string hint = {}) {
    return {ErrorKind::config_invalid, fmt::format("{}: {}", path, why), std::move(hint)};
}

Error failed(const std::string& path, std::string_view what) {
    return refusal(path, fmt::format("cannot be {}: {}", what, strerror(errno)));
}

Result<void> check_owner(const std::string& path, const struct stat& info) {
    if (info.st_uid == ::geteuid()) return {};
    return refusal(path, fmt::format("belongs to user {}", info.st_uid),
                   "run this as that user, or name another directory in CODEX_HOME");
}

struct Existing {
    std::string text;
    std::optional<mode_t> mode; // nullopt if there is no file
};

// Codex's directory, open. It has no descriptor if the directory does not exist.
class Home {
public:
    static Result<Home> open(const std::string& directory);

    Result<void> make(); // creates the directory if it does not exist
    Result<Existing> read() const;
    // Replaces the file by this text, whole or not at all.
    Result<void> replace(std::string_view text, mode_t mode) const;
    // Returns the name of the file that holds the old text.
    Result<std::string> back_up(const Existing& old) const;

    const std::string& path() const { return path_; }

private:
    explicit Home(std::string directory)
        : directory_(std::move(directory)), path_(core::visible(codex_file(directory_))) {}

    // Returns false, with errno, if the file was not written.
    bool write_new(const std::string& name, std::string_view text, mode_t mode) const;

    std::string directory_;
    std::string path_; // of the file
    UniqueFd fd_;
};

Result<Home> Home::open(const std::string& directory) {
    Home home(directory);
    home.fd_.reset(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!home.fd_ && errno == ENOENT) return home;
    const std::string shown = core::visible(directory);
    struct stat info = {};
    if (!home.fd_ || ::fstat(home.fd_.get(), &info) != 0) return failed(shown, "opened");
    TRY(check_owner(shown, info));
    return home;
}

Result<void> Home::make() {
    if (fd_) return {};
    const bool is_made = ::mkdir(directory_.c_str(), 0700) == 0 || errno == EEXIST;
    if (!is_made) return failed(core::visible(directory_), "made");
    *this = TRY(open(directory_));
    if (!fd_) return refusal(core::visible(directory_), "has vanished");
    return {};
}

Result<Existing> Home::read() const {
    struct stat info = {};
    if (!fd_ || ::fstatat(fd_.get(), file_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (!fd_ || errno == ENOENT) return Existing{};
        return failed(path_, "read");
    }
    if (S_ISLNK(info.st_mode)) {
        const std::string target = os::link_target(codex_file(directory_)).value_or("");
        return refusal(
            path_, "is a symbolic link, which execward does not replace",
            fmt::format("it leads to {}; put the snippet there yourself", core::visible(target)));
    }
    Result<config::FileText> file =
        config::read_regular_file(fd_.get(), file_name, toml::longest_text);
    if (!file) return refusal(path_, file.error().message);
    TRY(check_owner(path_, file->info));
    return Existing{std::move(file->text), file->info.st_mode & mode_bits};
}

bool Home::write_new(const std::string& name, std::string_view text, mode_t mode) const {
    const UniqueFd file(::openat(fd_.get(), name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return false;
    const bool is_written = os::write_all(file.get(), text) && ::fchmod(file.get(), mode) == 0 &&
                            ::fsync(file.get()) == 0;
    if (is_written) return true;
    const int error = errno;
    (void)::unlinkat(fd_.get(), name.c_str(), 0); // the earlier error is reported
    errno = error;
    return false;
}

Result<void> Home::replace(std::string_view text, mode_t mode) const {
    const std::string name = fmt::format(".{}.new-{}", file_name, ::getpid());
    if (!write_new(name, text, mode)) return failed(path_, "written");
    if (::renameat(fd_.get(), name.c_str(), fd_.get(), file_name) != 0) {
        Error error = failed(path_, "replaced");
        (void)::unlinkat(fd_.get(), name.c_str(), 0); // as above
        return error;
    }
    if (::fsync(fd_.get()) != 0) return failed(path_, "written");
    return {};
}

Result<std::string> Home::back_up(const Existing& old) const {
    for (int n = 1; n <= most_backups; ++n) {
        const std::string end = n == 1 ? ".bak" : fmt::format(".bak{}", n);
        if (write_new(file_name + end, old.text, *old.mode)) return path_ + end;
        if (errno != EEXIST) return failed(path_ + end, "written");
    }
    return refusal(path_, fmt::format("has {} backups beside it", most_backups), "remove some");
}

// Reports the error, and prints the text for the person to add by hand.
int fail_with_snippet(const Error& error, const CodexEnvironment& environment) {
    (void)fail(error);
    print_line("# To put into the file by hand:");
    print_snippet(environment);
    return finish(status_failure);
}

Result<void> put(Home& home, const Existing& old, const std::string& text) {
    TRY(home.make());
    const Existing now = TRY(home.read());
    if (now.mode != old.mode || now.text != old.text)
        return refusal(home.path(), "has changed meanwhile; nothing was written", "try again");
    const std::string backup = old.mode ? TRY(home.back_up(old)) : std::string();
    TRY(home.replace(text, old.mode.value_or(mode_of_new_file)));
    print_line(fmt::format("Written: {}", home.path()));
    if (!backup.empty()) print_line(fmt::format("As it was: {}", backup));
    return {};
}

void print_note_about_local(std::string_view text) {
    if (keeps_local_environment(text))
        print_line("Codex can still run commands itself beside execward. To end that, set\n"
                   "include_local = false in the file, above its first [[environments]].");
}

} // namespace

Result<std::string> codex_directory() {
    const char* const variable = std::getenv("CODEX_HOME");
    if (variable != nullptr && *variable != '\0') return std::string(variable);
    const char* const home = std::getenv("HOME");
    if (home != nullptr && *home == '/') return std::string(home) + "/.codex";
    return Error{ErrorKind::config_invalid, "there is no telling where the files of Codex are",
                 "set CODEX_HOME or HOME"};
}

std::string codex_file(const std::string& directory) {
    return fmt::format("{}/{}", directory, file_name);
}

void print_snippet(const CodexEnvironment& environment) {
    const std::string snippet = codex_snippet(environment);
    print_line(std::string_view(snippet).substr(0, snippet.size() - 1)); // without the newline
}

int write_codex_setup(const std::string& directory, const CodexEnvironment& environment,
                      Consent consent) {
    Result<Home> home = Home::open(directory);
    if (!home) return fail_with_snippet(home.error(), environment);
    Result<Existing> old = home->read();
    if (!old) return fail_with_snippet(old.error(), environment);
    Result<std::string> text = with_environment(old->text, home->path(), environment);
    if (!text) return fail_with_snippet(text.error(), environment);
    if (*text == old->text) {
        print_line(fmt::format("Already set up: {}", home->path()));
        print_note_about_local(*text);
        return finish(status_ok);
    }

    const std::string old_name = old->mode ? home->path() : "/dev/null";
    const std::string diff = patch::unified_diff(old->text, *text, old_name, home->path());
    print_line(std::string_view(diff).substr(0, diff.size() - 1)); // without the newline
    if (const int status = finish(status_ok); status != status_ok) return status;
    const std::optional<bool> is_wanted =
        consent == Consent::given ? true : confirm("Write this? [y/N] ");
    if (!is_wanted)
        return fail(Error{ErrorKind::denied, "there is no terminal to ask on; nothing was written",
                          "--yes writes what is shown above without asking"});
    if (!*is_wanted) {
        print_line("Nothing was written.");
        return finish(status_failure);
    }
    if (Result<void> done = put(*home, *old, *text); !done) return fail(done.error());
    print_note_about_local(*text);
    return finish(status_ok);
}

} // namespace ew::cli
