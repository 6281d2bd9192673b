// execward patch: a patch from a shell, applied as a whole or not at all.
#include "cli/patch.h"

#include "cli/shared/patch_output.h"
#include "cli/shared/printing.h"
#include "cli/shared/state_place.h"
#include "config/paths.h"
#include "core/text/display.h"
#include "files/patch/held_journal.h"
#include "files/patch/patching.h"
#include "os/io.h"
#include "patch/parse.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <getopt.h>

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

constexpr std::string_view help =
    R"(Usage: execward patch check [OPTION…] [FILE]
       execward patch apply [OPTION…] [FILE]
       execward patch recover

Patches as agents write them (*** Begin Patch), from FILE or stdin. check shows what would change,
and which lines fit only with blanks or kinds of quotes and dashes disregarded. apply changes all
files or, if anything does not fit or cannot be written, none. Nobody is asked.

  --directory=DIR  paths in the patch are relative to DIR, not to the working directory
  --root=DIR       change only what lies below DIR, links resolved; may be given again. Without it:
                   only what lies below the directory that paths are relative to
  --json           for programs
  -h, --help       show this help

A patch that was interrupted, by SIGKILL or a power failure, is finished or undone by the next
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

constexpr std::array<option, 5> long_options = {{
    {"directory", required_argument, nullptr, 'C'},
    {"root", required_argument, nullptr, 'r'},
    {"json", no_argument, nullptr, 'j'},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
}};

struct Options {
    std::string directory = ".";
    std::vector<std::string> roots;
    bool as_json = false;
    bool wants_help = false;
    bool is_usage_error = false;
    std::vector<std::string> words;
};

int print_help() {
    print_line(help.substr(0, help.size() - 1)); // without the newline
    return finish(status_ok);
}

int refuse(std::string_view why) {
    fmt::print(stderr, "execward: {}; see execward patch --help\n", why);
    return status_usage;
}

Options parse(int argc, char** argv) {
    Options options;
    for (int found = 0;
         (found = ::getopt_long(argc, argv, "h", long_options.data(), nullptr)) != -1;) {
        if (found == 'C') options.directory = optarg;
        if (found == 'r') options.roots.emplace_back(optarg);
        if (found == 'j') options.as_json = true;
        if (found == 'h') options.wants_help = true;
        if (found == '?') options.is_usage_error = true; // getopt has said why
    }
    options.words.assign(argv + optind, argv + argc);
    return options;
}

Error cannot(std::string_view what, const std::string& path) {
    return {ErrorKind::invalid_params,
            fmt::format("{} {}: {}", what, core::visible(path), std::strerror(errno))};
}

// A text that is too long is read so far that this shows.
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

Result<files::PatchOrder> order_of(const Options& options) {
    files::PatchOrder order;
    order.base = TRY(directory_at("--directory", options.directory));
    for (const std::string& root : options.roots)
        order.roots.push_back(TRY(directory_at("--root", root)));
    if (order.roots.empty()) order.roots.push_back(order.base);
    order.patch = TRY(text_from(options.words.empty() ? "" : options.words.front()));
    return order;
}

// Between the first file and the last, an end from the terminal would only make work for recovery.
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

} // namespace

int patch(int argc, char** argv) {
    const std::string_view action = argc > 1 ? argv[1] : "";
    if (action == "--help" || action == "-h") return print_help();
    if (action != "check" && action != "apply" && action != "recover")
        return refuse(action.empty() ? "say check, apply or recover"
                                     : fmt::format("there is no action '{}'", action));
    const Options options = parse(argc - 1, argv + 1);
    if (options.is_usage_error) return status_usage;
    if (options.wants_help) return print_help();
    if (options.words.size() > (action == "recover" ? 0U : 1U))
        return refuse(fmt::format("{} takes {}", action,
                                  action == "recover" ? "no file" : "one file, or stdin"));

    const std::string state_directory = state_place(config::Paths::from_environment());
    if (state_directory.empty() && action != "check") return fail(has_no_state_directory());
    const std::vector<files::LeftOver> left_over = state_directory.empty()
                                                       ? std::vector<files::LeftOver>()
                                                       : files::recover_left_over(state_directory);
    if (action == "recover") return finish(print_recovered(left_over, stdout));
    (void)print_recovered(left_over, stderr); // what could not be recovered may have other files

    Result<files::PatchOrder> order = order_of(options);
    if (!order) return fail(order.error());
    if (action == "apply") return apply(*order, state_directory, options.as_json);
    files::PatchReport report;
    if (files::Failure failure = check_patch(*order, report)) return fail_with(*failure);
    return show_check(report, options.as_json);
}

} // namespace ew::cli
