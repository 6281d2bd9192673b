#include "core/output/output_view.h"

#include "core/output/utf8.h"
#include "core/text/continuation.h"

#include <algorithm>

namespace ew::core {

void OutputView::look_at(const OutputLog& log) {
    if (!head_.empty() || size(log) < head_bytes) return;
    const std::uint64_t begin = std::max(begin_, log.oldest());
    log.copy(begin, std::min(begin + head_bytes, log.end()), head_);
    head_.resize(head_.size() - unfinished_tail(head_));
}

OutputView::Kept OutputView::kept(const OutputLog& log) const {
    Kept kept;
    const std::uint64_t end = log.end();
    if (head_.empty() || begin_ >= log.oldest()) {
        const std::uint64_t from = std::max(begin_, log.oldest());
        kept.omitted = from - begin_;
        log.copy(from, end, kept.omitted == 0 ? kept.head : kept.tail);
        return kept;
    }
    kept.head = head_;
    const std::uint64_t after_head = begin_ + head_.size();
    const std::uint64_t last_half = end - std::min<std::uint64_t>(end, head_bytes);
    const std::uint64_t from = std::max({after_head, last_half, log.oldest()});
    log.copy(from, end, kept.tail);
    // If bytes before it are missing, it may start inside a character.
    std::size_t cut = 0;
    while (from > after_head && cut < longest_unfinished && cut < kept.tail.size() &&
           continues_character(kept.tail[cut]))
        ++cut;
    kept.tail.erase(0, cut);
    kept.omitted = end - after_head - kept.tail.size();
    return kept;
}

} // namespace ew::core
