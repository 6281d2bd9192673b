#include "server/process/until_watch.h"

#include <fmt/format.h>

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
    watch.wants_input_ = until.input;
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

std::optional<Error> refusal_elsewhere(const protocol::Until& until) {
    if (!until.port && !until.input) return std::nullopt;
    const char* const member = until.port ? "until.port" : "until.input";
    return Error{ErrorKind::invalid_params,
                 fmt::format("{}: programs in another environment cannot be looked at", member),
                 "wait for a text in the output", member};
}

std::optional<TimePoint> UntilWatch::next_look() const {
    return wants_ports() || wants_input() ? std::optional(next_look_) : std::nullopt;
}

void UntilWatch::take(const Look& look, TimePoint now) {
    next_look_ = now + time_between_looks;
    if (wants_input() && look.waits_for_input)
        end_ = protocol::WaitEnd{protocol::WaitEndReason::input};
    for (const std::uint64_t port : look.ports)
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
