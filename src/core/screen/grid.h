// The cells of a terminal. Every row knows the version at which it changed last. All positions may
// come from a hostile program: what is outside is left out.
#pragma once

#include "core/screen/cell.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ew::core {

class Grid {
public:
    // Half open: [top, bottom) and [left, right).
    struct Area {
        long top = 0;
        long bottom = 0;
        long left = 0;
        long right = 0;
    };

    struct Row {
        std::vector<Cell> cells;
        std::uint64_t version = 0;
    };

    Grid(ScreenSize size, std::uint64_t version);

    ScreenSize size() const { return {rows_.size(), cols_}; }

    const Row& row(std::size_t index) const { return rows_[index]; }

    // What has been done so far, in units of a cell that is erased. A character counts more: it
    // has come through libvterm.
    std::size_t work() const { return work_; }

    // Changes count to this version from now on.
    void set_version(std::uint64_t version) { version_ = version; }

    std::uint64_t version() const { return version_; }

    void touch_all();

    // Puts a character there. What was half covered by it is blank.
    void put(long row, long col, const Cell& cell);
    void erase(Area area, const Style& style);

    // Puts a mark onto the character there, if there is one and room for it.
    void add_mark(long row, long col, char32_t mark);

    // Moves the content of the area up and to the left, by negative numbers down and to the right.
    void scroll(Area area, long up, long left, const Style& style);

    // The rows that are too many go: first those below the row of the cursor, then the first ones.
    // Returns how many of the first ones went.
    std::size_t resize(ScreenSize size, std::size_t cursor_row);

private:
    Area inside(Area area) const;
    void set(std::size_t row, std::size_t col, const Cell& cell);
    void split_wide(std::size_t row, std::size_t col);
    void split_wide_at_edges(Area area);
    void scroll_rows(Area area, long up, const Style& style);
    void scroll_cells(Area area, long up, long left, const Style& style);

    std::size_t cols_;
    std::uint64_t version_;
    std::size_t work_ = 0;
    std::vector<Row> rows_;
};

} // namespace ew::core
