#include "peer/peer.h"

#include "base/byte_buffer.h"
#include "core/text/paths.h"
#include "json/file_uri.h"
#include "json/reader.h"
#include "json/writer.h"
#include "peer/peer_messages.h"

#include <fmt/format.h>

namespace ew::peer {

namespace {

struct Server {
    std::optional<std::string> name = {};
    std::optional<std::string> version = {};
};

template <class Visitor>
void fields(Visitor& visit, Server& server) {
    visit.optional("name", server.name);
    visit.optional("version", server.version);
}

struct Shell {
    std::optional<std::string> name = {};
    std::optional<std::string> path = {};
};

template <class Visitor>
void fields(Visitor& visit, Shell& shell) {
    visit.optional("name", shell.name);
    visit.optional("path", shell.path);
}

struct Surroundings {
    std::optional<Shell> shell = {};
    std::optional<std::string> executor_version = {};
    std::optional<std::string> cwd = {};
};

template <class Visitor>
void fields(Visitor& visit, Surroundings& info) {
    visit.optional("shell", info.shell);
    visit.optional("executorVersion", info.executor_version);
    visit.optional("cwd", info.cwd);
}

struct Initialized {
    std::optional<Server> server = {};
    std::optional<Surroundings> surroundings = {};
};

template <class Visitor>
void fields(Visitor& visit, Initialized& result) {
    visit.optional("serverInfo", result.server);
    visit.optional("environmentInfo", result.surroundings);
}

constexpr std::size_t longest_path = 4096; // PATH_MAX
constexpr std::size_t longest_name = 200;  // length of a shell's name

bool is_path(const std::string& text) {
    return text.starts_with('/') && text.size() <= longest_path &&
           text.find('\0') == std::string::npos;
}

void take_shell(Peer& peer, const Shell& shell) {
    if (!shell.path || !is_path(*shell.path)) return;
    const bool has_name = shell.name && shell.name->size() <= longest_name;
    peer.shell = {has_name ? *shell.name : shell.path->substr(shell.path->rfind('/') + 1),
                  *shell.path};
}

// Commands run and write in this directory, so it must be unambiguous. Returns an empty string if
// the text is not such a directory.
std::string directory_of(const std::string& text) {
    const std::string path = json::path_from_text(text).value_or("");
    return is_path(path) ? core::path_as_written(path).value_or("") : "";
}

// A version that reports its directory as a URI accepts URIs; the first versions accepted only
// plain paths. Versions that report their version also report which sandbox a start got.
void take_surroundings(Peer& peer, const Surroundings& info) {
    if (info.shell) take_shell(peer, *info.shell);
    const std::string cwd = info.cwd.value_or("");
    peer.takes_uris |= cwd.starts_with("file:");
    peer.directory = directory_of(cwd);
    peer.confines |= info.executor_version.has_value();
    if (peer.version.empty()) peer.version = info.executor_version.value_or("");
}

} // namespace

std::string Peer::path_text(std::string_view path) const {
    if (!takes_uris) return std::string(path);
    ByteBuffer out;
    json::write_file_uri(out, path);
    return std::string(out.view().substr(1, out.size() - 2)); // without the quotes
}

Result<Peer> peer_of(const json::Value* answer) {
    Initialized result;
    std::optional<json::Mismatch> wrong = json::Mismatch{"", "an object"};
    if (answer != nullptr) wrong = json::read_value(answer->element, result, {});
    if (wrong)
        return Error{ErrorKind::environment_unavailable,
                     fmt::format("its answer to initialize is invalid: {}: expected {}",
                                 wrong->path, wrong->expected)};
    Peer peer;
    peer.name = "exec-server";
    if (result.server) {
        peer.name = result.server->name.value_or(peer.name);
        peer.version = result.server->version.value_or("");
    }
    peer.is_execward = peer.name == "execward";
    peer.name = shown(peer.name);
    peer.takes_uris = peer.is_execward;
    peer.confines = peer.is_execward;
    if (result.surroundings) take_surroundings(peer, *result.surroundings);
    peer.version = shown(peer.version);
    return peer;
}

} // namespace ew::peer
