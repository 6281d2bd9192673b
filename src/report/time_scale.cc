#include "report/time_scale.h"

#include <algorithm>
#include <iterator>

namespace ew::report {

namespace {

// Sorts the spans, and joins those that meet.
std::vector<Span> joined(std::vector<Span> spans) {
    std::ranges::sort(spans, {}, &Span::begin);
    std::vector<Span> result;
    for (const Span& span : spans) {
        if (result.empty() || span.begin > result.back().end)
            result.push_back(span);
        else
            result.back().end = std::max(result.back().end, span.end);
    }
    return result;
}

} // namespace

TimeScale::TimeScale(std::vector<Span> busy) {
    constexpr double gap_share = 0.04;    // of the busy time, for the longest gap
    constexpr double longest_kept = 2000; // milliseconds that are never shortened
    const std::vector<Span> spans = joined(std::move(busy));
    double sum = 0;
    for (const Span& span : spans)
        sum += static_cast<double>(span.end - span.begin);
    const double longest_gap = std::max(sum * gap_share, longest_kept);
    double at = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        if (i > 0) {
            const auto gap = static_cast<double>(spans[i].begin - spans[i - 1].end);
            is_shortened_ = is_shortened_ || gap > longest_gap;
            at += std::min(gap, longest_gap);
        }
        pieces_.push_back({spans[i], at});
        at += static_cast<double>(spans[i].end - spans[i].begin);
    }
    whole_ = std::max(at, 1.0);
}

double TimeScale::place_of(store::UnixMs time) const {
    auto next = std::ranges::upper_bound(pieces_, time, {},
                                         [](const Piece& piece) { return piece.span.begin; });
    if (next == pieces_.begin()) return 0;
    const Piece& piece = *std::prev(next);
    const auto inside = static_cast<double>(std::min(time, piece.span.end) - piece.span.begin);
    return (piece.begin + inside) / whole_ * length;
}

} // namespace ew::report
