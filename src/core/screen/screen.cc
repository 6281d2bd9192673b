#include "core/screen/screen.h"

#include "build_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#if EXECWARD_HAS_LIBVTERM
#include "core/screen/terminal.h"
#else

namespace ew::core {

// Stands for the one of the library. None is ever made.
class Terminal {
public:
    Terminal(ScreenSize size, std::uint64_t version) : grid_(size, version) {}

    static std::size_t feed(std::string_view bytes, std::size_t) { return bytes.size(); }

    void resize(ScreenSize) {}

    void set_version(std::uint64_t) {}

    const Grid& grid() const { return grid_; }

    static ScreenPosition cursor() { return {}; }

    static bool is_cursor_visible() { return false; }

    static bool is_alternate() { return false; }

    std::string& title() { return text_; }

    std::string& replies() { return text_; }

private:
    Grid grid_;
    std::string text_;
};

} // namespace ew::core

#endif

namespace ew::core {

bool Screen::is_available() {
    return EXECWARD_HAS_LIBVTERM != 0;
}

Result<void> Screen::check(ScreenSize size) {
    if (!is_available())
        return Error{ErrorKind::invalid_params, "this build has no screens of terminals",
                     "process/read has the output; or build execward where libvterm is installed"};
    const bool fits = size.rows >= 1 && size.rows <= most_rows && size.cols >= 1 &&
                      size.cols <= most_cols && size.rows * size.cols <= most_cells;
    if (fits) return {};
    return Error{ErrorKind::limit,
                 fmt::format("the terminal has {} rows and {} columns; a screen has at most {} of "
                             "each, and {} cells",
                             size.rows, size.cols, most_rows, most_cells),
                 "make it smaller with process/resize"};
}

Result<Screen> Screen::of(ScreenSize size, std::uint64_t version) {
    TRY(check(size));
    return Screen(std::make_unique<Terminal>(size, version));
}

Screen::Screen(std::unique_ptr<Terminal> terminal) : terminal_(std::move(terminal)) {}

Screen::Screen(Screen&&) noexcept = default;
Screen& Screen::operator=(Screen&&) noexcept = default;
Screen::~Screen() = default;

std::size_t Screen::feed(std::string_view bytes) {
    return terminal_->feed(bytes, most_work);
}

void Screen::resize(ScreenSize size) {
    size.rows = std::clamp<std::size_t>(size.rows, 1, most_rows);
    size.cols = std::clamp<std::size_t>(size.cols, 1, most_cols);
    size.rows = std::min(size.rows, most_cells / size.cols);
    terminal_->resize(size);
}

void Screen::set_version(std::uint64_t version) {
    terminal_->set_version(version);
}

std::uint64_t Screen::version() const {
    std::uint64_t version = 0;
    for (std::size_t i = 0; i < size().rows; ++i)
        version = std::max(version, grid().row(i).version);
    return version;
}

const Grid& Screen::grid() const {
    return std::as_const(*terminal_).grid();
}

ScreenPosition Screen::cursor() const {
    return terminal_->cursor();
}

bool Screen::is_cursor_visible() const {
    return terminal_->is_cursor_visible();
}

bool Screen::is_alternate() const {
    return terminal_->is_alternate();
}

const std::string& Screen::title() const {
    return terminal_->title();
}

std::string Screen::take_replies() {
    return std::exchange(terminal_->replies(), {});
}

} // namespace ew::core
