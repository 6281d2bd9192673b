// What a terminal shows after the output of a program. Without libvterm there are none: see
// is_available().
#pragma once

#include "base/result.h"
#include "core/screen/cell.h"
#include "core/screen/grid.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ew::core {

class Terminal; // of the library

class Screen {
public:
    static constexpr std::size_t most_rows = 1000;
    static constexpr std::size_t most_cols = 1000;
    static constexpr std::size_t most_cells = 100'000;
    static constexpr std::size_t longest_title = 1024;   // bytes
    static constexpr std::size_t longest_replies = 4096; // bytes that wait to be taken
    // How much is done before feed() returns. A few bytes can change all cells.
    static constexpr std::size_t most_work = 800'000; // see Grid::work()

    // Returns true if this build has the library.
    static bool is_available();

    // Errors: the size; there is no libvterm in this build.
    static Result<void> check(ScreenSize size);
    static Result<Screen> of(ScreenSize size, std::uint64_t version);

    Screen(Screen&&) noexcept;
    Screen& operator=(Screen&&) noexcept;
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    ~Screen();

    // Returns the number of bytes that it took.
    std::size_t feed(std::string_view bytes);

    // A size beyond the limits is made smaller.
    void resize(ScreenSize size);

    // What changes from now on has this version.
    void set_version(std::uint64_t version);

    // Returns the highest version of a row.
    std::uint64_t version() const;

    const Grid& grid() const;

    ScreenSize size() const { return grid().size(); }

    ScreenPosition cursor() const;
    bool is_cursor_visible() const;
    bool is_alternate() const;
    const std::string& title() const; // UTF-8

    // Returns what the terminal answers to the queries of the program since the last call.
    std::string take_replies();

private:
    explicit Screen(std::unique_ptr<Terminal> terminal);

    std::unique_ptr<Terminal> terminal_;
};

} // namespace ew::core
