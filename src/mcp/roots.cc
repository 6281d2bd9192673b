#include "mcp/roots.h"

#include "base/log.h"
#include "core/output/utf8.h"
#include "core/text/display.h"
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
    if (is_open_) {
        has_changed_ = true;
        return;
    }
    until_ = now + patience;
    send_question(answers);
}

void Roots::ask_again(Answers& answers) {
    if (std::exchange(has_changed_, false)) send_question(answers);
}

void Roots::send_question(Answers& answers) {
    ++asked_;
    is_open_ = true;
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
        if (!root.uri.starts_with("file:")) { // dots are folded only in a URI
            log::warning("mcp", "a root of the client is no file: URI and does not count: {}",
                         core::visible(core::shortened(root.uri)));
            continue;
        }
        std::optional<std::string> path = json::path_from_text(root.uri);
        if (path && path->find_first_not_of('/') == std::string::npos) continue;
        if (path && is_directory_(*path))
            roots.push_back({std::move(*path)});
        else
            log::warning("mcp", "a root of the client is no directory and does not count: {}",
                         core::visible(core::shortened(root.uri)));
    }
    return roots;
}

} // namespace ew::mcp
