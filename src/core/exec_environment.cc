#include "core/exec_environment.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace ew::core {

namespace {

constexpr const char* session_variable = "EXECWARD_SESSION_ID";
constexpr const char* exec_variable = "EXECWARD_EXEC";

Variables fixed_variables() {
    return {{"NO_COLOR", "1"},       {"TERM", "dumb"},      {"LANG", "C.UTF-8"},
            {"LC_CTYPE", "C.UTF-8"}, {"LC_ALL", "C.UTF-8"}, {"COLORTERM", ""},
            {"PAGER", "cat"},        {"GIT_PAGER", "cat"},  {"GH_PAGER", "cat"},
            {exec_variable, "1"}};
}

// Names are in upper case and are compared in upper case. A * matches anything; it may only stand
// at the beginning or the end.
constexpr auto risky_families = std::to_array<std::string_view>({
    // The loader and the C library (ld.so(8), environ(7)): code, character sets, messages, hosts.
    "LD_* DYLD_* GCONV* GETCONF* GLIBC_* HOSTALIASES LOCALDOMAIN LOCPATH MALLOC_* NLS* RES_*",
    "TEXTDOMAIN* TZ",
    // How text is split into characters: in GBK and similar encodings a backslash can be half of a
    // character.
    "LANG LANGUAGE LC_* *CHARSET *ENCODING",
    // Shells: start-up files, options, expansion of words and prompts, files that they write.
    "ARGV0 BASH* CDPATH COMP_* EMACS ENV EXECIGNORE FCEDIT FIGNORE FPATH FUNCNEST GLOB* HIST* IFS",
    "INPUTRC INSIDE_EMACS KSH* MAIL* MODULE_PATH NULLCMD OLDPWD POSIXLY_CORRECT PROMPT* PS0 PS1",
    "PS2 PS3 PS4 PWD READNULLCMD RPROMPT* RPS1 SHELLOPTS SPROMPT STTY TIMEFMT TIMEFORMAT TMOUT",
    "WATCH* ZDOTDIR ZSH*",
    // Variables that some shells evaluate as arithmetic, which runs the commands in the value.
    "BAUD COLUMNS ERRNO KEYTIMEOUT LINENO LINES LISTMAX LOGCHECK OPTIND PERIOD RANDOM SAVEHIST",
    "SECONDS SHLVL SRANDOM",
    // Terminals, displays, buses.
    "DBUS_* DISPLAY ICEAUTHORITY NOTIFY_SOCKET TERM TERMCAP TERMINFO* WAYLAND_* XAUTHORITY",
    "XENVIRONMENT XMODIFIERS",
    // Places where programs, settings, code and temporary files are looked up or written.
    "*DIR *DIRS *DIRECTORY *FILE *FILES *FOLDER *HOME *INPUTS *LIB *LIBS *LIBRARIES *LIBRARY",
    "*PATH *PATHS *PREFIX *ROOT *SOCK *SOCKET *TEMP *TMP *_CACHE *_LOG *_OUTPUT INCLUDE TAPE XDG_*",
    // Programs that other programs start.
    "*ASKPASS* *BROWSER *COMMAND* *CMD *EDITOR *EXECUTABLE* *INTERPRETER* *LAUNCHER* *PAGER",
    "*PREFIX_* *PROGRAM* *RUNNER* *SCRIPT* *SHELL *SHELL_* *VIEWER *WRAPPER* LESS* MORE MOST_*",
    "VISUAL *_BIN *_BINARY *_DIFF *_TOOL",
    // Options and settings, and code to load.
    "*ADDOPTS *ARG *ARGS *ARGUMENTS *CONF *CONFIG* *DEFAULTS *FLAG *FLAGS *INI *INIT *OPT *OPTION",
    "*OPTIONS *OPTS *PROFILE* *RC *SETTINGS* *STARTUP* *AUTOLOAD* *BACKEND* *BOOTSTRAP* *DRIVER*",
    "*ENGINE* *EXTENSION* *HANDLER* *HOOK* *INJECT* *LOADER* *MODULE* *PLUGIN* *PRELOAD*",
    "*PROVIDER*",
    // Servers that a program connects to, and certificates that it trusts.
    "*CERT* *CA_BUNDLE *ENDPOINT* *KEYLOG* *MIRROR* *PROXY *REGISTRY* *_HOST *_SERVER *_URI *_URL",
    "CURL_* KRB5* LDAP* OPENSSL* SSL_* TLS_*",
    // Tools that read options, settings or code from their own variables.
    "ANSIBLE_* AWK* AWS_* AZURE_* BAT_* BZIP* CLOUDSDK_* COMPOSE_* CVS* DELTA_* DOCKER_* EXINIT",
    "FZF_* GAWK_* GCOV_* GDB* GDK_* GH_* GIO_* GIT_* GNUPG* GOOGLE_* GREP_* GROFF_* GS_* GTK_*",
    "GZIP HELM_* HG* JQ_* KUBE* LLDB_* LLVM_* MAGIC* MANLESS MANROFF* MAN_* MYSQL* NVIM* PACKER_*",
    "PERF_* PG* PODMAN_* PSQL* PULUMI_* RIPGREP_* RSYNC_* SQLITE_* SSH_* STRACE_* SUDO_* SVN_*",
    "SYSTEMD_* TAR_* TERRAFORM_* TERRAGRUNT_* TEXMF* TF_* UNZIP* VAGRANT_* VALGRIND_* VIM* WGETRC",
    "XZ_* ZIP* ZSTD_* _POSIX2_VERSION",
    // Libraries for graphics, sound and parallel computing that load other libraries.
    "ALSA_* CUDA_* EGL_* FONTCONFIG_* GST_* HIP_* LADSPA_* LIBGL_* LIBVA_* LV2* MESA_* MPI* OCL_*",
    "OMPI_* OMP_* OPENCL_* PMIX_* PULSE_* QML* QT_* ROCM_* SDL_* UCX_* VDPAU_* VK_* __EGL* __GL*",
    // Build tools and compilers. make uses every variable as a make variable (GNU make manual,
    // "Variables Used by Implicit Rules").
    "*CC *CPP *CXX *_AR *_LD *COMPILER* *LINKER* AR AS AUTO* ACLOCAL* BAZEL* BISON_* CARGO*",
    "CCACHE_* CMAKE_* CO CONFIG_SITE CTANGLE CTEST_* CWEAVE DISTCC_* F77 FC GCC_* GET GO* ICECC_*",
    "INSTALL* LD LEX LIBTOOL* LINT M2C M4* MAKE* MESON_* NINJA_* NM OBJC* OBJDUMP PC PKG_CONFIG*",
    "RANLIB RM RUST* SCCACHE_* STRIP TANGLE WEAVE YACC",
    // Languages: code that is loaded before the program or instead of it.
    "ANT_* BABEL_* BUN_* BUNDLE* CABAL_* CAML* CATALINA_* CLJ_* COMPLUS_* COMPOSER_* CONDA_*",
    "CORECLR_* COREPACK_* COVERAGE_* DART_* DENO_* DJANGO_* DOTNET_* ELECTRON_* ELIXIR_* ERL_*",
    "ESLINT_* FLASK_* FLUTTER_* GEM_* GHC* GRADLE_* GROOVY_* GUILE_* HADOOP_* IPYTHON* JAVA*",
    "JDK_* JEST_* JRE_* JULIA_* JUPYTER* KOTLIN_* LEIN_* LOG4J_* LUA* M2_* MAVEN_* MIX_* MONO_*",
    "MPL* MVN_* MYPY* NIM* NODE_* NOSE_* NOX_* NPM_* NUMBA_* OCAML* OPAM* PDM_* PERL* PHP* PIP_*",
    "PLAYWRIGHT_* PNPM_* POETRY_* PYLINT* PYTEST_* PYTHON* R_* RACK_* RAILS_* RAKE* REBAR_* RUBY*",
    "SBT_* SCALA_* SPARK_* STACK_* SWIFT_* TCL* TORCH_* TOX_* TS_NODE_* UV_* VIRTUALENV_*",
    "VIRTUAL_ENV VITE* YARN_* ZIG*",
    // Package managers and operating systems.
    "APT_* BREW_* DEBIAN_* DEBUGINFOD_* DEB_* DNF_* DPKG_* GUIX_* HOMEBREW_* NIX* PACMAN* RPM*",
});

bool matches_family(std::string_view pattern, std::string_view name) {
    const bool is_any_start = pattern.starts_with('*');
    const bool is_any_end = pattern.ends_with('*');
    if (is_any_start) pattern.remove_prefix(1);
    if (is_any_end) pattern.remove_suffix(1);
    if (is_any_start && is_any_end) return name.find(pattern) != std::string_view::npos;
    if (is_any_start) return name.ends_with(pattern);
    return is_any_end ? name.starts_with(pattern) : name == pattern;
}

bool matches_one(std::string_view patterns, std::string_view name) {
    while (!patterns.empty()) {
        const std::size_t end = std::min(patterns.find(' '), patterns.size());
        if (matches_family(patterns.substr(0, end), name)) return true;
        patterns.remove_prefix(std::min(end + 1, patterns.size()));
    }
    return false;
}

template <std::size_t size>
bool is_listed(const std::array<std::string_view, size>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string upper(std::string_view name) {
    std::string result(name);
    for (char& c : result)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return result;
}

bool is_letter_or_digit(char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
}

// Returns true for a name that no program reads directly. Shells export functions as
// BASH_FUNC_name%% or, in older versions, as name().
bool is_odd(std::string_view name) {
    return name.empty() || !std::all_of(name.begin(), name.end(),
                                        [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

// Returns true if the value contains no option and no path, and nothing that a shell would evaluate
// or split.
bool is_plain(std::string_view value, std::string_view also) {
    constexpr std::size_t max_size = 64; // nobody reviews the value, so it must be short
    return value.size() <= max_size && !value.starts_with('-') &&
           std::all_of(value.begin(), value.end(), [&](char c) {
               return is_letter_or_digit(c) || also.find(c) != std::string_view::npos;
           });
}

bool is_number(std::string_view value) {
    constexpr std::size_t max_digits = 6;
    return value.size() <= max_digits &&
           std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Variables harmless_settings() {
    // GIT_CONFIG_COUNT settings override those of all files, including the repository's
    // (git-config(1)).
    constexpr std::array<std::pair<const char*, const char*>, 12> git_settings = {{
        {"safe.bareRepository", "explicit"}, // ignore look-alikes of a repository
        {"core.fsmonitor", "false"},
        {"core.hooksPath", "/dev/null"},
        {"core.alternateRefsCommand", "true"}, // runs for --alternate-refs
        // Each of these settings can request signatures, and thereby run the programs below.
        {"log.showSignature", "false"},
        {"format.pretty", "medium"},
        {"tag.sort", "refname"},
        {"branch.sort", "refname"},
        // An absolute path, because the caller may control PATH.
        {"gpg.program", "/bin/false"},
        {"gpg.openpgp.program", "/bin/false"},
        {"gpg.x509.program", "/bin/false"},
        {"gpg.ssh.program", "/bin/false"},
    }};
    Variables variables = {
        {"LANG", "C.UTF-8"},
        {"LC_ALL", "C.UTF-8"},
        {"PAGER", "cat"},
        {"GIT_PAGER", "cat"},
        {"GH_PAGER", "cat"},
        {"GIT_OPTIONAL_LOCKS", "0"},
        {"GIT_TERMINAL_PROMPT", "0"},
        {"GIT_NO_LAZY_FETCH", "1"}, // no fetch of objects that a partial clone lacks; for versions
                                    // of git without this variable:
        {"GIT_ALLOW_PROTOCOL", ""}, // no transport is allowed
        {"GIT_CONFIG_COUNT", std::to_string(git_settings.size())},
    };
    for (std::size_t i = 0; i < git_settings.size(); ++i) {
        const std::string number = std::to_string(i);
        variables.emplace_back("GIT_CONFIG_KEY_" + number, git_settings[i].first);
        variables.emplace_back("GIT_CONFIG_VALUE_" + number, git_settings[i].second);
    }
    return variables;
}

} // namespace

ExecEnvironment exec_environment(const EnvironmentPolicy& policy, const Variables& inherited,
                                 std::string_view session_id, const Variables& call_overlay) {
    Variables over = fixed_variables();
    over.insert(over.end(), call_overlay.begin(), call_overlay.end());
    over.emplace_back(exec_variable, "1");
    over.emplace_back(session_variable, session_id);
    ExecEnvironment result;
    result.variables = overlaid(apply(policy, inherited), over);

    std::unordered_set<std::string_view> passed;
    for (const auto& variable : result.variables)
        passed.insert(variable.first);
    for (const auto& variable : inherited)
        if (!passed.contains(variable.first)) result.dropped.push_back(variable.first);
    std::sort(result.dropped.begin(), result.dropped.end());
    result.dropped.erase(std::unique(result.dropped.begin(), result.dropped.end()),
                         result.dropped.end());
    return result;
}

bool is_inert_variable(std::string_view name, std::string_view value) {
    constexpr auto switches = std::to_array<std::string_view>(
        {"CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "FORCE_COLOR", "NO_COLOR", "TERM"});
    constexpr auto numbers = std::to_array<std::string_view>({"COLUMNS", "LINES"});
    constexpr auto locales =
        std::to_array<std::string_view>({"LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES",
                                         "LC_MONETARY", "LC_NUMERIC", "LC_TIME"});
    // These locales use ASCII or UTF-8 and need no file.
    constexpr auto plain_locales =
        std::to_array<std::string_view>({"C", "C.UTF-8", "C.utf8", "POSIX"});
    if (is_listed(switches, name)) return is_plain(value, "+-._");
    if (is_listed(numbers, name)) return is_number(value);
    if (is_listed(locales, name)) return is_listed(plain_locales, value);
    // The name of a time zone is a file below the C library's own directory (tzset(3)), so it may
    // have no dots.
    if (name == "TZ") return is_plain(value, "+-_/") && !value.starts_with('/');
    const Variables fixed = fixed_variables();
    return std::any_of(fixed.begin(), fixed.end(), [&](const auto& variable) {
        return variable.first == name && variable.second == value;
    });
}

bool is_risky_variable(std::string_view name) {
    const std::string known = upper(name);
    return is_odd(name) ||
           std::any_of(risky_families.begin(), risky_families.end(),
                       [&](std::string_view patterns) { return matches_one(patterns, known); });
}

Variables hardened(Variables variables) {
    std::erase_if(variables, [](const auto& variable) {
        const std::string& name = variable.first;
        return name != "PATH" && name != "HOME" && is_risky_variable(name) &&
               !is_inert_variable(name, variable.second);
    });
    return overlaid(std::move(variables), harmless_settings());
}

} // namespace ew::core
