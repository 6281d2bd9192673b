#include "mcp/roots.h"

#include "json/file_uri.h"
#include "mcp/messages.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ew::mcp {

std::string Roots::id_of_question() const {
    return fmt::format(R"("execward-roots-{}")", asked_);
}

void Roots::ask(Answers& answers, TimePoint now) {
    ++asked_;
    is_open_ = true;
    until_ = now + patience;
    const std::string id = id_of_question();
    answers.request(std::string_view(id).substr(1, id.size() - 2), "roots/list", "{}");
}

// The whole machine is nobody's workspace.
std::vector<protocol::Path> Roots::take(const protocol::Message& answer) {
    give_up();
    is_open_ = false;
    RootsResult result;
    if (!answer.is_error) (void)read(answer.params, result);
    std::vector<protocol::Path> roots;
    for (const Root& root : result.roots) {
        if (!root.uri.starts_with("file:")) continue; // dots are folded only in a URI
        std::optional<std::string> path = json::path_from_text(root.uri);
        if (path && path->find_first_not_of('/') != std::string::npos)
            roots.push_back({std::move(*path)});
    }
    return roots;
}

} // namespace ew::mcp
