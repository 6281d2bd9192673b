#include "core/screen/grid.h"

#include <algorithm>
#include <cstdlib>

namespace ew::core {

namespace {

Cell blank(const Style& style) {
    Cell cell;
    cell.style.background = style.background;
    return cell;
}

} // namespace

Grid::Grid(ScreenSize size, std::uint64_t version)
    : cols_(size.cols),
      version_(version),
      rows_(size.rows, Row{std::vector<Cell>(size.cols), version}) {}

void Grid::touch_all() {
    for (Row& row : rows_)
        row.version = version_;
}

Grid::Area Grid::inside(Area area) const {
    const long rows = static_cast<long>(rows_.size());
    const long cols = static_cast<long>(cols_);
    area.top = std::clamp(area.top, 0L, rows);
    area.bottom = std::clamp(area.bottom, area.top, rows);
    area.left = std::clamp(area.left, 0L, cols);
    area.right = std::clamp(area.right, area.left, cols);
    return area;
}

void Grid::set(std::size_t row, std::size_t col, const Cell& cell) {
    ++work_;
    Cell& old = rows_[row].cells[col];
    if (old == cell) return;
    old = cell;
    rows_[row].version = version_;
}

// Makes both halves of a wide character blank, if `col` is its right half.
void Grid::split_wide(std::size_t row, std::size_t col) {
    if (col == 0 || col >= cols_ || rows_[row].cells[col].width != 0) return;
    for (const std::size_t half : {col - 1, col})
        set(row, half, blank(rows_[row].cells[half].style));
}

void Grid::split_wide_at_edges(Area area) {
    for (long row = area.top; row < area.bottom; ++row) {
        split_wide(static_cast<std::size_t>(row), static_cast<std::size_t>(area.left));
        split_wide(static_cast<std::size_t>(row), static_cast<std::size_t>(area.right));
    }
}

void Grid::put(long row, long col, const Cell& cell) {
    const long width = cell.width == 2 ? 2 : 1;
    const Area area = inside({row, row + 1, col, col + width});
    constexpr std::size_t work_of_character = 8;
    work_ += work_of_character;
    if (area.top == area.bottom || area.right - area.left != width) return;
    split_wide_at_edges(area);
    const auto at = static_cast<std::size_t>(area.left);
    const auto in = static_cast<std::size_t>(area.top);
    set(in, at, cell);
    if (width == 1) return;
    Cell right;
    right.width = 0;
    right.style = cell.style;
    set(in, at + 1, right);
}

void Grid::add_mark(long row, long col, char32_t mark) {
    const Area area = inside({row, row + 1, col, col + 1});
    if (area.top == area.bottom || area.left == area.right) return;
    const auto in = static_cast<std::size_t>(area.top);
    const auto at = static_cast<std::size_t>(area.left);
    Cell cell = rows_[in].cells[at];
    const auto free = std::ranges::find(cell.text, U'\0');
    if (free == cell.text.end() || free == cell.text.begin()) return;
    *free = mark;
    set(in, at, cell);
}

void Grid::erase(Area area, const Style& style) {
    area = inside(area);
    split_wide_at_edges(area);
    const Cell cell = blank(style);
    for (long row = area.top; row < area.bottom; ++row)
        for (long col = area.left; col < area.right; ++col)
            set(static_cast<std::size_t>(row), static_cast<std::size_t>(col), cell);
}

void Grid::scroll(Area area, long up, long left, const Style& style) {
    area = inside(area);
    const long height = area.bottom - area.top;
    const long width = area.right - area.left;
    if (height == 0 || width == 0) return;
    up = std::clamp(up, -height, height);
    left = std::clamp(left, -width, width);
    if (left == 0 && width == static_cast<long>(cols_)) return scroll_rows(area, up, style);
    scroll_cells(area, up, left, style);
}

void Grid::scroll_rows(Area area, long up, const Style& style) {
    const auto first = rows_.begin() + area.top;
    const auto last = rows_.begin() + area.bottom;
    if (up == 0) return;
    std::rotate(first, up > 0 ? first + up : last + up, last);
    for (auto row = first; row != last; ++row)
        row->version = version_;
    work_ += static_cast<std::size_t>(last - first);
    if (up > 0)
        erase({area.bottom - up, area.bottom, area.left, area.right}, style);
    else
        erase({area.top, area.top - up, area.left, area.right}, style);
}

void Grid::scroll_cells(Area area, long up, long left, const Style& style) {
    split_wide_at_edges(area);
    const Cell empty = blank(style);
    const std::vector<Row> old(rows_.begin() + area.top, rows_.begin() + area.bottom);
    for (long row = area.top; row < area.bottom; ++row) {
        for (long col = area.left; col < area.right; ++col) {
            const long from_row = row + up;
            const long from_col = col + left;
            const bool is_inside = from_row >= area.top && from_row < area.bottom &&
                                   from_col >= area.left && from_col < area.right;
            const auto from = static_cast<std::size_t>(from_row - area.top);
            set(static_cast<std::size_t>(row), static_cast<std::size_t>(col),
                is_inside ? old[from].cells[static_cast<std::size_t>(from_col)] : empty);
        }
    }
    // What was cut through by the move.
    for (long row = area.top; row < area.bottom; ++row) {
        const auto in = static_cast<std::size_t>(row);
        if (rows_[in].cells[static_cast<std::size_t>(area.left)].width == 0)
            set(in, static_cast<std::size_t>(area.left), empty);
        for (long col = area.left; col < area.right; ++col) {
            const auto at = static_cast<std::size_t>(col);
            const bool has_right = at + 1 < cols_ && rows_[in].cells[at + 1].width == 0;
            if (rows_[in].cells[at].width == 2 && !has_right) set(in, at, empty);
        }
    }
}

std::size_t Grid::resize(ScreenSize size, std::size_t cursor_row) {
    std::size_t removed = 0;
    if (size.rows < rows_.size()) {
        const std::size_t too_many = rows_.size() - size.rows;
        const std::size_t below = rows_.size() - 1 - std::min(cursor_row, rows_.size() - 1);
        removed = too_many - std::min(too_many, below);
        rows_.erase(rows_.begin(), rows_.begin() + static_cast<long>(removed));
    }
    if (size.cols < cols_)
        for (std::size_t row = 0; row < rows_.size(); ++row)
            split_wide(row, size.cols);
    cols_ = size.cols;
    rows_.resize(size.rows);
    for (Row& row : rows_)
        row.cells.resize(size.cols);
    touch_all();
    return removed;
}

} // namespace ew::core
