#!/usr/bin/env python3
"""Records what programs write to a terminal and what tmux shows of it, for the tests of screens.

usage: scripts/generate/screens.py [NAME…]

Runs each scene below in a tmux of its own, records the bytes that tmux reads and the changes of the
size, and writes them with the text and the cursor that tmux shows to tests/screens/NAME.screen.
Needs tmux and the programs of the scenes; scripts/setup --dev installs them. The tests only read
the files.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/screens"
ROWS, COLS = 24, 80
LARGEST = 8 << 10  # bytes of output
SETTINGS = """
set -g status off
set -g history-limit 0
set -g default-terminal screen-256color
set -s escape-time 0
set -g default-shell /bin/sh
"""
POEM = "".join(
    "%2d  %s\n" % (i, ["the quick brown fox", "jumps over", "", "\tthe lazy dog"][i % 4])
    for i in range(1, 61)
)
SOURCE = """#include <stdio.h>

// Says hello.
int main(void) {
    const char *names[] = {"Ada", "Grace", "\u5b57\u7b26", "na\u00efve"};
    for (int i = 0; i < 4; ++i)
        printf("hello %s\\n", names[i]);
    return 0;
}
"""
FILES = {"poem.txt": POEM, "hello.c": SOURCE}

VIM = "vim -u NONE -N -i NONE -n "
NANO = "nano --ignorercfiles "
ALONE = "unshare --pid --fork --mount-proc "  # its process list shows no programs of this machine


def printed(text):
    """A scene of a program that writes these bytes, which end in a position to look at."""
    return {"bytes": text}


def keys(*names):
    return ("keys", names)


def typed(text):
    return ("type", text)


def size(rows, cols):
    return ("size", rows, cols)


# name: what it is, the command or the bytes, and what follows
SCENES = {
    "vim_open": ("vim shows a file", VIM + "hello.c", []),
    "vim_syntax": ("vim with colors", VIM + "-c 'syntax on' -c 'set number' hello.c", []),
    "vim_insert": (
        "text is inserted in vim", VIM + "poem.txt",
        [typed("5Gosome new text"), keys("Escape"), typed("yyppxx")],
    ),
    "vim_split": ("vim with two windows", VIM + "-O hello.c poem.txt", [keys("C-w", "w"), typed("G")]),
    "vim_scroll": ("vim scrolls", VIM + "poem.txt", [keys("C-f", "C-f", "C-b", "C-e", "C-e", "C-y")]),
    "vim_search": ("vim shows matches", VIM + "-c 'set hlsearch' poem.txt", [typed("/lazy"), keys("Enter")]),
    "vim_wide": ("vim edits wide characters", VIM + "hello.c", [typed("5G$i\u6f22\u5b57e\u0301"), keys("Escape")]),
    "vim_resize": ("vim in a terminal that becomes smaller and larger", VIM + "hello.c",
                   [size(12, 50), typed("Gox"), keys("Escape"), size(20, 70)]),
    "vim_quit": ("vim gives the screen back", "echo before; " + VIM + "hello.c; echo after",
                 [typed(":q"), keys("Enter")]),
    "nano_open": ("nano shows a file", NANO + "poem.txt", []),
    "nano_edit": ("text is typed in nano", NANO + "hello.c", [typed("// hi"), keys("Enter", "Down", "End"), typed("!")]),
    "nano_search": ("nano asks", NANO + "poem.txt", [keys("C-w"), typed("lazy"), keys("Enter")]),
    "nano_resize": ("nano in a terminal that changes", NANO + "poem.txt", [size(10, 40), keys("Down", "Down")]),
    "less_open": ("less shows a file", "less poem.txt", []),
    "less_scroll": ("less scrolls forward and back", "less poem.txt", [typed("jjjkd"), typed(" "), typed("b")]),
    "less_search": ("less shows matches", "less -N poem.txt", [typed("/fox"), keys("Enter"), typed("n")]),
    "less_end": ("the end in less", "less poem.txt", [typed("G"), typed("yy")]),
    "less_resize": ("less in a terminal that becomes smaller", "less poem.txt", [typed("G"), size(12, 30), typed("k")]),
    "htop": ("htop", ALONE + "htop -d 600", []),
    "htop_help": ("the help of htop", ALONE + "htop -d 600", [keys("F1")]),
    "htop_setup": ("the setup of htop", ALONE + "htop -d 600", [keys("F2"), keys("Down")]),
    "top": ("top", ALONE + "top -d 600", []),
    "dialog_menu": ("a menu of dialog",
                    "dialog --menu Choose 15 40 4 a first b second c third", [keys("Down")]),
    "dialog_checklist": ("a list of dialog",
                         "dialog --checklist Choose 15 50 4 a first on b second off", [keys("Down", "Space")]),
    "dialog_input": ("a field of dialog", "dialog --inputbox Name: 10 40", [typed("Ada"), keys("Left")]),
    "dialog_gauge": ("a gauge of dialog", "(echo 20; echo 70) | dialog --gauge Working 8 50 0", []),
    "dialog_two": ("one box over another",
                   "dialog --begin 2 2 --infobox One 8 30 --and-widget --begin 5 10 --msgbox Two 8 30", []),
    "whiptail_menu": ("a menu of whiptail",
                      "whiptail --menu Choose 15 40 4 a first b second c third", [keys("Down")]),
    "whiptail_yesno": ("a question of whiptail", "whiptail --yesno 'Really?' 8 40", [keys("Tab")]),
    "bash_edit": ("a line is edited in bash", "PS1='> ' bash --norc --noprofile",
                  [typed("echo one two three"), keys("C-a", "C-k"), typed("echo four"), keys("C-b", "C-b"),
                   typed("XY"), keys("C-e"), typed(" five")]),
    "bash_long": ("a line in bash that is longer than the terminal", "PS1='> ' bash --norc --noprofile",
                  [typed("echo " + "0123456789" * 12), keys("C-a", "C-f", "C-f"), typed("__")]),
    "bash_clear": ("bash clears the screen", "PS1='> ' bash --norc --noprofile",
                   [typed("echo one"), keys("Enter"), typed("two"), keys("C-l")]),
    "bash_resize": ("a long line in bash, and another width", "PS1='> ' bash --norc --noprofile",
                    [typed("echo a short one"), size(24, 60), typed(" more"), size(10, 100), typed(" still")]),
    "ls_colors": ("a list in colors", "touch a.c b.tar; mkdir -p dir; ls --color=always -l --time-style=+ "
                  "-g -o poem.txt hello.c; ls --color=always -C", []),
    "python_bar": ("a progress bar in one line",
                   "python3 -c 'for i in range(0, 101, 5): print(\"\\r[%-50s] %3d%%\" "
                   "% (\"#\" * (i // 2), i), end=\"\", flush=True)'", []),
    "apt_bar": ("a bar in the last line, below a scroll region", printed(
        "\x1b[1;23r\x1b[24;1H\x1b[42m\x1b[30mProgress: [ 10%]\x1b[49m\x1b[39m\x1b[1;1H"
        + "".join("Unpacking %d ...\r\n" % i for i in range(30))
        + "\x1b7\x1b[24;1H\x1b[42m\x1b[30mProgress: [ 90%]\x1b[0m [######....]\x1b8and more"), []),
    "many_bars": ("progress bars one below the other", printed(
        "one\r\ntwo\r\nthree\r\n" + "".join(
            "\x1b[3A\x1b[2K\rone %d\r\n\x1b[2Ktwo %d\r\n\x1b[2Kthree %s\r\n" % (i, 2 * i, "=" * i)
            for i in range(20))), []),
    "wide": ("wide characters", printed("\u6f22\u5b57 \uac00\ub098 \uff21\uff22 \U0001f600\U0001f680 end\r\n"
                                        "a\u6f22b\u5b57c\r\n"), []),
    "wide_margin": ("a wide character that does not fit at the margin", printed(
        "\x1b[1;78Hxy\u6f22z\r\n\x1b[5;80H\u5b57!\x1b[7;79H\u5b57!"), []),
    "wide_halves": ("halves of wide characters are written over and erased", printed(
        "\u6f22\u5b57\u6f22\u5b57\r\n\u6f22\u5b57\u6f22\u5b57\r\n\u6f22\u5b57\u6f22\u5b57"
        "\x1b[1;2Hx\x1b[2;3Hy\x1b[3;4H\x1b[K\x1b[5;1Ha\u6f22b\x1b[5;3H\u5b57"), []),
    "wide_moves": ("wide characters are moved by insertions and deletions", printed(
        "\u6f22\u5b57abc\x1b[1;2H\x1b[@\x1b[3;1H\u6f22\u5b57abc\x1b[3;1H\x1b[P\x1b[5;1Hab\u6f22\u5b57\x1b[5;1H\x1b[2P"), []),
    "combining": ("marks on letters", printed("e\u0301a\u0308o\u0302\u0323 n\u0303\r\nZ\u0335\u0336\u0337x\r\n"
                                              "\u0e01\u0e33\u0e19\u0e49\u0e33 \u0915\u094d\u0937\r\n"), []),
    "combining_split": ("a mark after a change of style, and at the margin", printed(
        "e\x1b[1m\u0301x\x1b[0m\r\n" + "a" * 79 + "e\u0301f\r\n\u0301start"), []),
    "tabs": ("tab stops", printed("a\tb\tc\r\n\x1b[3g\x1b[1;5H\x1bH\x1b[1;20H\x1bH\r\n\tx\ty\tz\r\n\x1b[20G\x1b[Zback"), []),
    "line_drawing": ("a box in the character set for lines", printed(
        "\x1b(0lqqqk\r\nx\x1b(B a \x1b(0x\r\nmqqqj\x1b(B done\r\n\x0e\x1b)0qq\x0fqq"), []),
    "insert_delete": ("lines and characters are inserted and deleted", printed(
        "".join("line %d abcdef\r\n" % i for i in range(12))
        + "\x1b[3;5H\x1b[2L\x1b[8;1H\x1b[3M\x1b[2;4H\x1b[3@\x1b[1;4H\x1b[2P\x1b[6;6H\x1b[4X"), []),
    "insert_mode": ("insert mode", printed("abcdef\x1b[1;3H\x1b[4hXYZ\x1b[4l!"), []),
    "scroll_region": ("a scroll region", printed(
        "".join("line %d\r\n" % i for i in range(20)) + "\x1b[5;10r\x1b[10;1H\r\nnew\r\nnewer"
        "\x1b[5;1H\x1bMabove\x1b[2S\x1b[1T\x1b[r\x1b[22;1Hend"), []),
    "origin": ("origin mode", printed("\x1b[5;10r\x1b[?6h\x1b[1;1Hfirst\x1b[99;1Hlast\x1b[?6l\x1b[1;1Htop"), []),
    "no_wrap": ("no autowrap", printed("\x1b[?7l" + "0123456789" * 9 + "END\x1b[?7h\r\n" + "x" * 85), []),
    "wrap_pending": ("the cursor waits at the margin", printed("a" * 80 + "\x1b[1mB\r\n" + "c" * 80 + "\rD"), []),
    "wrap_end": ("the output ends at the margin", printed("\r\n" + "a" * 80), []),
    "repeat": ("a character is repeated", printed("=\x1b[20b>\r\n\u6f22\x1b[3b\r\n\x1b[78Gx\x1b[10b|"), []),
    "erase": ("parts of the screen are erased", printed(
        ("x" * 80) * 10 + "\x1b[2;5H\x1b[K\x1b[3;5H\x1b[1K\x1b[4;5H\x1b[2K\x1b[8;40H\x1b[J\x1b[1;3H\x1b[1J"), []),
    "save_restore": ("the cursor is saved and restored", printed(
        "one\x1b7\x1b[10;10Htwo\x1b8three\x1b[s\x1b[12;12Hfour\x1b[ufive"), []),
    "alternate": ("the alternate screen comes and goes", printed(
        "shell\r\n$ prog\r\n\x1b[?1049h\x1b[H\x1b[2Jinside\x1b7\x1b[9;9H\x1b8\x1b[?1049lback"), []),
    "alternate_inside": ("the alternate screen", printed(
        "shell\r\n\x1b[?1049h\x1b[Hinside\x1b[5;5Hhere"), []),
    "alternate_old": ("the older modes for the alternate screen", printed(
        "main\x1b[?47hold\x1b[?47l.\x1b[?1047hnew\x1b[?1047l!"), []),
    "several_modes": ("several modes in one sequence", printed("x\x1b[?25;1049hinside\x1b[?1049;25l out"), []),
    "test_pattern": ("the test pattern", printed("\x1b#8\x1b[5;5H\x1b[Jx"), []),
    "reset": ("a reset", printed("text\x1b[5;10r\x1b[?6h\x1b[31m\x1bcnew\x1b[3;1Htext"), []),
    "styles": ("styles and colors", printed(
        "\x1b[1mbold\x1b[0m \x1b[3;4mboth\x1b[m \x1b[7mreverse\x1b[27m \x1b[38;5;208mindexed\x1b[39m "
        "\x1b[38;2;1;2;3;48:2::4:5:6mrgb\x1b[0m \x1b[4:3mwave\x1b[4:0m plain\x1b[9mstrike\x1b[0m\r\n"
        "\x1b[44mblue\x1b[K\x1b[0m\r\nnext"), []),
    "title": ("a title", printed("\x1b]0;a title\x07one\x1b]2;other \u6f22\x1b\\two\x1b]52;c;aGk=\x07three"), []),
    "strings": ("strings for other uses", printed("a\x1bP+q544e\x1b\\b\x1b_hidden\x1b\\c\x1b^x\x1b\\d"), []),
    "bad_bytes": ("bytes that are no text", printed("ok\x1b[999;999H<\x1b[Habc\x1b[5\x18def\x1b[;;;;;;;Hhome"), []),
    "many_numbers": ("a sequence with many numbers", printed("a\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17mB"), []),
    "next_lines": ("line ends of all kinds", printed("a\nb\x0bc\x0cd\x1bEe\x1bDf\rg"), []),
    "backspace": ("backspaces", printed("abc\b\bX\r\n\b\b\bleft\x1b[80Gr\bl"), []),
    "shrink": ("the terminal becomes smaller", printed("".join("line %d\r\n" % i for i in range(10)) + "end"),
               [size(6, 80)]),
    "shrink_top": ("the terminal becomes smaller, with the cursor at its top", printed(
        "".join("line %d\r\n" % i for i in range(20)) + "\x1b[3;2H"), [size(8, 80)]),
    "shrink_region": ("the terminal becomes smaller than its scroll region", printed("one\x1b[15;20r\x1b[2;1Htwo"),
                      [size(8, 80)]),
    "grow": ("the terminal becomes larger", printed("one\r\ntwo\r\n"), [size(30, 100)]),
    "alternate_resize": ("the alternate screen changes its size, and goes", printed("main\r\n\x1b[?1049h\x1b[10;10Hinside"),
                         [size(8, 40)]),
}

# Scenes in which we show something else than tmux 3.3a: why, and the rows that we show.
DIFFERENT = {
    "line_drawing": ("tmux prints the letters of this character set",
                     {0: "\u250c\u2500\u2500\u2500\u2510", 1: "\u2502 a \u2502",
                      2: "\u2514\u2500\u2500\u2500\u2518 done", 3: "\u2500\u2500qq"}),
    "repeat": ("tmux does not repeat a wide character", {1: "\u6f22" * 4}),
    "backspace": ("tmux has a column behind the last one, and goes back from there; xterm does not",
                  {1: "left" + " " * 74 + "lr"}),
    "wide_halves": ("tmux leaves one half of a wide character; xterm erases both",
                    {0: "  x\u5b57\u6f22\u5b57"[1:], 2: "\u6f22"}),
    "wide_moves": ("tmux leaves one half of a wide character; xterm erases both", {0: "   \u5b57abc", 2: " \u5b57abc"}),
}


def escaped(data):
    """Writes bytes in ASCII, in lines."""
    names = {0x1B: "\\e", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x5C: "\\\\"}
    lines, line = [], ""
    for byte in data:
        line += names.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else "\\x%02x" % byte)
        if byte == 0x0A or len(line) > 90:
            lines.append(line)
            line = ""
    return lines + ([line] if line else [])


class Tmux:
    def __init__(self, folder):
        self.folder = folder
        self.record = folder / "record"
        (folder / "tmux.conf").write_text(SETTINGS)
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(folder),
            "LANG": "C.UTF-8", "TMUX_TMPDIR": str(folder), "SHELL": "/bin/sh",
        }

    def __call__(self, *words):
        command = ["tmux", "-u", "-L", "scene", "-f", str(self.folder / "tmux.conf"), *words]
        return subprocess.run(
            command, env=self.environment, cwd=self.folder / "files", check=True, stdout=subprocess.PIPE
        ).stdout.decode()

    def state(self):
        return (self.record.stat().st_size, self("capture-pane", "-p", "-t", "scene"))

    def settle(self):
        """Waits until nothing has changed for a while."""
        last, since = None, time.monotonic()
        while time.monotonic() - since < 0.6:
            time.sleep(0.05)
            state = self.state()
            if state != last:
                last, since = state, time.monotonic()

    def start(self, command):
        gate = self.folder / "gate"
        subprocess.run(["mkfifo", str(gate)], check=True)
        self("new-session", "-d", "-s", "scene", "-x", str(COLS), "-y", str(ROWS),
             "read _ <%s; %s; exec sleep 600" % (gate, command))
        self.record.touch()
        self("pipe-pane", "-t", "scene", "exec cat >>%s" % self.record)
        gate.write_text("\n")
        self.settle()

    def follow(self, step):
        if step[0] == "size":
            self("resize-window", "-t", "scene", "-x", str(step[2]), "-y", str(step[1]))
        elif step[0] == "type":
            self("send-keys", "-t", "scene", "-l", step[1])
        else:
            self("send-keys", "-t", "scene", *step[1])
        self.settle()

    def end(self):
        subprocess.run(["tmux", "-L", "scene", "kill-server"], env=self.environment, check=False)


def play(name, folder):
    what, command, steps = SCENES[name]
    files = folder / "files"
    files.mkdir()
    for file, content in FILES.items():
        (files / file).write_text(content)
    if isinstance(command, dict):
        (folder / "bytes").write_text(command["bytes"], newline="")
        command = "stty -opost; cat %s" % (folder / "bytes")
    tmux = Tmux(folder)
    try:
        tmux.start(command)
        lines, begin = ["# " + what + ".", "size %d %d" % (ROWS, COLS)], 0
        for step in [*steps, None]:
            if step and step[0] != "size":
                tmux.follow(step)
                continue
            data = tmux.record.read_bytes()
            lines += ["out " + line for line in escaped(data[begin:])]
            begin = len(data)
            if step:
                lines.append("resize %d %d" % step[1:])
                tmux.follow(step)
        x, y = tmux("display", "-p", "-t", "scene", "#{cursor_x} #{cursor_y}").split()
        text = tmux("capture-pane", "-p", "-t", "scene")
    finally:
        tmux.end()
    if begin > LARGEST:
        sys.exit("%s: %d bytes of output are too many" % (name, begin))
    lines.append("cursor %s %s" % (y, x))
    lines += ["row " + row for row in text.rstrip("\n").split("\n")]
    why, rows = DIFFERENT.get(name, ("", {}))
    if why:
        lines.append("# %s:" % why)
    lines += ["differs %d %s" % (number, row) for number, row in rows.items()]
    (FOLDER / (name + ".screen")).write_text("\n".join(line.rstrip(" ") if line.startswith("row") else line
                                                       for line in lines) + "\n")
    print("%-20s %5d bytes" % (name, begin))


def main():
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or SCENES:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="screens-"))
        try:
            play(name, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
