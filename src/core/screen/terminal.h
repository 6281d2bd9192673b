// A terminal: its grids and its modes, kept with libvterm 0.1.4. Only its state layer is used, with
// sequences that are known and made anew: its parser and its grid can write outside their memory.
#pragma once

#include "core/screen/grid.h"
#include "core/screen/sequence_reader.h"

#include <vterm.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ew::core {

class Terminal {
public:
    Terminal(ScreenSize size, std::uint64_t version);
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal() = default;

    // Returns how many bytes it took before it had changed `most_work` cells.
    std::size_t feed(std::string_view bytes, std::size_t most_work);

    void resize(ScreenSize size);
    void set_version(std::uint64_t version);

    const Grid& grid() const { return is_alternate_ ? *alternate_ : main_; }

    ScreenPosition cursor() const;

    bool is_cursor_visible() const { return is_cursor_visible_; }

    bool is_alternate() const { return is_alternate_; }

    const std::string& title() const { return title_; }

    std::string& replies() { return replies_; }

private:
    struct Free {
        void operator()(VTerm* vterm) const { vterm_free(vterm); }
    };

    static const VTermStateCallbacks callbacks;

    Grid& grid() { return is_alternate_ ? *alternate_ : main_; }

    std::size_t work() const;

    // From the program to libvterm.
    void handle(const SequenceReader::Token& token);
    void pass(std::string_view bytes);
    void print(std::string_view text);
    void put_mark(char32_t mark);
    void control(char byte);
    void escape(const SequenceReader::Token& token);
    void sequence(const SequenceReader::Token& token);
    void plain_sequence(char final);
    void pass_sequence(std::string_view leader, char final);
    void set_modes(const SequenceReader::Token& token);
    void set_dec_mode(unsigned mode, bool is_on);
    void repeat();
    void restore_cursor();
    void move_cursor(ScreenPosition position);
    void reset();
    void set_title(std::string_view command);
    unsigned number(std::size_t index, unsigned otherwise) const;

    // From libvterm to the grid.
    int put_glyph(const VTermGlyphInfo& glyph, VTermPos position);
    int scroll(VTermRect area, int up, int left);
    int erase(VTermRect area);
    int set_pen(VTermAttr attribute, const VTermValue& value);
    int set_property(VTermProp property, const VTermValue& value);
    int take_size(int rows, int cols, VTermPos& moved);

    VTermAllocatorFunctions allocator_; // before what it has made
    std::unique_ptr<VTerm, Free> vterm_;
    VTermState* state_;
    SequenceReader reader_;
    Grid main_;
    std::optional<Grid> alternate_; // made when it is first used
    bool is_alternate_ = false;
    ScreenPosition main_cursor_; // while the alternate screen is shown
    Style pen_;
    bool is_cursor_visible_ = true;
    std::string title_;
    std::string replies_;
    std::optional<VTermPos> last_; // where the last character is, if it was printed just now
    std::size_t last_width_ = 1;
    std::string last_text_;
    std::size_t calls_ = 0; // of libvterm
};

} // namespace ew::core
