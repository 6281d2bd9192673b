// Operations that put new content in the place of old.

#include "files/operations.h"
#include "files/replacement.h"

#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

namespace ew::files {

namespace {

// What commit() needs, as the text of Done::path: the name and the temporary name, each with a '/'
// behind, which is in neither.
std::string token_of(const Replacement& replacement, const std::string& path) {
    return replacement.name + '/' + replacement.temporary + '/' + path;
}

bool take_token(std::string_view token, Replacement& replacement, std::string& path) {
    const std::size_t first = token.find('/');
    if (first == std::string_view::npos) return false;
    const std::size_t second = token.find('/', first + 1);
    if (second == std::string_view::npos) return false;
    replacement.name = token.substr(0, first);
    replacement.temporary = token.substr(first + 1, second - first - 1);
    path = token.substr(second + 1);
    return true;
}

UniqueFd duplicate(int fd) {
    return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

} // namespace

void write_file(const Request& request, Answer& answer) {
    Replacement replacement;
    Failure failure = begin_replacement(request.path, request.follows_links, replacement);
    if (failure) return answer.finish(*failure);
    // A name that is there already has to go again, or to become the right one.
    std::optional<Untorn> untorn;
    if (!replacement.temporary.empty()) untorn.emplace();
    failure = write_all(replacement.content.get(), request.data, request.path);
    if (failure)
        give_up(replacement);
    else
        failure = commit(request.path, replacement);
    if (failure) return answer.finish(*failure);
    answer.finish(Done{});
}

void open_replace(const Request& request, Answer& answer) {
    Replacement replacement;
    if (Failure failure = begin_replacement(request.path, true, replacement))
        return answer.finish(*failure);
    Done done;
    done.path = token_of(replacement, request.path);
    answer.finish(done, {replacement.content.get(), replacement.beside.get()});
}

void commit(const Request& request, int file, int beside, Answer& answer) {
    Replacement replacement;
    std::string path;
    if (!take_token(request.path, replacement, path))
        return answer.finish(failed(Trouble::other, request.path, "is not what was opened"));
    replacement.content = duplicate(file);
    replacement.beside = duplicate(beside);
    if (!replacement.content || !replacement.beside) return answer.finish(failed(path, errno));
    if (Failure failure = commit(path, replacement)) return answer.finish(*failure);
    answer.finish(Done{});
}

} // namespace ew::files
