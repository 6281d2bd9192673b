#include "core/keys.h"
#include "support/testing.h"

#include <string>

using ew::core::key_bytes;
using ew::core::KeyModes;
using ew::core::KeyModeTracker;
using ew::core::pasted;

namespace {

std::string bytes(std::string_view name, const KeyModes& modes = {}) {
    ew::Result<std::string> found = key_bytes(name, modes);
    return found ? *found : "error: " + found.error().message;
}

KeyModes after(std::string_view output) {
    KeyModeTracker tracker;
    tracker.feed(output);
    return tracker.modes();
}

} // namespace

TEST_SUITE_BEGIN("core/keys");

TEST_CASE("keys send what xterm sends") {
    const std::pair<std::string_view, std::string> expected[] = {
        {"enter", "\r"},
        {"tab", "\t"},
        {"shift-tab", "\x1b[Z"},
        {"escape", "\x1b"},
        {"space", " "},
        {"backspace", "\x7f"},
        {"ctrl-c", "\x03"},
        {"ctrl-C", "\x03"},
        {"ctrl-[", "\x1b"},
        {"ctrl-space", {'\0'}},
        {"ctrl-/", "\x1f"},
        {"ctrl-backspace", "\b"},
        {"alt-x", "\x1bx"},
        {"ctrl-alt-x", "\x1b\x18"},
        {"alt-enter", "\x1b\r"},
        {"shift-a", "A"},
        {"a", "a"},
        {"-", "-"},
        {"\xc3\xa9", "\xc3\xa9"},
        {"alt--", "\x1b-"},
        {"up", "\x1b[A"},
        {"ctrl-left", "\x1b[1;5D"},
        {"shift-alt-up", "\x1b[1;4A"},
        {"home", "\x1b[H"},
        {"page-up", "\x1b[5~"},
        {"shift-page-up", "\x1b[5;2~"},
        {"delete", "\x1b[3~"},
        {"f1", "\x1bOP"},
        {"ctrl-f1", "\x1b[1;5P"},
        {"f5", "\x1b[15~"},
        {"f12", "\x1b[24~"},
        {"keypad-5", "5"},
        {"keypad-enter", "\r"},
    };
    for (const auto& [name, sent] : expected) {
        CAPTURE(name);
        CHECK(bytes(name) == sent);
    }
}

TEST_CASE("modes change what some keys send") {
    KeyModes modes;
    modes.application_cursor = true;
    CHECK(bytes("up", modes) == "\x1bOA");
    CHECK(bytes("end", modes) == "\x1bOF");
    CHECK(bytes("ctrl-up", modes) == "\x1b[1;5A");
    CHECK(bytes("page-up", modes) == "\x1b[5~");

    modes.application_keypad = true;
    CHECK(bytes("keypad-5", modes) == "\x1bOu");
    CHECK(bytes("keypad-enter", modes) == "\x1bOM");
    CHECK(bytes("5", modes) == "5");
}

TEST_CASE("an unknown key is an error that names the nearest") {
    CHECK(bytes("pageup") == "error: there is no such key; the nearest is 'page-up'");
    CHECK(bytes("ctrl-dwon") == "error: there is no such key; the nearest is 'ctrl-down'");
    CHECK(bytes("Enter") == "error: there is no such key; the nearest is 'enter'");
    for (const char* name : {"", "ctrl-", "ctrl-1", "shift-1", "ctrl-enter-", "ab", "\x01", "\xff",
                             "\x7f", "ctrl-\xc3\xa9", "shift-keypad-1"})
        CHECK_FALSE(key_bytes(name, {}));
    CHECK_FALSE(key_bytes(std::string(100'000, 'x'), {}));
}

TEST_CASE("a paste is marked if the program wants that, and cannot end its mark") {
    CHECK(pasted("a\nb", {}) == "a\nb");

    KeyModes modes;
    modes.bracketed_paste = true;
    CHECK(pasted("a\nb", modes) == "\x1b[200~a\nb\x1b[201~");
    CHECK(pasted("a\x1b[201~b", modes) == "\x1b[200~ab\x1b[201~");
    CHECK(pasted("a\x1b[2\x1b[201~01~b", modes) == "\x1b[200~ab\x1b[201~");
}

TEST_CASE("the modes follow the output") {
    CHECK(after("text") == KeyModes());
    CHECK(after("\x1b[?1h").application_cursor);
    CHECK_FALSE(after("\x1b[?1h\x1b[?1l").application_cursor);
    CHECK(after("\x1b[?25;1;2004h").application_cursor);
    CHECK(after("\x1b[?25;1;2004h").bracketed_paste);
    CHECK(after("\x1b=").application_keypad);
    CHECK_FALSE(after("\x1b=\x1b>").application_keypad);
    CHECK(after("\x1b[?1h\x1b=\x1b[?2004h\x1b"
                "c") == KeyModes());
    CHECK_FALSE(after("\x1b[?1h\x1b[!p").application_cursor);
    // No such modes.
    CHECK(after("\x1b[1h\x1b[?11h\x1b[?12004h\x1b[?1$p\x1b[>1h\x1b[?1\x1b[m1h") == KeyModes());
    CHECK(after("\x1b[?4294967297h") == KeyModes());
}

TEST_CASE("the modes do not depend on where the output is cut") {
    const std::string output =
        "a\x1b[?1;25hb\x1b[31mc\x1b=\x1b[?2004hd\x1b]0;title\x1b\\e\x1b[?25l";
    for (std::size_t cut = 0; cut <= output.size(); ++cut) {
        KeyModeTracker tracker;
        tracker.feed(std::string_view(output).substr(0, cut));
        tracker.feed(std::string_view(output).substr(cut));
        CHECK(tracker.modes() == after(output));
    }
    KeyModeTracker tracker;
    for (const char byte : output)
        tracker.feed({&byte, 1});
    CHECK(tracker.modes() == KeyModes{true, true, true});
}

TEST_SUITE_END();
