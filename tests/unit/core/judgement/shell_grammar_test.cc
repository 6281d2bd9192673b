#include "core/judgement/shell_words.h"
#include "support/testing.h"

#include <string>
#include <string_view>

using ew::core::decompose;
using ew::core::Dialect;
using ew::core::OutputFiles;
using ew::core::Script;
using ew::core::ShellCommand;

namespace {

// "[ls] [-l]; [pwd]", or "obstacle".
std::string taken_apart(std::string_view text, Dialect dialect = Dialect::bash) {
    const Script script = decompose(text, dialect);
    if (!script.obstacle.empty()) return "obstacle";
    std::string result;
    for (const ShellCommand& command : script.commands) {
        if (!result.empty()) result += "; ";
        for (const std::string& word : command.words)
            result += (&word == &command.words.front() ? "[" : " [") + word + "]";
    }
    return result;
}

} // namespace

TEST_SUITE_BEGIN("core/shell_grammar");

TEST_CASE("a script may be told to end at its first failure") {
    for (const Dialect dialect : {Dialect::sh, Dialect::bash, Dialect::zsh}) {
        CHECK(taken_apart("set -euo pipefail; ls | wc", dialect) ==
              "[set] [-euo] [pipefail]; [ls]; [wc]");
        CHECK(taken_apart("set -e\nls", dialect) == "[set] [-e]; [ls]");
        CHECK(taken_apart("set -x; ls", dialect) == "obstacle");
        CHECK(taken_apart("set -- a; ls", dialect) == "obstacle");
        CHECK(taken_apart("set -o $x; ls", dialect) == "obstacle");
    }
}

TEST_CASE("the commands of groups, conditions and subshells are all commands that can run") {
    for (const Dialect dialect : {Dialect::sh, Dialect::bash}) {
        CHECK(taken_apart("if test -f a; then cat a; elif ls; then id; else pwd; fi", dialect) ==
              "[test] [-f] [a]; [cat] [a]; [ls]; [id]; [pwd]");
        CHECK(taken_apart("{ ls; pwd; } && (cd a && id) | wc", dialect) ==
              "[ls]; [pwd]; [cd] [a]; [id]; [wc]");
        CHECK(taken_apart("! grep a b || ls", dialect) == "[grep] [a] [b]; [ls]");
        CHECK(taken_apart("if ls\nthen # a\n  id\nfi\npwd", dialect) == "[ls]; [id]; [pwd]");
        CHECK(taken_apart("if [ ! -e a ]; then ls; fi 2>/dev/null | wc", dialect) ==
              "[[] [!] [-e] [a] []]; [ls]; [wc]");
        CHECK(taken_apart("while read a b; do wc \"$a\" $b; done; ls", dialect) ==
              "[wc] [*] [*]; [ls]");
        CHECK(taken_apart("{ cat <<'E'; }\nfi\nE\nls", dialect) == "[cat]; [ls]");
        CHECK(taken_apart("LC_ALL=C sort a; LANG=C.UTF-8 ls", dialect) == "[sort] [a]; [ls]");
        for (const char* script : {"if ls; fi",
                                   "if ls; then id",
                                   "if ls; then fi",
                                   "then ls",
                                   "{ ls; } }",
                                   "{ ls }",
                                   "(ls",
                                   "ls)",
                                   "()",
                                   "{ }",
                                   "(ls) id",
                                   "{ ls; } id",
                                   "fi",
                                   "if ls; then id; fi fi",
                                   "while ls; do id; fi",
                                   "while ls; done",
                                   "do ls",
                                   "ls; done",
                                   "(ls))",
                                   "if (ls; then",
                                   "i\\\nf ls; then id; fi",
                                   "'if' ls; then id; fi",
                                   "(ls)(id)",
                                   "{ ls; }&",
                                   "ls (id)",
                                   "! !",
                                   "!",
                                   "if; then ls; fi",
                                   "PATH=a ls",
                                   "LD_PRELOAD=a ls",
                                   "LC_ALL=$x ls",
                                   "IFS=a ls",
                                   "LC_ALL=C",
                                   "{ ls; } > a",
                                   "(ls) < /dev/tcp/a/1"}) {
            CAPTURE(script);
            CHECK(taken_apart(script, dialect) == "obstacle");
        }
    }
    CHECK(taken_apart("time ls; time -p id | wc; ! time pwd") == "[ls]; [id]; [wc]; [pwd]");
    CHECK(taken_apart("time ls", Dialect::sh) == "obstacle");
    CHECK(taken_apart("time -- ls") == "obstacle");
    CHECK(taken_apart("time -p -- ls") == "obstacle");
    CHECK(taken_apart("(\\\n(ls))") == "obstacle");
    CHECK(taken_apart("ls \\\n -l && id") == "[ls] [-l]; [id]");
}

TEST_CASE("a loop comes once for each value that it writes out") {
    CHECK(taken_apart("for i in a 'b c' d; do ls $i \"$i\"; done") ==
          "[ls] [a] [a]; [ls] [*] [b c]; [ls] [d] [d]");
    CHECK(taken_apart("for i in push pull\ndo git $i; done") == "[git] [push]; [git] [pull]");
    CHECK(taken_apart("for i in a b; do ls; done") == "[ls]");
    CHECK(taken_apart("for i in *.c; do head -3 \"$i\"; wc $i; done") ==
          "[head] [-3] [*.c]; [wc] [*]");
    CHECK(taken_apart("for i in a b; do cd $i; ls; cd ..; done") ==
          "[cd] [a]; [ls]; [cd] [..]; [cd] [b]; [ls]; [cd] [..]");
    CHECK(taken_apart("for i in {a,b}.c; do ls $i; done; echo $i") ==
          "[ls] [a.c]; [ls] [b.c]; [echo] [*]");
    CHECK(taken_apart("for i in a b; do for j in c d; do echo $i$j; done; done") ==
          "[echo] [ac]; [echo] [ad]; [echo] [bc]; [echo] [bd]");
    CHECK(taken_apart("for i in a; do ls; break; done; for i in b; do ls $i; done") ==
          "[ls]; [ls] [b]");
    for (const char* script :
         {"for i; do ls; done", "for i do ls; done", "for PATH in a; do ls; done",
          "for i in a; ls; done", "for i in a; do ls", "for i in a; do done",
          "for i in $(`a`); do ls; done", "for $i in a; do ls; done", "for 'i' in a; do ls; done",
          "for ((;;)); do ls; done", "for i in a; do cat <<'E'; done\nE\n",
          "cat <<'E' | for i in 1 2; do true\ndone; cat <<'F'\nE\ntrue\ndone\nrm a\nF",
          "cat <<'E'; { for i in 1 2; do true\ndone; }; cat <<'F'\nE\ntrue\ndone; }\nrm a\nF",
          "cat <<'E' | while read a; do true\ndone; cat <<'F'\nE\ntrue\ndone\nrm a\nF",
          "for http_proxy in a; do ls; done"}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
    }
}

TEST_CASE("what a script sets is known until something else may have been set") {
    CHECK(taken_apart("d=src; ls $d \"${d}/a\"; e=-rf && rm $e $d") ==
          "[ls] [src] [src/a]; [rm] [-rf] [src]");
    CHECK(taken_apart("c=git; $c push") == "[git] [push]");
    CHECK(taken_apart("d='a b'; ls $d \"$d\"") == "[ls] [*] [a b]");
    CHECK(taken_apart("d=; ls $d \"$d\"") == "[ls] [*] []");
    CHECK(taken_apart("d=a; true && d=-x; ls $d") == "[true]; [ls] [*]");
    CHECK(taken_apart("d=a; (d=-x; ls $d); ls $d") == "[ls] [*]; [ls] [*]");
    CHECK(taken_apart("d=a; ls | d=-x; ls $d") == "[ls]; [ls] [*]");
    CHECK(taken_apart("d=a; while read x; do ls $d; d=-x; done") == "[ls] [a]; [ls] [*]");
    CHECK(taken_apart("d=a; for i in 1 2; do ls $d; d=-x; done") == "[ls] [a]; [ls] [*]");
    CHECK(taken_apart("d=a; while read d; do ls $d; done; ls $d; d=b; ls $d") ==
          "[ls] [*]; [ls] [*]; [ls] [b]");
    CHECK(taken_apart("d=$HOME/x; ls $d \"$d\"") == "[ls] [*] [*]");
    for (const char* script : {"d=a; e=$d f=$e; ls $f",
                               "x=a; x=-delete y=$x; find . $y",
                               "x=a; xb=-o; ls p$x{b,c}",
                               "ls p{a,$HOME}q",
                               "x=C; LC_ALL=$x ls",
                               "a=-n; ab=-oM; sort $a\\\nb f",
                               "d=a | ls; ls $d",
                               "d=a ls",
                               "PATH=a; ls",
                               "IFS=x; ls",
                               "d+=a; ls",
                               "d[1]=a; ls",
                               "d=(a b); ls",
                               "d=~; ls",
                               "d={a,b}; ls",
                               "d=a 2>/dev/null; ls",
                               "npm_config_x=1; ls",
                               "printf -v d a; ls $d",
                               "d=a; printf $HOME a",
                               "d=a; export d; ls",
                               "BASH_ENV=a; ls"}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
    }
    CHECK(taken_apart("d=-v; printf $d x y") == "obstacle");
}

TEST_CASE("what is computed stays unknown") {
    CHECK(taken_apart("ls $HOME \"$PWD/a\" x$HOME ~ ~/a 'b'~") ==
          "[ls] [*] [*/a] [x*] [*] [*] [*/a] [b~]");
    CHECK(taken_apart("while IFS= read -r line; do echo \"$line\" \"a${line}b\"; done < a") ==
          "[echo] [*] [a*b]");
    CHECK(taken_apart("ls | while read a b; do wc \"$a\"; done") == "[ls]; [wc] [*]");
    for (const char* script : {"ls $(<a)",
                               "ls $(",
                               "ls $A",
                               "ls \"$API_KEY\"",
                               "ls $_",
                               "ls ${",
                               "ls ${HOME",
                               "ls ${HOME:-a}",
                               "ls ${#HOME}",
                               "ls $HOME[1",
                               "ls ~a",
                               "ls ~+",
                               "while read; do ls; done",
                               "while read -a x; do ls; done",
                               "while read PATH; do ls; done",
                               "while read -r; do ls; done",
                               "while x=a read y; do ls; done",
                               "while read y < a; do ls; done",
                               "while read a$?; do ls; done",
                               "while; do ls; done",
                               "while\nread x; do ls; done",
                               "while read x; do tac; done < a",
                               "while read x; do sh -c tac; done < a",
                               "while read x; do hexdump -s 2 -n 1; done < a",
                               "read x; ls",
                               "$HOME/ls"}) {
        CAPTURE(script);
        const std::string read = taken_apart(script);
        CHECK((read == "obstacle" || script == std::string_view("ls $HOME[1")));
    }
}

TEST_CASE(
    "the commands of a substitution are commands of the script, and its words are not known") {
    CHECK(taken_apart("ls $(id) \"$(id -u)\" a$(id | wc)b") ==
          "[id]; [id] [-u]; [id]; [wc]; [ls] [*] [*] [a*] [*]");
    CHECK(taken_apart("d=$(ls -a); rm \"$d\" x$(rm y)") ==
          "[ls] [-a]; [rm] [y]; [rm] [*] [x*] [*]");
    CHECK(taken_apart("echo \"$(echo \"a)b\" '(' \\))\" c") ==
          "[echo] [a)b] [(] [)]; [echo] [*] [c]");
    CHECK(taken_apart("echo $(echo $(ls # )\n)) x") == "[ls]; [echo] [*]; [echo] [*] [x]");
    CHECK(taken_apart("for i in $(ls) b; do wc $i; done") == "[ls]; [wc] [*]; [wc] [b]");
    CHECK(taken_apart("d=a; echo $(d=b; ls $d) $d") == "[ls] [*]; [echo] [*] [*]");
    CHECK(taken_apart("[[ $(ls) == a ]] && id") == "[ls]; [id]");
    CHECK(taken_apart("comm <(ls a | sort) <(ls b); wc < <(id)") ==
          "[ls] [a]; [sort]; [ls] [b]; [comm] [/dev/fd/*] [/dev/fd/*]; [id]; [wc]");
    CHECK_FALSE(decompose("ls $(id)").is_plain);
    for (const char* script : {"ls $()",
                               "ls $(ls",
                               "ls \"$(ls\"",
                               "ls $(ls;;)",
                               "ls $((1))",
                               "ls $((ls) )",
                               "ls $(ls &)",
                               "$(ls)",
                               "$(ls) a",
                               "a$(ls)=b ls",
                               "x=$(ls) ls",
                               "PATH=$(ls); ls",
                               "ls a<(ls)",
                               "ls <(ls)a",
                               "ls >(ls)",
                               "cat <<'E' $(ls\n)\nE",
                               "ls $(cat <<'E'\n)\nE\n)",
                               "ls $(f() { ls; })",
                               "[[ $(ls) -eq 1 ]]",
                               "ls ${x:-$(ls)}",
                               "ls `ls`",
                               "ls $(ls \\\n-l)"}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
    }
    CHECK(taken_apart("ls <(ls)", Dialect::sh) == "obstacle");
    CHECK(taken_apart("ls $(ls)", Dialect::zsh) == "obstacle");
}

TEST_CASE("a loop over a pattern knows how the names begin") {
    CHECK(taken_apart("for i in src/*.c; do wc \"$i\" x\"$i\"; done") ==
          "[wc] [src/*.c] [xsrc/*.c]");
    CHECK(taken_apart("for i in src/*.c; do wc $i; done") == "[wc] [*]");
    CHECK(taken_apart("for i in src/$(ls) a*; do wc \"$i\"; done") == "[ls]; [wc] [*]; [wc] [a*]");
}

TEST_CASE("bash makes several words of braces, and sh does not") {
    CHECK(taken_apart("ls {a,b}.c x{1,2}{3,4} {,a}b") ==
          "[ls] [a.c] [b.c] [x13] [x14] [x23] [x24] [b] [ab]");
    CHECK(taken_apart("ls --a={b,c} a{'b c',\"d\"}; ls a{b}c '{a,b}'") ==
          "[ls] [--a=b] [--a=c] [ab c] [ad]; [ls] [a{b}c] [{a,b}]");
    for (const char* script :
         {"ls {a,{b,c}}", "{git,push}", "ls {a,b}", "ls {a,b}{c,d}", "ls x{a,~}", "ls {a..c}",
          "ls {a,b", "ls {,}", "ls {a,$x}", "ls {a,*}", "ls {~,a}", "ls a={b,c}", "ls {a}{b,c}"}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
    }
    CHECK(taken_apart("ls x{a,b}", Dialect::sh) == "obstacle");
}

TEST_CASE("conditions compare without computing") {
    const std::string x = "x=$HOME; ";
    CHECK(taken_apart(x + "[[ -f a && ! $x == b* || -n \"$x\" ]] && ls") == "[ls]");
    CHECK(taken_apart(x + "if [[ $x = y ]]; then ls; fi") == "[ls]");
    CHECK(taken_apart(
              x + "[ \"$x\" = y ] && [ -n \"$x\" ] && test ! -d \"$x\" && [ \"$x\" ]; exit $?") ==
          "[[] [*] [=] [y] []]; [[] [-n] [*] []]; [test] [!] [-d] [*]; [[] [*] []]; [exit] [0]");
    CHECK(taken_apart(x + "[ \"$x\" -gt 3 ]; ls") == "[[] [*] [-gt] [3] []]; [ls]");
    for (const char* script : {"[[ $x -eq 1 ]] && ls",
                               "[[ -v a ]] && ls",
                               "[[ a < b ]] && ls",
                               "[[ a =~ b ]] && ls",
                               "[[ (a) ]] && ls",
                               "[[ -f a ]] ls",
                               "[[ -f ]] && ls",
                               "[[ ]] && ls",
                               "[[ -R a ]] && ls",
                               "[ $x ]; ls",
                               "[ -f $x ]; ls",
                               "[ \"$x\" y ]; ls",
                               "[ \"$x\" \"$x\" ]; ls",
                               "[ -f *.c ]; ls",
                               "[ -v \"$x\" ]; ls",
                               "[ \"$x\" -a -v ]; ls",
                               "test $x = a; ls",
                               "exit $x",
                               "exit \"$x\"",
                               "[ a \"$x\" b ]; ls",
                               "[[ ]] ]] && ls",
                               "[[ -f ]] ]] && ls",
                               "[[ ! -f = ]] && ls = ]]; ls",
                               "[[ ! #b ]]\nls -eq b ]]",
                               "[[ a && #b ]]",
                               "[ -v b ]; ls",
                               "test -v 'a[b]'; ls",
                               "[ ! -v b ]; ls",
                               "[ -R b ]; ls",
                               "[[ a -a b ]] && ls"}) {
        CAPTURE(script);
        CHECK(taken_apart(x + script) == "obstacle");
    }
    CHECK(taken_apart("[[ -f a ]] && ls", Dialect::sh) == "obstacle");
}

TEST_CASE("a file that the shell reads is input, and a device is an obstacle") {
    CHECK(taken_apart("wc -l < a; sort <b/c | uniq") == "[wc] [-l]; [sort]; [uniq]");
    CHECK(decompose("wc < a").has_input);
    CHECK(decompose("while read a; do echo; done < a").has_input);
    CHECK_FALSE(decompose("wc a").has_input);
    for (const char* script :
         {"wc < /dev/tcp/a/1", "wc < $HOME", "wc < *", "wc < a b < {a,b}", "wc <", "wc < <(ls",
          "wc 0< a", "wc <> a", "< a", "wc < ''", "wc < $(ls)"}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
    }
}

TEST_CASE("files that a whole group writes are told with each of its commands") {
    const Script script =
        decompose("for i in a b; do echo $i; done > out; ls", Dialect::bash, OutputFiles::told);
    REQUIRE(script.obstacle.empty());
    REQUIRE(script.commands.size() == 3);
    CHECK(script.commands[0].written == std::vector<std::string>{"out"});
    CHECK(script.commands[1].written == std::vector<std::string>{"out"});
    CHECK(script.commands[2].written.empty());
    const Script ended =
        decompose("for i in a; do ls; break > out; done", Dialect::bash, OutputFiles::told);
    REQUIRE(ended.commands.size() == 2);
    CHECK(ended.commands[1].written == std::vector<std::string>{"out"});
}

TEST_CASE("only commands, words and operators are plain") {
    CHECK(decompose("ls 'a b' && git push | wc > /dev/null").is_plain);
    for (const char* script : {"! ls", "time ls", "(ls)", "{ ls; }", "if ls; then ls; fi",
                               "ls $HOME", "ls ~", "ls x{a,b}", "LC_ALL=C ls", "x=a; ls", "ls < a",
                               "[[ a ]] && ls", "while read x; do ls; done"}) {
        CAPTURE(script);
        const Script read = decompose(script);
        CHECK(read.obstacle.empty());
        CHECK_FALSE(read.is_plain);
    }
}

TEST_CASE("variables and braces make no more text than can be looked at") {
    std::string text = "a=xxxxxxxxxx; ";
    for (char c = 'b'; c < 'm'; ++c) {
        const std::string before = {'$', static_cast<char>(c - 1)};
        text += std::string(1, c) + "=";
        for (int i = 0; i < 10; ++i)
            text += before;
        text += "; ";
    }
    CHECK(taken_apart(text + "ls $l") == "obstacle");
    std::string braces = "ls x{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}";
    CHECK(taken_apart(braces) != "obstacle");
    for (int i = 0; i < 500; ++i)
        braces += " x{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}";
    CHECK(taken_apart(braces) == "obstacle");
}

TEST_CASE("loops in loops end") {
    std::string text = "echo a";
    for (int i = 0; i < 12; ++i)
        text = "for i in 1 2 3 4 5 6 7 8 9; do " + text + "; x=1; done";
    CHECK(taken_apart(text) == "obstacle");
    text = "x=1";
    for (int i = 0; i < 12; ++i)
        text = "for i in 1 2 3 4 5 6 7 8 9; do " + text + "; done";
    CHECK(taken_apart(text) == "obstacle");
}

TEST_SUITE_END();
