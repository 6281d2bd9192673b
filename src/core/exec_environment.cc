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

// Names are in upper case here, and compared so. A family ends in *.
constexpr auto risky_names = std::to_array<std::string_view>({
    // The loader and the C library (ld.so(8), environ(7)): code, character sets, messages, hosts.
    "LD_*",
    "DYLD_*",
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "MALLOC_*",
    "NLSPATH",
    "RES_OPTIONS",
    "TEXTDOMAINDIR",
    // Shells: files they run at start, options, what words and prompts turn into, files they write.
    "BASH*",
    "CDPATH",
    "ENV",
    "EXECIGNORE",
    "FCEDIT",
    "FIGNORE",
    "FPATH",
    "GLOBIGNORE",
    "HISTFILE",
    "IFS",
    "INPUTRC",
    "MAIL",
    "MAILPATH",
    "MODULE_PATH",
    "NULLCMD",
    "PROMPT*",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "READNULLCMD",
    "SHELL",
    "SHELLOPTS",
    "TMOUT",
    "ZDOTDIR",
    "ZSH*",
    // Where programs, settings and temporary files are looked for.
    "HOME",
    "PATH",
    "TEMP",
    "TERMCAP",
    "TERMINFO*",
    "TMP",
    "TMPDIR",
    "TMPPREFIX",
    "XDG_*",
    // Programs that others start: pagers, editors, browsers, askers for passwords.
    "*_ASKPASS",
    "*BROWSER",
    "*EDITOR",
    "*PAGER",
    "LESS*",
    "MORE",
    "MOST_*",
    "VISUAL",
    // Tools that take options, settings or code from their own variables.
    "*SAN_OPTIONS",
    "AWKLIBPATH",
    "AWKPATH",
    "AWS_*",
    "BAT_*",
    "BZIP*",
    "CURL_HOME",
    "DBUS_*",
    "DELTA_*",
    "DOCKER_*",
    "FZF_*",
    "GAWK_*",
    "GCOV_*",
    "GDK_*",
    "GH_*",
    "GIO_*",
    "GIT_*",
    "GNUPGHOME",
    "GREP_OPTIONS",
    "GROFF_*",
    "GTK_*",
    "GZIP",
    "JQ_*",
    "KUBECONFIG",
    "LLVM_PROFILE_FILE",
    "MAGIC",
    "MANOPT",
    "MANPATH",
    "MANROFFOPT",
    "OPENSSL_*",
    "POSIXLY_CORRECT",
    "QT_*",
    "RIPGREP_CONFIG_PATH",
    "RSYNC_*",
    "SSH_*",
    "SSLKEYLOGFILE",
    "TAPE",
    "TAR_OPTIONS",
    "UNZIP*",
    "WGETRC",
    "XZ_*",
    "ZIP*",
    "ZSTD_*",
    "_POSIX2_VERSION",
    // Build tools and compilers.
    "AR",
    "CARGO*",
    "CC",
    "CFLAGS",
    "CMAKE_*",
    "COMPILER_PATH",
    "CONFIG_SITE",
    "CPATH",
    "CPP",
    "CXX",
    "CXXFLAGS",
    "GCC_*",
    "GNUMAKEFLAGS",
    "GO*",
    "LDFLAGS",
    "LIBRARY_PATH",
    "MAKE*",
    "MFLAGS",
    "NINJA_*",
    "PKG_CONFIG*",
    "RUST*",
    // Languages: code that is loaded before the program, or instead of it.
    "BUN_*",
    "BUNDLE_*",
    "CLASSPATH",
    "CONDA_*",
    "CORECLR_*",
    "COMPLUS_*",
    "DENO_*",
    "DOTNET_*",
    "ELIXIR_*",
    "ERL_*",
    "GEM_*",
    "GRADLE_*",
    "GUILE_*",
    "JAVA*",
    "JDK_*",
    "JULIA_*",
    "LUA*",
    "MAVEN_*",
    "MONO_*",
    "NODE_*",
    "NPM_*",
    "OCAML*",
    "PERL*",
    "PHP*",
    "PIP_*",
    "PYTHON*",
    "RUBY*",
    "R_*",
    "TCL*",
    "UV_*",
    "_JAVA_OPTIONS",
});

bool matches_family(std::string_view pattern, std::string_view name) {
    if (pattern.front() == '*') return name.ends_with(pattern.substr(1));
    if (pattern.front() != name.front()) return false; // nearly all, at once
    if (pattern.back() == '*') return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return pattern == name;
}

std::string upper(std::string_view name) {
    std::string result(name);
    for (char& c : result)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return result;
}

// A name that no program asks for by itself: shells pass functions on as BASH_FUNC_name%% or, older
// ones, name().
bool is_odd(std::string_view name) {
    return name.empty() || !std::all_of(name.begin(), name.end(), [](char c) {
               const char lower = static_cast<char>(c | 0x20);
               return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_';
           });
}

Variables harmless_settings() {
    // Given by GIT_CONFIG_COUNT they win over those of files, of a repository's too
    // (git-config(1)).
    constexpr std::array<std::pair<const char*, const char*>, 5> git_settings = {{
        {"safe.bareRepository", "explicit"}, // a directory that looks like one is not one
        {"core.fsmonitor", "false"},
        {"core.hooksPath", "/dev/null"},
        {"log.showSignature", "false"}, // would run gpg.program
        {"gpg.program", "false"},
    }};
    Variables variables = {
        {"PAGER", "cat"},
        {"GIT_PAGER", "cat"},
        {"GH_PAGER", "cat"},
        {"GIT_OPTIONAL_LOCKS", "0"},
        {"GIT_TERMINAL_PROMPT", "0"},
        {"GIT_NO_LAZY_FETCH",
         "1"}, // of what a partial clone lacks, and if git is too old for this:
        {"GIT_ALLOW_PROTOCOL", ""}, // by no transport
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

bool is_risky_variable(std::string_view name) {
    const std::string known = upper(name);
    return is_odd(name) ||
           std::any_of(risky_names.begin(), risky_names.end(),
                       [&](std::string_view pattern) { return matches_family(pattern, known); });
}

Variables hardened(Variables variables) {
    std::erase_if(variables, [](const auto& variable) {
        const std::string& name = variable.first;
        return name != "PATH" && name != "HOME" && is_risky_variable(name);
    });
    return overlaid(std::move(variables), harmless_settings());
}

} // namespace ew::core
