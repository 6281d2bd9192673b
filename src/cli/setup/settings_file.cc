#include "cli/setup/settings_file.h"

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

constexpr int most_backups = 100;
constexpr mode_t mode_bits = 07777;
constexpr mode_t mode_of_new_file = 0600;
constexpr mode_t mode_in_project = 0644;

// `path` has been through visible(), as all paths below have that are not opened.
Error refusal(const std::string& path, std::string_view why, std::string hint = {}) {
    return {ErrorKind::config_invalid, fmt::format("{}: {}", path, why), std::move(hint)};
}

Error failed(const std::string& path, std::string_view what) {
    return refusal(path, fmt::format("cannot be {}: {}", what, strerror(errno)));
}

Result<void> check_owner(const std::string& path, const struct stat& info) {
    if (info.st_uid == ::geteuid()) return {};
    return refusal(path, fmt::format("belongs to user {}", info.st_uid), "run this as that user");
}

struct Existing {
    std::string text;
    std::optional<mode_t> mode; // nullopt if there is no file
    gid_t group = 0;            // of a file
};

// The directory of the file, open. It has no descriptor if the directory does not exist.
class Place {
public:
    static Result<Place> open(const SettingsFile& file);

    Result<void> make(); // creates the directory if it does not exist
    Result<Existing> read() const;
    // Replaces the file by this text, whole or not at all. A new file gets this mode, and another
    // one keeps its mode and its group.
    Result<void> replace(std::string_view text, const Existing& old, mode_t usual) const;
    // Returns the name of the file that holds the old text.
    Result<std::string> back_up(const Existing& old) const;

    const std::string& path() const { return path_; }

private:
    explicit Place(const SettingsFile& file) : file_(file), path_(shown_path(file)) {}

    // Returns false, with errno, if the file was not written.
    bool write_new(const std::string& name, std::string_view text, mode_t mode) const;

    const SettingsFile& file_;
    std::string path_;
    UniqueFd fd_;
};

Result<Place> Place::open(const SettingsFile& file) {
    Place place(file);
    const int no_link = file.is_of_project ? O_NOFOLLOW : 0;
    place.fd_.reset(::open(file.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link));
    if (!place.fd_ && errno == ENOENT) return place;
    const std::string shown = core::visible(file.directory);
    if (!place.fd_ && file.is_of_project && os::link_target(file.directory))
        return refusal(shown, "is a symbolic link, which execward does not follow in a project");
    struct stat info = {};
    if (!place.fd_ || ::fstat(place.fd_.get(), &info) != 0) return failed(shown, "opened");
    TRY(check_owner(shown, info));
    return place;
}

Result<void> Place::make() {
    if (fd_) return {};
    const mode_t mode = file_.is_of_project ? 0755 : 0700;
    const bool is_made = ::mkdir(file_.directory.c_str(), mode) == 0 || errno == EEXIST;
    const std::string shown = core::visible(file_.directory);
    if (!is_made) return failed(shown, "made");
    Place made = TRY(open(file_));
    fd_ = std::move(made.fd_);
    if (!fd_) return refusal(shown, "has vanished");
    return {};
}

Result<Existing> Place::read() const {
    struct stat info = {};
    if (!fd_ || ::fstatat(fd_.get(), file_.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (!fd_ || errno == ENOENT) return Existing{};
        return failed(path_, "read");
    }
    if (S_ISLNK(info.st_mode)) {
        const std::string target = os::link_target(file_.directory + "/" + file_.name).value_or("");
        return refusal(
            path_, "is a symbolic link, which execward does not replace",
            fmt::format("it leads to {}; put the snippet there yourself", core::visible(target)));
    }
    Result<config::FileText> file =
        config::read_regular_file(fd_.get(), file_.name.c_str(), toml::longest_text);
    if (!file) return refusal(path_, file.error().message);
    TRY(check_owner(path_, file->info));
    return Existing{std::move(file->text), file->info.st_mode & mode_bits, file->info.st_gid};
}

bool Place::write_new(const std::string& name, std::string_view text, mode_t mode) const {
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

Result<void> Place::replace(std::string_view text, const Existing& old, mode_t usual) const {
    const std::string name = fmt::format(".{}.new-{}", file_.name, ::getpid());
    if (!write_new(name, text, old.mode.value_or(usual))) return failed(path_, "written");
    constexpr auto same_user = static_cast<uid_t>(-1);
    const bool has_group = !old.mode || ::fchownat(fd_.get(), name.c_str(), same_user, old.group,
                                                   AT_SYMLINK_NOFOLLOW) == 0;
    if (!has_group || ::renameat(fd_.get(), name.c_str(), fd_.get(), file_.name.c_str()) != 0) {
        Error error = failed(path_, "replaced");
        (void)::unlinkat(fd_.get(), name.c_str(), 0); // as above
        return error;
    }
    if (::fsync(fd_.get()) != 0) return failed(path_, "written");
    return {};
}

Result<std::string> Place::back_up(const Existing& old) const {
    for (int n = 1; n <= most_backups; ++n) {
        const std::string end = n == 1 ? ".bak" : fmt::format(".bak{}", n);
        if (write_new(file_.name + end, old.text, *old.mode)) return path_ + end;
        if (errno != EEXIST) return failed(path_ + end, "written");
    }
    return refusal(path_, fmt::format("has {} backups beside it", most_backups), "remove some");
}

// Reports the error, and prints the text for the person to add by hand.
int fail_with_snippet(const Error& error, const SettingsFile& file) {
    (void)fail(error);
    print_line(file.comment + " To put into the file by hand:");
    file.print_snippet();
    return finish(status_failure);
}

Result<void> put(const SettingsFile& file, Place& place, const Existing& old,
                 const std::string& text) {
    TRY(place.make());
    const Existing now = TRY(place.read());
    if (now.mode != old.mode || now.text != old.text)
        return refusal(place.path(), "has changed meanwhile; nothing was written", "try again");
    const std::string backup = old.mode ? TRY(place.back_up(old)) : std::string();
    const mode_t usual = file.is_of_project ? mode_in_project : mode_of_new_file;
    TRY(place.replace(text, old, usual));
    print_line(fmt::format("Written: {}", place.path()));
    if (!backup.empty()) print_line(fmt::format("As it was: {}", backup));
    return {};
}

// Shows the change, and asks. Returns the exit status if nothing is to be written.
std::optional<int> ask(const Place& place, const Existing& old, const std::string& text,
                       Consent consent) {
    const std::string old_name = old.mode ? place.path() : "/dev/null";
    const std::string diff = patch::unified_diff(old.text, text, old_name, place.path());
    print_line(std::string_view(diff).substr(0, diff.size() - 1)); // without the newline
    if (const int status = finish(status_ok); status != status_ok) return status;
    const std::optional<bool> is_wanted =
        consent == Consent::given ? true : confirm("Write this? [y/N] ");
    if (!is_wanted)
        return fail(Error{ErrorKind::denied, "there is no terminal to ask on; nothing was written",
                          "--yes writes what is shown above without asking"});
    if (*is_wanted) return std::nullopt;
    print_line("Nothing was written.");
    return finish(status_failure);
}

} // namespace

// A directory that is a link is shown as the one that it leads to.
std::string shown_path(const SettingsFile& file) {
    const std::string directory = os::real_path(file.directory).value_or(file.directory);
    return core::visible(fmt::format("{}/{}", directory, file.name));
}

int write_settings(const SettingsFile& file, Consent consent, std::string& text) {
    Result<Place> place = Place::open(file);
    if (!place) return fail_with_snippet(place.error(), file);
    Result<Existing> old = place->read();
    if (!old) return fail_with_snippet(old.error(), file);
    Result<std::string> changed = file.change(old->text, place->path());
    if (!changed) return fail_with_snippet(changed.error(), file);
    text = *changed;
    if (text == old->text) {
        print_line(fmt::format("Already set up: {}", place->path()));
        return finish(status_ok);
    }
    if (const std::optional<int> status = ask(*place, *old, text, consent)) return *status;
    if (Result<void> done = put(file, *place, *old, text); !done) return fail(done.error());
    return finish(status_ok);
}

} // namespace ew::cli
