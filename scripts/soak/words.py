#!/usr/bin/env python3
"""Compares how execward and the shells read scripts of a small grammar, with mistakes in them.

    scripts/soak/words.py [--minutes N | --count N] [--seed N] [--shell NAME…] PROGRAM

PROGRAM is the test program words_cli. Each script is a few commands with quotes, redirections,
here-documents and separators, or loops, conditions, variables and substitutions around them; some lose, gain
or exchange a character. What execward takes apart, each shell
that is installed must read the same way: the same words, the same files written. The last line is 'N passed,
N failed'; the exit status is 1 on failure.
"""

import argparse
import os
import random
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../../tests"))
from support.shells import SHELLS, difference, taken_apart

BATCH = 400
PROGRAMS = (
    "a b ls cat git echo test x-y z1 'a' \"b\" l\\s - noglob time command ! [ cd exit a=b %1 =ls"
).split(" ")
PLAIN = "a b ab -n --long -x=y a=b file.c dir/file 1 2 42 + % @ : , . .. - -- ^ \u00e9".split(" ")
SPECIAL = (
    "~ ~a a~ # a#b ! a!b {} { } {a} {a,b} {1..3} * ? [a] [!a] $ $a $$ \\ = =a a= a==b ^a a^ ( ) < > & ` ; |"
).split(" ")
SINGLE = ["", "a", "a b", "$x", "\\", '"', "#", "\n", "*", "~", "!", "a;b", "&&"]
DOUBLE = ["", "a", "a b", "'", "\\\\", '\\"', "\\$", "$", "$ ", "#", "\n", "*", "~", "\\a", "!", "\\\n", "a|b"]
ESCAPED = [" ", "a", "\\", "'", '"', "$", "\n", "#", ";", "&", "|", "~", "*", "!", "{", "=", "\t", ">"]
REDIRECTIONS = (
    "2>&1|>/dev/null|2>/dev/null|&>/dev/null|</dev/null|> /dev/null|>out|>>out|2>out|1> out|>|<|>&2|>&-|3>&1|"
    "0</dev/null|2>&1>/dev/null|>out.log 2>&1|>|out|>./out|>-x|>'out'|>out;|<<<a|2>>out|>&out|01>out|"
    ">out>two"
).split("|")
ENDS = [" && ", " || ", "; ", " | ", "\n", ";", "|", "&&", " ;\n", "\n\n", " & ", " |& ", ";;"]
ENDS += [" # a comment\n", "\\\n"]
NOISE = list("ab' \"\\$#~{}=!*?[]();&|<>\n\t`^%@:+-,.0129")
NOISE += ["\\\n", "$'", '$"', "${", "$(", "<<", "EOF", "\r", "\x01"]
LINES = ("text", "\tindented", "$x `y`", "b", "", "'", '"', "EOF ", "\tEOF", "\\")


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.documents = []

    def pick(self, choices):
        return self.random.choice(choices)

    def chance(self, one_in):
        return self.random.randrange(one_in) == 0

    def piece(self):
        kind = self.random.randrange(12)
        if kind < 6:
            return self.pick(PLAIN)
        if kind < 8:
            return "'%s'" % self.pick(SINGLE)
        if kind < 10:
            return '"%s"' % (self.pick(DOUBLE) + self.pick(DOUBLE))
        return "\\" + self.pick(ESCAPED) if kind == 10 else self.pick(SPECIAL)

    def word(self):
        return "".join(self.piece() for _ in range(self.pick((1, 1, 1, 2, 2, 3))))

    def document(self):
        """A here-document, whose text comes behind the line."""
        end = self.pick(("EOF", "E", "a"))
        tabs = self.pick(("", "-"))
        lines = [self.pick(LINES) for _ in range(self.random.randrange(3))]
        self.documents.append("\n".join([*lines, (self.pick(("", "\t")) if tabs else "") + end, ""]))
        return "<<%s%s" % (tabs, self.pick(("'%s'", '"%s"', "%s", "\\%s", " '%s'")) % end)

    def command(self):
        parts = [self.pick(PROGRAMS) if not self.chance(4) else self.word()]
        parts += [self.word() for _ in range(self.random.randrange(4))]
        if self.chance(3):
            parts.insert(self.random.randrange(len(parts) + 1), self.pick(REDIRECTIONS))
        if self.chance(12):
            parts.append(self.document())
        blanks = (" ", " ", " ", "  ", "\t", "\\\n", " \\\n", "")
        return "".join(part + self.pick(blanks) for part in parts[:-1]) + parts[-1]

    def script(self):
        text = self.pick(("", "", "", "\n", " ", "# a\n"))
        for _ in range(self.pick((1, 1, 1, 2, 2, 3))):
            text += self.command()
            end = self.pick(ENDS)
            if self.documents and "\n" in end:
                end = "\n" + "".join(self.documents)
                self.documents = []
            text += end
        if self.documents:
            text = text.rstrip("\n") + "\n" + "".join(self.documents)
            self.documents = []
        elif self.chance(2):
            text += self.command()
            if self.documents:
                text += "\n" + "".join(self.documents)
                self.documents = []
        while self.chance(3):
            text = self.damaged(text)
        return text

    def value(self, depth):
        """A word that is computed, or a plain one."""
        name = self.pick("xyz")
        kind = self.random.randrange(13)
        if kind < 5:
            return self.pick((f"${name}{{a,b}}", f"${name}", f'"${name}"', f"${{{name}}}", f'"a${name}b"', f"a${name}", f"-${name}"))
        if kind < 7 and depth:
            end = self.pick(("", "", "\n", " # )\n"))
            return self.pick(("$(%s%s)", '"$(%s%s)"', "a$( %s%s)b")) % (self.listed(depth - 1), end)
        if kind == 7:
            return self.pick(("~", "~/a", "$HOME", '"$PWD"/a', "$A", "'~'", '"$A"', "~a", "b~"))
        if kind == 8:
            return self.pick(("{a,b}", "x{1,2}y", "{,a}b", "'{a,b}'", "{a,b}{c,d}", '{a,"b c"}', "{a}", "a={b,c}"))
        return self.word() if kind == 9 else self.pick(PLAIN)

    def simple(self, depth):
        kind = self.random.randrange(12)
        if kind < 2:
            value = self.value(depth) if self.chance(3) else self.pick(("a", "'b c'", "-n", '""', "*", "a=b", "git"))
            second = f" {self.pick('xyz')}=$x" if self.chance(5) else ""
            return f"{self.pick('xyz')}={value}{second}"
        if kind == 2:
            return self.pick(("LC_ALL=C ", "TZ=UTC ", "IFS= ", "x=1 ", "IFS=a ")) + self.pick(("a b", "read x", "ls"))
        if kind == 3:
            condition = self.pick(("-f %s", "%s = b", "! -n %s", "%s == a*", "%s", "%s -eq 1", "-n %s && -f a"))
            return "[[ " + condition % self.value(0) + " ]]"
        if kind == 4:
            return self.pick(("[ -f %s ]", "[ %s = b ]", "test ! -d %s", "[ %s ]")) % self.value(0)
        if kind == 5:
            return self.pick(("read x", "read -r x y", "IFS= read -r z", "read", "break", "continue", "break > out"))
        program = self.pick(("$x", "\"$y\"", "{a,b}")) if kind == 6 else self.pick("a b ab ls cat git echo".split())
        words = [self.value(depth) for _ in range(self.random.randrange(4))]
        if self.chance(6):
            words.append(self.pick(REDIRECTIONS))
        if self.chance(8):
            words.append(self.pick(("<in", "< in", "<'in'", "< $x", "<\"in\"")))
        return " ".join([program, *words])

    def listed(self, depth):
        text = self.part(depth)
        for _ in range(self.random.randrange(3)):
            text += self.pick((" && ", " || ", "; ", " | ", "\n", "; ", " |\n", " &&\n", "\n\n", " # c\n"))
            text += self.part(depth)
        return text

    def part(self, depth):
        if depth == 0 or self.chance(2):
            return self.simple(depth)
        kind, inner = self.random.randrange(9), self.listed(depth - 1)
        end = self.pick(("; ", "\n", ";\n"))
        if kind < 2:
            values = " ".join(self.value(depth - 1) for _ in range(self.random.randrange(1, 4)))
            text = f"for {self.pick('xyz')} in {values}{end}do {inner}{end}done"
        elif kind == 2:
            condition = self.pick(("while read x", "while IFS= read -r y z", "while a", "until a", "while read"))
            text = f"{condition}{end}do {inner}{end}break{end}done"
        elif kind == 3:
            text = f"if {self.listed(0)}{end}then {inner}{end}"
            text += f"elif {self.simple(0)}; then {self.listed(0)}{end}" if self.chance(3) else ""
            text += (f"else {self.listed(depth - 1)}{end}" if self.chance(2) else "") + "fi"
        elif kind == 4:
            text = f"{{ {inner}{end}}}"
        elif kind == 5:
            text = f"({inner})"
        elif kind == 6:
            return self.pick(("! ", "time ", "time -p ", "! time ", "time ! ", "time -- ")) + self.part(depth - 1)
        elif kind == 7:
            return f"a | while read -r {self.pick('xyz')}; do {inner}{end}break{end}done"
        else:
            return f"a \"$(b <<'E'\n:) \" ' (\nE\n)\" {self.value(0)}"
        return text + self.pick(("", "", "", " >/dev/null", " 2>&1", " > out", " < in", " <<<a"))

    def shape(self):
        known = self.pick(("", "x=a y='b c' z=-n; ", "x='*'; y=; z='a\nb'\n", "x=a/b; for y in c 'd e' *; do "))
        text = known + self.listed(self.pick((1, 2, 2, 3))) + ("; done" if known.endswith("do ") else "")
        while self.chance(4):
            text = self.damaged(text)
        return text

    def damaged(self, text):
        at = self.random.randrange(len(text) + 1)
        kind = self.random.randrange(3)
        taken = 0 if kind == 0 else 1
        return text[:at] + ("" if kind == 1 else self.pick(NOISE)) + text[at + taken :]


def goes_on(options, count, end):
    return count < options.count if options.count else time.monotonic() < end


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--count", type=int, default=0, help="scripts, in place of a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shell", action="append", help="only these shells")
    options = parser.parse_args()
    shells = [shell for shell in SHELLS if shell.is_here() and shell.name in (options.shell or [shell.name])]
    maker, count, end = Maker(options.seed), 0, time.monotonic() + options.minutes * 60
    compared, failed = dict.fromkeys([shell.name for shell in shells], 0), 0
    while goes_on(options, count, end):
        made = [maker.shape() if number % 2 else maker.script() for number in range(BATCH)]
        scripts = [text for text in made if "$?" not in text]
        count += BATCH
        read = {dialect: taken_apart(options.program, dialect, scripts) for dialect in ("sh", "bash", "zsh")}
        for shell in shells:
            for script, understood in zip(scripts, read[shell.dialect]):
                if understood is None or not shell.can_try(understood.commands):
                    continue
                compared[shell.name] += 1
                if problem := difference(shell, script, understood):
                    failed += 1
                    print("FAIL %r: %s; ours: %s" % (script, problem, understood), flush=True)
    total = sum(compared.values())
    print("%d scripts, compared: %s" % (count, ", ".join("%s %d" % one for one in compared.items())))
    print("%d passed, %d failed" % (total - failed, failed))
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
