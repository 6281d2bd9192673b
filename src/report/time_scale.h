// Places on a time line. Long spans in which nothing happened take little room on it.
#pragma once

#include "store/types.h"

#include <vector>

namespace ew::report {

struct Span {
    store::UnixMs begin = 0;
    store::UnixMs end = 0; // not before `begin`
};

class TimeScale {
public:
    static constexpr double length = 100; // of the whole line: percent

    // The spans in which something happened, in any order.
    explicit TimeScale(std::vector<Span> busy);

    // Returns the place of a time that is in one of the spans: from 0 to `length`.
    double place_of(store::UnixMs time) const;

    // Returns true if some span without events was shortened.
    bool is_shortened() const { return is_shortened_; }

private:
    struct Piece {
        Span span;
        double begin = 0; // in milliseconds of the line
    };

    std::vector<Piece> pieces_; // in their order, without overlap
    double whole_ = 1;
    bool is_shortened_ = false;
};

} // namespace ew::report
