// Prefixes that are never proposed as rules, because the words behind them could do anything.
#include "core/judgement/banned_prefix.h"

#include "core/judgement/command_safety.h"
#include "core/judgement/judgement.h"
#include "core/judgement/program_options.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ew::core {

namespace {

// Says whether a word behind an unlisted option may be the option's value.
enum class Unlisted : std::uint8_t { takes_nothing, may_take_value };

// Programs that can do anything, and where their own words end. An acceptable prefix must be
// longer: it must include the script of an interpreter, the program that a runner starts, or the
// subcommand and what that starts.
struct Program {
    std::string_view names; // without a version at the end
    std::string_view with_value = {};
    std::string_view starters = {}; // subcommands that start another program
    std::size_t operands = 0;       // before the started program: a host, a container
    Unlisted unlisted = Unlisted::takes_nothing;
};

constexpr std::array programs = {
    Program{"python pythonw pypy py pyw", "-W -X --check-hash-based-pycs"},
    Program{"perl", "-I"},
    Program{"ruby irb", "-I -r -C -E -K"},
    Program{"node nodejs", "-r --require --import --loader -C --conditions", "eval"},
    Program{"deno", "--import-map -c --config", "eval run repl"},
    Program{"bun", "--cwd -r --preload", "run x exec repl"},
    Program{"php", "-c -d -z"},
    Program{"lua luajit", "-l"},
    Program{"java", "-cp -classpath --class-path -p --module-path --add-modules"},
    Program{
        "tclsh wish expect Rscript R julia ghci runghc guile racket sbcl groovy scala elixir iex "
        "erl swift clojure osascript powershell pwsh pry tee rm sed cargo pip ant"},
    Program{"awk gawk mawk nawk", "-F -v -f"},
    Program{"make gmake bmake", "-C -f -I -j -o -W -l --directory --file"},
    Program{"npm pnpm yarn", "--prefix -w --workspace -C --dir --cwd",
            "run run-script x exec dlx start test-script"},
    Program{"npx", "-p --package -w --workspace"},
    Program{"uvx", "--from --with -p --python"},
    Program{"uv", "--directory --project", "run tool"},
    Program{"pipx", "", "run"},
    Program{"bundle poetry pipenv conda", "-n --name", "exec run"},
    Program{"go", "-C", "run tool generate"},
    Program{"git", "-C -c --git-dir --work-tree --namespace --super-prefix --config-env "
                   "--attr-source --exec-path"},
    Program{"ssh", "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", "", 1},
    Program{"docker podman nerdctl", "", "exec run", 1, Unlisted::may_take_value},
    Program{"kubectl oc", "", "exec run debug", 1, Unlisted::may_take_value},
    Program{"helm terraform gcloud aws az", "", "", 0, Unlisted::may_take_value},
};

// The commands, scripts and files of these programs can be any of their words.
constexpr std::string_view editors = "vi vim nvim view vimdiff ex emacs gdb lldb ed";

// Behind these git prefixes one more word can destroy data.
constexpr std::array half_written = {"git reset", "git clean"};

// A prefix that ends with an option without its value would allow any value. These options take no
// value.
constexpr std::string_view closed_options =
    "--amend --force --force-with-lease -A --all --rebase --no-edit --tags --continue --abort "
    "--prune --dry-run --cached --staged --oneline --stat --help --version -a -it -d --rm";

// Turns "python3.11" into "python".
std::string_view without_version(std::string_view name) {
    if (name.ends_with(".exe")) name.remove_suffix(4);
    while (!name.empty() && std::string_view("0123456789.-").find(name.back()) < 12)
        name.remove_suffix(1);
    return name;
}

bool is_option(std::string_view word) {
    return word.starts_with('-') || word.starts_with('+');
}

// Returns the index of the first word from `at` on that is neither an option nor an option's value.
std::size_t skip_options(const Program& program, const Words& words, std::size_t at) {
    while (at < words.size() && is_option(words[at])) {
        const std::string& word = words[at++];
        const bool is_open =
            is_listed(program.with_value, word) ||
            (program.unlisted == Unlisted::may_take_value && word.find('=') == std::string::npos);
        if (is_open && at < words.size() && !is_option(words[at])) ++at;
    }
    return at;
}

bool is_too_short(const Program& program, const Words& words) {
    std::size_t at = skip_options(program, words, 1);
    if (at >= words.size()) return true;
    const bool starts = is_listed(program.starters, words[at]);
    if (starts) at = skip_options(program, words, at + 1);
    if (program.starters.empty() || starts)
        for (std::size_t i = 0; i < program.operands && at < words.size(); ++i)
            at = skip_options(program, words, at + 1);
    return at >= words.size();
}

bool has_open_end(const Words& words) {
    constexpr std::string_view with_subcommands =
        "git ssh docker podman nerdctl kubectl oc helm terraform gcloud aws az npm pnpm yarn";
    if (std::find(words.begin(), words.end(), "--") != words.end()) return words.back() == "--";
    return is_listed(with_subcommands, without_version(words.front())) && is_option(words.back()) &&
           !is_listed(closed_options, words.back()) && words.back().find('=') == std::string::npos;
}

// find only changes files if one of its words says so, and that word can be the next one.
bool is_open_find(const Words& words) {
    if (!is_listed("find fd fdfind", words.front())) return false;
    const std::vector<Words> started = with_started_commands(words);
    if (started.size() > 1) return is_banned_prefix(started[1]);
    return !std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word == "-delete" || word == "-fls" || word.starts_with("-fprint");
    });
}

bool is_short_shell(const Words& words) {
    return is_shell(words.front()) && std::all_of(words.begin() + 1, words.end(), is_option);
}

std::string joined(const Words& words) {
    std::string text;
    for (const std::string& word : words)
        text.append(text.empty() ? "" : " ").append(word);
    return text;
}

} // namespace

bool is_banned_prefix(const Words& prefix) {
    if (prefix.empty()) return true;
    Words words = prefix;
    words.front() = base_name(prefix.front());
    if (is_short_shell(words) || has_open_end(words) || is_open_find(words)) return true;
    const std::string_view name = without_version(words.front());
    if (is_listed(editors, name)) return true;
    if (std::find(half_written.begin(), half_written.end(), joined(words)) != half_written.end())
        return true;
    for (const Program& program : programs)
        if (is_listed(program.names, name) && is_too_short(program, words)) return true;
    if (!is_launcher(words.front())) return false;
    const std::vector<Words> started = with_started_commands(words);
    return started.size() < 2 || is_banned_prefix(started[1]);
}

} // namespace ew::core
