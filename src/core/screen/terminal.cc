#include "core/screen/terminal.h"

#include "core/screen/row_text.h"
#include "core/screen/screen.h"
#include "core/screen/single_styles.h"
#include "core/text/text.h"
#include "core/text/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ew::core {

namespace {

using Number = SequenceReader::Number;

// libvterm wants memory that is 0. It reads the properties of the line of a saved cursor, which may
// be outside the screen since the size has changed: there is room for that.
void* allocate(std::size_t size, void* /*unused*/) {
    constexpr std::size_t room = 2 * Screen::most_rows * sizeof(VTermLineInfo);
    return std::calloc(1, size + room);
}

void release(void* memory, void* /*unused*/) {
    std::free(memory);
}

Terminal& of(void* user) {
    return *static_cast<Terminal*>(user);
}

Grid::Area area_of(VTermRect rect) {
    return {rect.start_row, rect.end_row, rect.start_col, rect.end_col};
}

Color color_of(const VTermColor& color) {
    if ((color.type & VTERM_COLOR_DEFAULT_MASK) != 0) return {};
    if (VTERM_COLOR_IS_INDEXED(&color)) return {Color::Kind::indexed, {color.indexed.idx}};
    return {Color::Kind::rgb, {color.rgb.red, color.rgb.green, color.rgb.blue}};
}

bool is_control_character(char32_t c) {
    return c >= 0x80 && c < 0xa0;
}

} // namespace

const VTermStateCallbacks Terminal::callbacks = {
    .putglyph = [](VTermGlyphInfo* glyph, VTermPos position,
                   void* user) { return of(user).put_glyph(*glyph, position); },
    .movecursor = nullptr,
    .scrollrect = [](VTermRect area, int up, int left,
                     void* user) { return of(user).scroll(area, up, left); },
    .moverect = nullptr,
    .erase = [](VTermRect area, int /*selective*/, void* user) { return of(user).erase(area); },
    .initpen = nullptr,
    .setpenattr = [](VTermAttr attribute, VTermValue* value,
                     void* user) { return of(user).set_pen(attribute, *value); },
    .settermprop = [](VTermProp property, VTermValue* value,
                      void* user) { return of(user).set_property(property, *value); },
    .bell = nullptr,
    .resize = [](int rows, int cols, VTermPos* moved,
                 void* user) { return of(user).take_size(rows, cols, *moved); },
    .setlineinfo = nullptr,
};

Terminal::Terminal(ScreenSize size, std::uint64_t version)
    : allocator_({allocate, release}),
      vterm_(vterm_new_with_allocator(static_cast<int>(size.rows), static_cast<int>(size.cols),
                                      &allocator_, nullptr)),
      state_(vterm_obtain_state(vterm_.get())),
      main_(size, version) {
    vterm_set_utf8(vterm_.get(), 1);
    vterm_output_set_callback(
        vterm_.get(),
        [](const char* bytes, std::size_t size_of_it, void* user) {
            std::string& replies = of(user).replies();
            if (replies.size() + size_of_it <= Screen::longest_replies)
                replies.append(bytes, size_of_it);
        },
        this);
    vterm_state_set_callbacks(state_, &callbacks, this);
    vterm_state_reset(state_, 1);
}

// ---------------------------------------------------------------- from the program to libvterm

std::size_t Terminal::work() const {
    constexpr std::size_t work_of_call = 40;
    return main_.work() + (alternate_ ? alternate_->work() : 0) + calls_ * work_of_call;
}

std::size_t Terminal::feed(std::string_view bytes, std::size_t most_work) {
    const std::size_t size = bytes.size();
    const std::size_t begin = work();
    while (work() - begin < most_work) {
        const std::optional<SequenceReader::Token> token = reader_.next(bytes);
        if (!token) break;
        handle(*token);
    }
    return size - bytes.size();
}

void Terminal::handle(const SequenceReader::Token& token) {
    using Kind = SequenceReader::Token::Kind;
    if (token.kind == Kind::text) return print(token.text);
    const bool keeps_last =
        token.kind == Kind::sequence && (token.final == 'm' || token.final == 'b');
    if (!keeps_last) {
        last_.reset();
        last_text_.clear();
    }
    switch (token.kind) {
    case Kind::text: return;
    case Kind::control: return control(token.final);
    case Kind::escape: return escape(token);
    case Kind::sequence: return sequence(token);
    case Kind::string: return set_title(token.text);
    }
}

void Terminal::pass(std::string_view bytes) {
    if (bytes.empty()) return;
    ++calls_;
    (void)vterm_input_write(vterm_.get(), bytes.data(), bytes.size());
}

// libvterm's list of marks is never used: it keeps any number of them, and compares them all. It
// gets ASCII by itself: behind other characters, it would not look at the character set.
void Terminal::print(std::string_view text) {
    while (!text.empty()) {
        const auto other = std::ranges::find_if(text, [](char c) { return (c & 0x80) != 0; });
        const auto ascii = static_cast<std::size_t>(other - text.begin());
        const Character character = first_character(text);
        const std::string_view now = text.substr(0, ascii > 0 ? ascii : character.size);
        text.remove_prefix(now.size());
        if (ascii == 0 && draws_nothing(character.code_point)) {
            put_mark(character.code_point);
        } else if (ascii > 0 || !is_control_character(character.code_point)) {
            pass(now);
            last_text_ = ascii > 0 ? now.substr(ascii - 1) : now;
        }
    }
}

void Terminal::put_mark(char32_t mark) {
    const char32_t shown = shown_character(mark, true);
    if (last_ && shown != 0) grid().add_mark(last_->row, last_->col, shown);
}

void Terminal::control(char byte) {
    constexpr std::string_view known = "\b\t\n\v\f\r\x0e\x0f";
    if (known.find(byte) != std::string_view::npos) pass({&byte, 1});
}

void Terminal::escape(const SequenceReader::Token& token) {
    constexpr std::string_view known = "7=>DEHMno~}|";
    const char final = token.final;
    if (token.intermediates.empty()) {
        if (final == '8') return restore_cursor();
        if (final == 'c') return reset();
        if (known.find(final) != std::string_view::npos) pass(fmt::format("\x1b{}", final));
        return;
    }
    // The character sets that libvterm has. Behind an intermediate, it would begin another sequence
    // at a [, ] or P, and at its end a sequence with more numbers than it has room for.
    constexpr std::string_view sets = "0AB";
    const char first = token.intermediates[0];
    const bool is_character_set =
        first >= '(' && first <= '+' && sets.find(final) != std::string_view::npos;
    const bool is_test_pattern = first == '#' && final == '8';
    if (token.intermediates.size() == 1 && (is_character_set || is_test_pattern))
        pass(fmt::format("\x1b{}{}", first, final));
}

void Terminal::sequence(const SequenceReader::Token& token) {
    const char final = token.final;
    if (token.intermediates == "!" && token.leader == 0 && final == 'p')
        return vterm_state_reset(state_, 0);
    if (token.intermediates == "$" && token.leader == '?' && final == 'p')
        return pass(fmt::format("\x1b[?{}$p", number(0, 0)));
    if (!token.intermediates.empty()) return;
    if (final == 'h' || final == 'l') return set_modes(token);
    if (token.leader == 0) return plain_sequence(final);
    if (token.leader == '?' && (final == 'J' || final == 'K' || final == 'n'))
        return pass_sequence("?", final);
    if (token.leader == '>' && final == 'c') return pass_sequence(">", final);
}

void Terminal::plain_sequence(char final) {
    constexpr std::string_view known = "@ABCDEFGHIJKLMPSXZ`acdefgjknr";
    switch (final) {
    case 'm': return pass(single_styles(reader_.numbers()));
    case 'b': return repeat();
    case 's': return pass("\x1b\x37"); // libvterm takes it for the setting of margins
    case 'u': return restore_cursor();
    case 'T':
        if (reader_.numbers().size() == 1) pass_sequence("", final); // more: about the mouse
        return;
    default: break;
    }
    if (known.find(final) != std::string_view::npos) pass_sequence("", final);
}

// No sequence but those for styles has more than two numbers.
void Terminal::pass_sequence(std::string_view leader, char final) {
    const std::vector<Number>& numbers = reader_.numbers();
    std::string bytes = fmt::format("\x1b[{}", leader);
    for (std::size_t i = 0; i < std::min<std::size_t>(numbers.size(), 2); ++i) {
        if (i > 0) bytes += ';';
        if (numbers[i].value) bytes += fmt::format("{}", *numbers[i].value);
    }
    pass(bytes + final);
}

unsigned Terminal::number(std::size_t index, unsigned otherwise) const {
    const std::vector<Number>& numbers = reader_.numbers();
    return index < numbers.size() ? numbers[index].value.value_or(otherwise) : otherwise;
}

// libvterm looks at the first mode of a list only.
void Terminal::set_modes(const SequenceReader::Token& token) {
    const bool is_on = token.final == 'h';
    for (const Number& mode : reader_.numbers()) {
        if (!mode.value) continue;
        if (token.leader == '?')
            set_dec_mode(*mode.value, is_on);
        else if (token.leader == 0)
            pass(fmt::format("\x1b[{}{}", *mode.value, token.final));
    }
}

void Terminal::set_dec_mode(unsigned mode, bool is_on) {
    constexpr unsigned old_alternate = 47;
    constexpr unsigned margins = 69; // left and right ones
    constexpr unsigned alternate = 1047;
    constexpr unsigned saved_cursor = 1048;
    constexpr unsigned alternate_and_cursor = 1049;
    if (mode == margins) return; // few programs use it, and it is not safe when the size changes
    if (mode == saved_cursor && !is_on) return restore_cursor();
    if (mode == old_alternate) mode = alternate;
    const bool was_alternate = is_alternate_;
    pass(fmt::format("\x1b[?{}{}", mode, is_on ? 'h' : 'l'));
    // The program may have saved another position on the alternate screen.
    if (mode == alternate_and_cursor && !is_on && was_alternate) move_cursor(main_cursor_);
}

// libvterm repeats a mark without end.
void Terminal::repeat() {
    if (!last_) return;
    const std::size_t room = grid().size().cols - cursor().col;
    const std::string text = last_text_;
    for (std::size_t i = 0; i < std::min<std::size_t>(std::max(number(0, 1), 1U), room); ++i)
        pass(text);
}

// The position may have been saved when the screen was larger. Every sequence with numbers moves
// the cursor back into the screen; the mode is one that does not exist.
void Terminal::restore_cursor() {
    pass("\x1b\x38");
    pass("\x1b[?9999h");
}

void Terminal::move_cursor(ScreenPosition position) {
    pass(fmt::format("\x1b[{};{}H", position.row + 1, position.col + 1));
}

void Terminal::reset() {
    pass("\x1b[?1047l");
    pass("\x1b\x63");
}

void Terminal::set_title(std::string_view command) {
    if (!command.starts_with("0;") && !command.starts_with("2;")) return;
    const std::string text = lossy(command.substr(2));
    title_.clear();
    for (std::string_view rest = text; !rest.empty();) {
        const Character character = first_character(rest);
        const char32_t shown =
            shown_character(character.code_point, draws_nothing(character.code_point));
        if (title_.size() + 4 > Screen::longest_title) return;
        if (shown != 0) append_utf8(title_, shown);
        rest.remove_prefix(character.size);
    }
}

// ---------------------------------------------------------------- the size

// A scroll region that begins below the end of the screen makes libvterm move memory that is not
// its own, so there is no region after a change, as in xterm and tmux.
void Terminal::resize(ScreenSize size) {
    const ScreenSize old = grid().size();
    if (size == old) return;
    ScreenPosition position = cursor();
    // The next character would have gone to the next line; now there is room for it.
    const bool is_beyond = last_ && position.col + 1 == old.cols &&
                           static_cast<std::size_t>(last_->col) + last_width_ == old.cols;
    pass("\x1b[r");
    move_cursor(position);
    vterm_set_size(vterm_.get(), static_cast<int>(size.rows), static_cast<int>(size.cols));
    last_.reset();
    if (!is_beyond || size.cols <= old.cols) return;
    position = cursor();
    ++position.col;
    move_cursor(position);
}

int Terminal::take_size(int rows, int cols, VTermPos& moved) {
    const ScreenSize size = {static_cast<std::size_t>(rows), static_cast<std::size_t>(cols)};
    if (is_alternate_) {
        moved.row -= static_cast<int>(alternate_->resize(size, cursor().row));
        main_cursor_.row -= main_.resize(size, main_cursor_.row);
        main_cursor_.row = std::min(main_cursor_.row, size.rows - 1);
        main_cursor_.col = std::min(main_cursor_.col, size.cols - 1);
        return 1;
    }
    moved.row -= static_cast<int>(main_.resize(size, cursor().row));
    alternate_.reset(); // it is empty when it is shown again
    return 1;
}

void Terminal::set_version(std::uint64_t version) {
    main_.set_version(version);
    if (alternate_) alternate_->set_version(version);
}

// ---------------------------------------------------------------- from libvterm to the grid

ScreenPosition Terminal::cursor() const {
    VTermPos position = {};
    vterm_state_get_cursorpos(state_, &position);
    const ScreenSize size = grid().size();
    return {std::min(static_cast<std::size_t>(std::max(position.row, 0)), size.rows - 1),
            std::min(static_cast<std::size_t>(std::max(position.col, 0)), size.cols - 1)};
}

int Terminal::put_glyph(const VTermGlyphInfo& glyph, VTermPos position) {
    if (glyph.width != 1 && glyph.width != 2) return 1;
    Cell cell;
    cell.text[0] = shown_character(glyph.chars[0], false);
    cell.width = static_cast<std::uint8_t>(glyph.width);
    cell.style = pen_;
    grid().put(position.row, position.col, cell);
    last_ = position;
    last_width_ = cell.width;
    return 1;
}

int Terminal::scroll(VTermRect area, int up, int left) {
    grid().scroll(area_of(area), up, left, pen_);
    return 1;
}

int Terminal::erase(VTermRect area) {
    grid().erase(area_of(area), pen_);
    return 1;
}

int Terminal::set_pen(VTermAttr attribute, const VTermValue& value) {
    switch (attribute) {
    case VTERM_ATTR_BOLD: pen_.bold = value.boolean != 0; break;
    case VTERM_ATTR_UNDERLINE: pen_.underline = static_cast<std::uint8_t>(value.number & 3); break;
    case VTERM_ATTR_ITALIC: pen_.italic = value.boolean != 0; break;
    case VTERM_ATTR_BLINK: pen_.blink = value.boolean != 0; break;
    case VTERM_ATTR_REVERSE: pen_.reverse = value.boolean != 0; break;
    case VTERM_ATTR_STRIKE: pen_.strike = value.boolean != 0; break;
    case VTERM_ATTR_FOREGROUND: pen_.foreground = color_of(value.color); break;
    case VTERM_ATTR_BACKGROUND: pen_.background = color_of(value.color); break;
    case VTERM_ATTR_FONT:
    case VTERM_N_ATTRS: break;
    }
    return 1;
}

int Terminal::set_property(VTermProp property, const VTermValue& value) {
    const bool is_on = value.boolean != 0;
    if (property == VTERM_PROP_CURSORVISIBLE) is_cursor_visible_ = is_on;
    if (property != VTERM_PROP_ALTSCREEN || is_on == is_alternate_) return 1;
    if (is_on) {
        main_cursor_ = cursor();
        if (!alternate_) alternate_.emplace(main_.size(), main_.version());
    }
    is_alternate_ = is_on;
    grid().touch_all();
    return 1;
}

} // namespace ew::core
