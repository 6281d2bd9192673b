#include "cli/setup/codex_setup.h"

#include "cli/shared/printing.h"
#include "toml/edit.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace ew::cli {

Result<std::string> codex_directory() {
    const char* const variable = std::getenv("CODEX_HOME");
    if (variable != nullptr && *variable != '\0') return std::string(variable);
    const char* const home = std::getenv("HOME");
    if (home != nullptr && *home == '/') return std::string(home) + "/.codex";
    return Error{ErrorKind::config_invalid, "there is no telling where the files of Codex are",
                 "set CODEX_HOME or HOME"};
}

void print_snippet(const CodexEnvironment& environment) {
    const std::string snippet = codex_snippet(environment);
    print_line(std::string_view(snippet).substr(0, snippet.size() - 1)); // without the newline
}

SettingsFile codex_environments_file(const std::string& directory,
                                     const CodexEnvironment& environment) {
    SettingsFile file;
    file.directory = directory;
    file.name = "environments.toml";
    file.change = [environment](const std::string& text, const std::string& path) {
        return with_environment(text, path, environment);
    };
    file.print_snippet = [environment] { print_snippet(environment); };
    return file;
}

int write_codex_setup(const SettingsFile& file, const std::string& id, Consent consent) {
    std::string text;
    const int status = write_settings(file, consent, text);
    if (status != status_ok) return status;
    print_line(fmt::format("If codex has run before: codex app-server daemon stop. It keeps a "
                           "process in the background\nthat knows only the old settings. A "
                           "question of Codex must say \"Environment: {}\".",
                           id));
    if (keeps_local_environment(text))
        print_line("Codex can still run commands itself beside execward. To end that, set\n"
                   "include_local = false in the file, above its first [[environments]].");
    else
        print_line(fmt::format("Codex starts an MCP server of its config.toml only if that has "
                               "environment_id = {}\nand cwd, an absolute path; one with a url "
                               "needs neither.",
                               toml::quoted(id)));
    return finish(status_ok);
}

} // namespace ew::cli
