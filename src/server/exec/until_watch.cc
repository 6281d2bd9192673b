#include "server/exec/until_watch.h"

#include <algorithm>
#include <string>
#include <utility>

namespace ew::server {

namespace {

constexpr Millis time_between_looks{100};
constexpr std::uint64_t piece_size = 64 << 10; // bytes that are copied at a time

Error wrong(Error error, const char* member) {
    error.path = member;
    return error;
}

} // namespace

Result<UntilWatch> UntilWatch::of(const protocol::Until& until, std::uint64_t from) {
    UntilWatch watch;
    watch.from_ = until.from.value_or(from);
    watch.bytes_ = until.bytes;
    watch.port_ = until.port;
    if (!until.pattern) return watch;
    const auto& [text, regex] = *until.pattern;
    if (text.has_value() == regex.has_value())
        return Error{ErrorKind::invalid_params, "until.pattern: expected either text or regex", "",
                     "until.pattern"};
    Result<core::Pattern> pattern =
        text ? core::Pattern::of_text(*text) : core::Pattern::of_regex(*regex);
    if (!pattern)
        return wrong(std::move(pattern.error()),
                     text ? "until.pattern.text" : "until.pattern.regex");
    watch.pattern_ = std::move(*pattern);
    return watch;
}

void UntilWatch::look_at(const core::OutputLog& log) {
    if (end_ || log.end() < from_) return;
    if (pattern_) search(log);
    if (!end_ && bytes_ && log.end() - from_ >= *bytes_)
        end_ = protocol::WaitEnd{protocol::WaitEndReason::bytes};
}

Error no_ports_there() {
    return {ErrorKind::invalid_params,
            "until.port: the ports of programs in another environment cannot be seen",
            "wait for a text in the output", "until.port"};
}

std::optional<TimePoint> UntilWatch::next_look() const {
    return wants_ports() ? std::optional(next_look_) : std::nullopt;
}

void UntilWatch::look_at_ports(const std::vector<std::uint16_t>& ports, TimePoint now) {
    next_look_ = now + time_between_looks;
    for (const std::uint64_t port : ports)
        if (wants_ports() && (*port_ == 0 || *port_ == port))
            end_ = protocol::WaitEnd{protocol::WaitEndReason::port, {}, port};
}

void UntilWatch::search(const core::OutputLog& log) {
    if (!searched_from_) {
        searched_from_ = std::max(from_, log.oldest());
        searched_to_ = *searched_from_;
    }
    std::string piece;
    while (searched_to_ < log.end() && !end_) {
        const std::uint64_t to = std::min(searched_to_ + piece_size, log.end());
        piece.clear();
        log.copy(searched_to_, to, piece);
        searched_to_ = to;
        if (std::optional<core::Pattern::Match> match = pattern_->look_at(piece))
            end_ = protocol::WaitEnd{protocol::WaitEndReason::pattern,
                                     protocol::UntilMatch{std::move(match->text), match->line + 1,
                                                          *searched_from_ + match->offset},
                                     {}};
    }
}

} // namespace ew::server
