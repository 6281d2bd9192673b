// execward patch: applies a patch from a shell, as a whole or not at all.
#include "cli/patch.h"

#include "cli/shared/patch_output.h"
#include "cli/shared/places.h"
#include "cli/shared/printing.h"
#include "config/paths.h"
#include "core/text/display.h"
#include "files/patch/held_journal.h"
#include "files/patch/patching.h"
#include "os/io.h"
#include "patch/parse.h"
#include "sandbox/launch/init_place.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ew::cli {

namespace {

constexpr std::string_view about =
    R"(Usage: execward patch check [OPTION…] [FILE]
       execward patch apply [OPTION…] [FILE]
       execward patch recover

Patches as agents write them (*** Begin Patch), from FILE or stdin. check shows what would change,
and which lines fit only with blanks or kinds of quotes and dashes disregarded. apply changes all
files or, if anything does not fit or cannot be written, none. Nobody is asked.
)";

constexpr auto options = std::to_array<Option>({
    {"directory", "DIR", "paths in the patch are relative to DIR", "the working directory"},
    {.name = "root",
     .argument = "DIR",
     .meaning = "change only what lies below DIR, links resolved",
     .usual = "what paths are relative to",
     .repeats = true},
    {"json", "", "for programs"},
});

constexpr std::string_view notes =
    R"(A patch that was interrupted, by SIGKILL or a power failure, is finished or undone by the next
execward patch, of whatever kind; recover does only that. A file that somebody has changed since
stays as it is, and you are told where its old content is.

Exit status: 0 done; 1 the patch does not fit, or could not be applied or recovered; 2 usage. Unless
it is 0, no file has changed, or what has is told.

Example:
  execward patch apply <<'EOF'
  *** Begin Patch
  *** Update File: src/main.c
  @@ int main(void)
   {
  -    return 1;
  +    return 0;
   }
  *** Add File: docs/NEWS
  +It works.
  *** End Patch
  EOF
)";

constexpr Operands one_file = {.name = "FILE", .most = 1};
constexpr auto actions =
    std::to_array<Action>({{"check", one_file}, {"apply", one_file}, {"recover"}});

Error cannot(std::string_view what, const std::string& path) {
    return {ErrorKind::invalid_params,
            fmt::format("{} {}: {}", what, core::visible(path), std::strerror(errno))};
}

// Reads a text that is too long only until its length exceeds the limit.
Result<std::string> text_from(const std::string& path) {
    const bool is_stdin = path.empty() || path == "-";
    const UniqueFd file(is_stdin ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) return cannot("cannot read", is_stdin ? "stdin" : path);
    std::string text;
    std::array<char, 64 << 10> block;
    while (text.size() <= patch::longest_patch) {
        const ssize_t count = ::read(file.get(), block.data(), block.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return cannot("cannot read", is_stdin ? "stdin" : path);
        if (count == 0) break;
        text.append(block.data(), static_cast<std::size_t>(count));
    }
    return text;
}

Result<std::string> directory_at(std::string_view option, const std::string& path) {
    std::optional<std::string> real = os::real_path(path);
    if (!real) return cannot(option, path);
    const UniqueFd directory(::open(real->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory) return cannot(option, path);
    return std::move(*real);
}

Result<files::PatchOrder> order_of(const Arguments& arguments) {
    const std::vector<std::string>& words = arguments.operands();
    files::PatchOrder order;
    order.base = TRY(directory_at("--directory", arguments.value("directory").value_or(".")));
    for (const std::string& root : arguments.values("root"))
        order.roots.push_back(TRY(directory_at("--root", root)));
    if (order.roots.empty()) order.roots.push_back(order.base);
    order.patch = TRY(text_from(words.empty() ? "" : words.front()));
    return order;
}

// Blocks signals from the terminal between the first file and the last: an interrupted patch would
// have to be recovered.
class Uninterrupted {
public:
    Uninterrupted() {
        sigset_t set;
        ::sigemptyset(&set);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP})
            ::sigaddset(&set, signal);
        (void)::sigprocmask(SIG_BLOCK, &set, &before_); // cannot fail
    }

    ~Uninterrupted() { (void)::sigprocmask(SIG_SETMASK, &before_, nullptr); }

    Uninterrupted(const Uninterrupted&) = delete;
    Uninterrupted& operator=(const Uninterrupted&) = delete;

private:
    sigset_t before_ = {};
};

int fail_with(const files::Failed& failed) {
    std::string hint = failed.hint;
    if (failed.trouble == files::Trouble::outside)
        hint = "--root DIR lets a patch change what lies below DIR";
    if (failed.trouble == files::Trouble::not_undone) hint = "execward patch recover tries again";
    return fail(Error{ErrorKind::io_failed, shown_safely(failed.message), shown_safely(hint)});
}

int show_check(const files::PatchReport& report, bool as_json) {
    if (as_json)
        print_json(report);
    else
        print_check(report);
    return finish(status_ok);
}

int apply(const files::PatchOrder& order, const std::string& state_directory, bool as_json) {
    files::PatchReport report;
    if (files::Failure failure = check_patch(order, report)) return fail_with(*failure);
    const files::Journal journal = journal_of(report, files::new_token());
    if (!journal.steps.empty()) {
        const Uninterrupted uninterrupted;
        Result<files::HeldJournal> held = files::HeldJournal::write(state_directory, journal);
        if (!held) return fail(held.error());
        const files::Failure failure = apply_patch(order, {journal.token, report.digest}, report);
        if (!failure || failure->trouble != files::Trouble::not_undone) held->remove();
        if (failure) return fail_with(*failure);
    }
    if (as_json)
        print_json(report);
    else
        print_summary(report);
    return finish(status_ok);
}

Error has_no_state_directory() {
    return {ErrorKind::config_invalid, "there is no telling where journals of patches are kept",
            "set HOME or XDG_STATE_HOME"};
}

// In a sandbox, which hides the state directory, a directory that no other command shares: a
// journal found there is carried out with the rights of this command.
std::string journal_place() {
    return sandbox::is_in_sandbox() ? "/dev/shm/.execward"
                                    : state_place(config::Paths::from_environment());
}

int patch(const Arguments& arguments) {
    const std::string_view action = arguments.action();
    const std::string state_directory = journal_place();
    if (state_directory.empty() && action != "check") return fail(has_no_state_directory());
    const std::vector<files::LeftOver> left_over = state_directory.empty()
                                                       ? std::vector<files::LeftOver>()
                                                       : files::recover_left_over(state_directory);
    if (action == "recover") return finish(print_recovered(left_over, stdout));
    (void)print_recovered(left_over, stderr); // an unrecovered patch may concern other files

    Result<files::PatchOrder> order = order_of(arguments);
    if (!order) return fail(order.error());
    if (action == "apply") return apply(*order, state_directory, arguments.has("json"));
    files::PatchReport report;
    if (files::Failure failure = check_patch(*order, report)) return fail_with(*failure);
    return show_check(report, arguments.has("json"));
}

} // namespace

constinit const Command patch_command = {
    .name = "patch",
    .summary = "apply a patch as a whole or not at all, or show what it would change",
    .about = about,
    .options = options,
    .notes = notes,
    .actions = actions,
    .run = patch};

} // namespace ew::cli
