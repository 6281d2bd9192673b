// git: the subcommands and options that only read. A repository's settings can still start programs
// (core.fsmonitor, hooks, diff drivers), so a command that runs because of this list needs the
// environment described in docs/command-safety.md.
#include "core/judgement/safe_git.h"

#include "core/judgement/command_safety.h"
#include "core/judgement/program_options.h"
#include "core/judgement/safe_programs.h"

#include <algorithm>
#include <array>

namespace ew::core {

namespace {

// The permitted operands of a subcommand.
enum class Operands : std::uint8_t {
    any,
    none,
    patterns, // names to create, unless an option makes them patterns to list
};

struct Subcommand {
    std::string_view name;
    std::string_view shorts;
    std::string_view longs;
    std::string_view more_longs = {};
    Operands operands = Operands::any;
    std::string_view lists = {}; // options that turn operands into patterns
};

// Options from the manuals of git 2.39. An optional value that git also takes from the next word
// (--merged) is listed as no value: all words behind it are patterns then. Options are missing if
// they write (--output), start programs (--ext-diff, --textconv, --show-signature, -O of grep,
// --open-files-in-pager) or look into submodules.
constexpr std::string_view diff_longs =
    "patch no-patch unified? raw patch-with-raw patch-with-stat indent-heuristic "
    "no-indent-heuristic minimal patience histogram anchored= diff-algorithm= stat? "
    "compact-summary numstat shortstat dirstat? cumulative summary name-only name-status color? "
    "no-color color-moved? no-color-moved color-moved-ws= word-diff? word-diff-regex= color-words? "
    "no-renames rename-empty no-rename-empty check ws-error-highlight= full-index binary abbrev? "
    "find-renames? find-copies? find-copies-harder break-rewrites? irreversible-delete "
    "diff-filter= pickaxe-all pickaxe-regex relative? no-relative text ignore-cr-at-eol "
    "ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines "
    "ignore-matching-lines= inter-hunk-context= function-context exit-code quiet no-ext-diff "
    "no-textconv src-prefix= dst-prefix= line-prefix= no-prefix cached staged merge-base no-index "
    "base ours theirs ignore-submodules? full-diff cc combined-all-paths find-object=";
constexpr std::string_view log_longs =
    "oneline graph no-graph decorate? no-decorate decorate-refs= decorate-refs-exclude= source all "
    "branches? tags? remotes? since= until= after= before= author= committer= grep= grep-reflog= "
    "max-count= skip= reverse follow merges no-merges min-parents= max-parents= first-parent "
    "no-walk? date= format? pretty? abbrev-commit no-abbrev-commit full-history dense sparse "
    "simplify-merges simplify-by-decoration left-right left-only right-only cherry-pick "
    "cherry-mark cherry not walk-reflogs boundary topo-order date-order author-date-order "
    "all-match "
    "invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp basic-regexp "
    "ancestry-path parents children relative-date no-notes expand-tabs? no-expand-tabs encoding= "
    "log-size use-mailmap no-mailmap mailmap count timestamp no-diff-merges "
    "clear-decorations";
constexpr std::string_view diff_shorts = "pusU:zwbaRWM::C::B::Dl:S:G:I:";
constexpr std::string_view log_shorts = "pusU:zwbaRWM::C::B::Dl:S:G:I:n:L:giEFPcmtrq";

constexpr std::array subcommands = {
    Subcommand{"blame", "lteswfnpbL:M::C::",
               "porcelain line-porcelain show-name show-number show-email root date= ignore-rev= "
               "abbrev= color-lines color-by-age incremental"},
    Subcommand{
        "branch",
        "arvilq",
        "all remotes verbose list show-current ignore-case sort= column? no-column color? "
        "no-color abbrev? no-abbrev format= merged no-merged contains no-contains points-at= "
        "quiet",
        {},
        Operands::patterns,
        "list merged no-merged contains no-contains points-at"},
    Subcommand{"cat-file", "ptse", ""},
    Subcommand{"count-objects", "vH", "verbose human-readable", {}, Operands::none},
    Subcommand{"describe", "",
               "all tags contains abbrev? always long exact-match match= exclude= candidates= "
               "first-parent"},
    Subcommand{"diff", diff_shorts, diff_longs},
    Subcommand{"for-each-ref", "",
               "count= sort= format= ignore-case merged no-merged contains no-contains points-at="},
    Subcommand{"grep", "iwvEFGPnlLcohHrpWqazIA:B:C:e:m:",
               "cached untracked no-index ignore-case word-regexp invert-match extended-regexp "
               "basic-regexp fixed-strings perl-regexp line-number column name-only "
               "files-with-matches files-without-match count color? no-color break heading "
               "show-function function-context after-context= before-context= context= text "
               "only-matching max-depth= max-count= threads= and or not all-match full-name quiet "
               "null"},
    Subcommand{"log", log_shorts, diff_longs, log_longs},
    Subcommand{"ls-files", "cdmoisktuvzx:X:",
               "cached deleted modified others ignored stage directory no-empty-directory killed "
               "unmerged exclude= exclude-from= exclude-per-directory= exclude-standard "
               "error-unmatch with-tree= full-name abbrev? debug eol deduplicate"},
    Subcommand{"ls-tree", "drtlz",
               "long name-only name-status object-only abbrev? full-name full-tree"},
    Subcommand{"merge-base", "a", "all octopus independent is-ancestor fork-point"},
    Subcommand{"reflog", log_shorts, diff_longs, log_longs, Operands::none},
    Subcommand{"reflog show", log_shorts, diff_longs, log_longs},
    Subcommand{"remote", "v", "verbose", {}, Operands::none},
    Subcommand{"rev-list", log_shorts, log_longs, "objects disk-usage? no-commit-header"},
    Subcommand{"rev-parse", "q",
               "verify quiet short? abbrev-ref? symbolic symbolic-full-name all branches? tags? "
               "remotes? show-toplevel show-prefix show-cdup git-dir absolute-git-dir "
               "git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository "
               "is-shallow-repository show-object-format? show-superproject-working-tree"},
    Subcommand{"shortlog", "nsec",
               "numbered summary email committer group= all no-merges since= "
               "until= after= before= author="},
    Subcommand{"show", log_shorts, diff_longs, log_longs},
    Subcommand{"show-ref", "dqs::", "head dereference hash? abbrev? tags heads verify quiet"},
    Subcommand{"stash show", diff_shorts, diff_longs},
    Subcommand{"status", "sbvu::z",
               "short branch show-stash porcelain? long verbose untracked-files? ignored? null "
               "ignore-submodules? column? no-column ahead-behind no-ahead-behind renames "
               "no-renames find-renames?"},
    Subcommand{"tag",
               "ln::i",
               "list sort= column? no-column color? format= ignore-case merged no-merged contains "
               "no-contains points-at=",
               {},
               Operands::patterns,
               "l list"},
    Subcommand{"version", "", "build-options", {}, Operands::none},
};

// Options before the subcommand.
constexpr std::string_view harmless_global =
    "--no-pager -P --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs "
    "--icase-pathspecs --no-replace-objects";
constexpr std::string_view other_global = "-p --paginate --bare --no-lazy-fetch --no-advice";
constexpr std::string_view other_global_with_value =
    "-c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source";

// %G… in a pretty format and the field "signature" in a list start the program that checks
// signatures. A user-defined format name may stand for either in the settings.
bool is_safe_format(std::string_view name, std::string_view value) {
    if (value.find("signature") != std::string_view::npos) return false;
    for (std::size_t at = value.find('%'); at != std::string_view::npos;
         at = value.find('%', at + 1)) {
        const std::size_t letter = value.find_first_not_of("+- ", at + 1);
        if (letter != std::string_view::npos && value[letter] == 'G') return false;
    }
    if (name != "pretty") return true;
    constexpr std::string_view own = "oneline short medium full fuller reference email raw mboxrd";
    return value.empty() || value.find('%') != std::string_view::npos || is_listed(own, value) ||
           value.starts_with("format:") || value.starts_with("tformat:");
}

bool has_safe_values(const ReadWords& read) {
    return std::all_of(read.options.begin(), read.options.end(), [](const auto& option) {
        const bool is_format = is_listed("pretty format sort group", option.name);
        // --format of log is the same as --pretty. In other subcommands its value contains a %, or
        // is harmless text.
        return !is_format ||
               is_safe_format(option.name == "format" ? "pretty" : option.name, option.value);
    });
}

bool has_safe_operands(const Subcommand& subcommand, const ReadWords& read) {
    if (subcommand.operands == Operands::any || read.operands.empty()) return true;
    if (subcommand.operands == Operands::none) return false;
    return std::any_of(read.options.begin(), read.options.end(), [&](const auto& option) {
        return is_listed(subcommand.lists, option.name);
    });
}

bool is_safe_subcommand(const Subcommand& subcommand, const ShellCommand& command,
                        std::size_t first) {
    std::string longs(subcommand.longs);
    longs.append(" ").append(subcommand.more_longs);
    const auto read = read_words(
        command, first, {.shorts = subcommand.shorts, .longs = longs, .takes_number = true});
    return read && has_safe_values(*read) && has_safe_operands(subcommand, *read);
}

// Returns the index of the first word that is not a harmless option before the subcommand.
std::size_t skip_harmless(const ShellCommand& command) {
    std::size_t at = 1;
    while (at < command.words.size()) {
        const std::string_view word = command.words[at];
        if (command.has_glob[at]) break;
        if (word == "-C" && at + 1 < command.words.size() && !command.has_glob[at + 1])
            at += 2;
        else if (is_listed(harmless_global, word))
            ++at;
        else
            break;
    }
    return at;
}

} // namespace

bool is_safe_git(const ShellCommand& command) {
    const auto& words = command.words;
    const std::size_t at = skip_harmless(command);
    if (at >= words.size() || command.has_glob[at]) return false;
    if (words[at] == "--version") return words.size() == at + 1;
    if (words[at] == "stash" && words.size() == at + 2 && words[at + 1] == "list") return true;
    // A name of two words comes first: git reflog show.
    const bool has_second = at + 1 < words.size() && !command.has_glob[at + 1];
    const std::string both = has_second ? words[at] + " " + words[at + 1] : std::string();
    for (const Subcommand& subcommand : subcommands)
        if (has_second && subcommand.name == both)
            return is_safe_subcommand(subcommand, command, at + 2);
    for (const Subcommand& subcommand : subcommands)
        if (subcommand.name == words[at]) return is_safe_subcommand(subcommand, command, at + 1);
    return false;
}

std::vector<std::string> git_without_options(const std::vector<std::string>& argv) {
    if (argv.empty() || base_name(argv.front()) != "git") return {};
    std::size_t at = 1;
    while (at < argv.size() && argv[at].starts_with('-')) {
        const std::string_view word = argv[at];
        const std::string_view name = word.substr(0, word.find('='));
        const bool has_value = word == "-C" || is_listed(other_global_with_value, word);
        const bool has_attached_value =
            name.size() < word.size() &&
            (name == "--exec-path" || is_listed(other_global_with_value, name));
        if (!has_value && !has_attached_value && !is_listed(harmless_global, word) &&
            !is_listed(other_global, word))
            return {};
        at += has_value ? 2 : 1;
    }
    if (at >= argv.size()) return {};
    std::vector<std::string> words = {argv.front()};
    words.insert(words.end(), argv.begin() + static_cast<std::ptrdiff_t>(at), argv.end());
    return words;
}

} // namespace ew::core
