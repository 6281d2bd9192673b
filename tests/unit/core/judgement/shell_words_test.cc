#include "core/judgement/hidden_text.h"
#include "core/judgement/literal_commands.h"
#include "core/judgement/shell_words.h"
#include "support/testing.h"

#include <string>
#include <vector>

using ew::core::decompose;
using ew::core::Dialect;
using ew::core::has_hidden_text;
using ew::core::literal_commands;
using ew::core::literal_start;
using ew::core::OutputFiles;
using ew::core::Script;
using ew::core::ShellCommand;

namespace {

std::string shown(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "[" : " [") + word + "]";
    return text;
}

// "[ls] [-l]; [pwd]", or "obstacle".
std::string taken_apart(std::string_view text, Dialect dialect = Dialect::bash) {
    const Script script = decompose(text, dialect);
    if (!script.obstacle.empty()) return "obstacle";
    std::string result;
    for (const ShellCommand& command : script.commands)
        result += (result.empty() ? "" : "; ") + shown(command.words);
    return result;
}

std::string written_out(std::string_view text) {
    std::string result;
    for (const auto& words : literal_commands(text).commands)
        result += (result.empty() ? "" : "; ") + shown(words);
    return result;
}

std::string patterns_of(std::string_view text) {
    std::string result;
    for (const ShellCommand& command : decompose(text).commands)
        for (const bool has_glob : command.has_glob)
            result += has_glob ? '*' : '-';
    return result;
}

} // namespace

TEST_SUITE_BEGIN("core/shell_words");

TEST_CASE("commands between operators come out in order") {
    CHECK(taken_apart("ls -l && pwd || id; cat a | wc\nrev") ==
          "[ls] [-l]; [pwd]; [id]; [cat] [a]; [wc]; [rev]");
    CHECK(taken_apart("ls;pwd|id&&rev") == "[ls]; [pwd]; [id]; [rev]");
    CHECK(taken_apart("\n ls \n\n\tpwd ;\n") == "[ls]; [pwd]");
    CHECK(taken_apart("ls &&\n\n pwd |\n id") == "[ls]; [pwd]; [id]");
}

TEST_CASE("quotes and backslashes mean what they mean to the shell") {
    CHECK(taken_apart("echo 'a  b' \"c  d\" e\\ f") == "[echo] [a  b] [c  d] [e f]");
    CHECK(taken_apart("echo a'b'\"c\"d") == "[echo] [abcd]");
    CHECK(taken_apart("echo '' \"\" a''") == "[echo] [] [] [a]");
    CHECK(taken_apart("echo '\\' \"\\\\\" \"\\a\" \"\\\"\" \"\\$\" \"\\`\"") ==
          "[echo] [\\] [\\] [\\a] [\"] [$] [`]");
    CHECK(taken_apart("echo \\; \\| \\& \\> \\' \\\" \\\\") ==
          "[echo] [;] [|] [&] [>] ['] [\"] [\\]");
    CHECK(taken_apart("echo '$(id)' '`id`' '!' \"!\"") == "[echo] [$(id)] [`id`] [!] [!]");
    CHECK(taken_apart("echo 'a\nb'") == "[echo] [a\nb]");
}

TEST_CASE("a backslash at the end of a line joins lines") {
    CHECK(taken_apart("ls \\\n -l") == "[ls] [-l]");
    CHECK(taken_apart("find . -del\\\nete") == "[find] [.] [-delete]");
    CHECK(taken_apart("echo \"a\\\nb\"") == "[echo] [ab]");
    CHECK(taken_apart("echo 'a\\\nb'") == "[echo] [a\\\nb]");
}

TEST_CASE("a comment begins only where a word could") {
    CHECK(taken_apart("ls # rm -rf x") == "[ls]");
    CHECK(taken_apart("# one\nls\n#two") == "[ls]");
    CHECK(taken_apart("echo a#b '#c' \\#d") == "[echo] [a#b] [#c] [#d]");
    CHECK(taken_apart("ls # a \\\npwd") == "[ls]; [pwd]");
}

TEST_CASE("a dollar that stands for nothing is a dollar") {
    CHECK(taken_apart("grep a$ f") == "[grep] [a$] [f]");
    CHECK(taken_apart("grep \"a$\" f") == "[grep] [a$] [f]");
    CHECK(taken_apart("grep \"a$|b$\" f") == "[grep] [a$|b$] [f]");
    CHECK(taken_apart("echo \"$\"a") == "[echo] [$a]");
}

TEST_CASE("braces and tildes are text where the shell leaves them alone") {
    CHECK(taken_apart("echo {} {a} HEAD@{1} a~ HEAD~2") ==
          "[echo] [{}] [{a}] [HEAD@{1}] [a~] [HEAD~2]");
    CHECK(taken_apart("echo x{1..3}") == "obstacle");
    CHECK(taken_apart("echo '{a,b}' \\{a,b\\}") == "[echo] [{a,b}] [{a,b}]");
    CHECK(taken_apart("echo a=~/x") == "obstacle");
    CHECK(taken_apart("echo a:~/x") == "obstacle");
    CHECK(taken_apart("echo ''~") == "obstacle");
}

TEST_CASE("only redirections that change nothing are passed over") {
    CHECK(taken_apart("ls 2>/dev/null") == "[ls]");
    CHECK(taken_apart("ls > /dev/null 2>&1 | wc") == "[ls]; [wc]");
    CHECK(taken_apart("cat </dev/null -n") == "[cat] [-n]");
    CHECK(taken_apart("2>/dev/null ls") == "[ls]");
    for (const char* script :
         {"ls >a",          "ls >>/dev/null",  "ls 3>/dev/null",   "ls >/dev/nul",
          "ls >/dev/nullx", "ls >/dev/null/x", "ls >/dev/null'x'", "ls >/dev/null\\x",
          "ls >/dev/null#", "ls 2>&1x",        "ls 2>&3",          "ls 2>&-",
          "ls >|/dev/null", "ls <&0",          "ls <<a\na",        "ls <<<a",
          "ls <>/dev/null", "ls >\n/dev/null", "ls a>/dev/null",   "ls 1</dev/null",
          "ls &>/dev/null", "ls >&/dev/null"}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
    }
}

TEST_CASE("output to a plain path is told if the caller wants to know") {
    const auto told = [](std::string_view text, Dialect dialect) {
        const Script script = decompose(text, dialect, OutputFiles::told);
        if (!script.obstacle.empty()) return std::string("obstacle");
        std::string result;
        for (const ShellCommand& command : script.commands)
            result += (result.empty() ? "" : "; ") + shown(command.words) + shown(command.written);
        return result;
    };

    for (const Dialect dialect : {Dialect::bash, Dialect::zsh}) {
        CHECK(told("make > out.log 2>&1", dialect) == "[make][out.log]");
        CHECK(told("make>a; ls 2>>./b/c_1.txt x", dialect) == "obstacle");
        CHECK(told("ls 2>>./b/c_1.txt x; id", dialect) == "[ls] [x][./b/c_1.txt]; [id]");
        CHECK(told(">a 2>b ls | wc 1> c", dialect) == "[ls][a] [b]; [wc][c]");
        for (const char* script :
             {"ls > /a",   "ls > ../a",         "ls > a/../../b", "ls > .git/config",
              "ls > a/.b", "ls > ~/a",          "ls > $X",        "ls > a*",
              "ls > 'a'",  "ls > a'b'",         "ls > \\a",       "ls > {a,b}",
              "ls >| a",   "ls >& a",           "ls &> a",        "ls <& a",
              "ls <> a",   "ls 3> a",           "ls 0> a",        "ls > ./../a",
              "ls > ./.a", "ls > -a",           "ls > =a",        "ls >(a)",
              "ls > a&",   "ls > a(b)",         "ls >\na",        "> a",
              "ls; > a",   "ls > /dev/tcp/h/1", "ls > `a`",       "ls > .",
              "ls > ./",   "ls > %a",           "ls > +a",        "ls > @a"}) {
            CAPTURE(std::string(script));
            CHECK(told(script, dialect) == "obstacle");
        }
    }
}

TEST_CASE("a here-document with a quoted delimiter is a text that no shell changes") {
    CHECK(taken_apart("cat <<'E'\n$(rm a) `rm b` \\\nE\nls") == "[cat]; [ls]");
    CHECK(taken_apart("git commit -F - <<\"END\" && git push\nText\nEND\n") ==
          "[git] [commit] [-F] [-]; [git] [push]");
    CHECK(taken_apart("cat << 'E'|wc\n$(rm a)\nE\nls") == "[cat]; [wc]; [ls]");
    CHECK(taken_apart("cat <<'A' | wc; cat <<-'B'\na\nA\n\tb\n\tB\nid") ==
          "[cat]; [wc]; [cat]; [id]");
    for (const char* script :
         {"cat <<'E'\nx", "cat <<'E'\nx\nE ", "cat <<E\nE", "cat <<'E'x\nE", "cat <<''\n\n",
          "cat <<\n'E'\nE", "cat 3<<'E'\nE", "cat <<'E' 'a\nb'\nE", "cat <<'E' \\\na\nE",
          "<<'E'\nE", "cat <<'E F'\nE F"}) {
        CAPTURE(std::string(script));
        CHECK(taken_apart(script) == "obstacle");
    }
}

TEST_CASE("the status of the last command is a number") {
    CHECK(taken_apart("npm test; echo $?") == "[npm] [test]; [echo] [0]");
    CHECK(taken_apart("ls; echo \"status: $?\"") == "[ls]; [echo] [status: 0]");
    CHECK(taken_apart("ls; echo $?", Dialect::zsh) == "[ls]; [echo] [0]");
    CHECK(taken_apart("ls; echo $?[1]", Dialect::zsh) == "obstacle");
    CHECK(taken_apart("ls; $?") == "obstacle");
}

TEST_CASE("words that zsh takes from the front of a command are obstacles there") {
    for (const char* script : {"- git push", "ls; noglob git push", "nocorrect ls", "repeat 2 ls",
                               "foreach x", "ls && end", "-", "\"-\" ls"}) {
        CAPTURE(script);
        CHECK(taken_apart(script, Dialect::zsh) == "obstacle");
    }
    CHECK(taken_apart("- git push") == "[-] [git] [push]");
    CHECK(taken_apart("ls -; echo noglob", Dialect::zsh) == "[ls] [-]; [echo] [noglob]");
}

TEST_CASE("a redirection without a command is an obstacle, since zsh runs a program there") {
    for (const char* script :
         {"ls; </dev/null", "</dev/null\nls", "ls\n</dev/null", "ls && pwd; 0</dev/null",
          "ls; 2>&1", "ls; >/dev/null", "ls;\n 2>/dev/null >/dev/null\n", "</dev/null; ls",
          "ls | </dev/null", "</dev/null | ls", "ls && </dev/null", "</dev/null"}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
        CHECK(taken_apart(script, Dialect::zsh) == "obstacle");
    }
}

TEST_CASE("what the shell would expand, repeat or put in the background is an obstacle") {
    for (const char* script : {"ls $x",
                               "ls ${x}",
                               "ls \"$x\"",
                               "ls `id`",
                               "ls \"`id`\"",
                               "ls $'a'",
                               "ls $\"a\"",
                               "ls $((1))",
                               "ls $1",
                               "ls $@",
                               "ls $[1]",
                               "ls ${x:-a}",
                               "ls ${x[1]}",
                               "ls ${!x}",
                               "$x ls",
                               "ls &",
                               "ls & id",
                               "! ! ls",
                               "case a in a) ls;; esac",
                               "function f { ls; }",
                               "f() { ls; }",
                               "((1))",
                               "coproc ls",
                               "select i in a; do ls; done",
                               "ls ?(a)",
                               "ls !(a)",
                               "ls !a",
                               "echo a!b",
                               "ls |& wc",
                               "X=1",
                               "x=1",
                               "X=1 ls",
                               "X+=1 ls",
                               "x[1]=2",
                               "%1",
                               "'%1' a",
                               "*",
                               "l?",
                               "'' a"}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
    }
}

TEST_CASE("broken syntax is an obstacle") {
    for (const char* script :
         {"", "  ", "\n", "# only", "ls |", "ls &&", "| ls", "; ls", "ls ;; id", "ls ; ; id",
          "ls | | id", "ls &&& id", "ls 'a", "ls \"a", "ls \\", "ls &&\n; id", "ls \"a\\\""}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
    }
}

TEST_CASE("a builtin that runs text or changes the shell is an obstacle") {
    for (const char* script :
         {"eval ls", ". a", "source a", "exec ls", "command ls", "builtin ls", "trap ls EXIT",
          "alias a=b", "export a", "set -x", "unset a", "hash -r", "enable -n ls",
          "shopt -s extglob", "read a", "declare a", "'eval' ls", "ev\\al ls"}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
    }
    CHECK(taken_apart("command -v ls") == "[command] [-v] [ls]");
    CHECK(taken_apart("echo eval") == "[echo] [eval]");
}

TEST_CASE("what a builtin would compute is an obstacle") {
    for (const char* script :
         {"exit 'path[$(id)]'", "test -v 'a[$(id)]'", "[ -v 'a[`id`]' ]", "return 'a[$(id)]'",
          "shift 'a[$(id)]'", "break 'a[$(id)]'", "kill -0 'a[$(id)]'", "umask 'a[$(id)]'"}) {
        CAPTURE(script);
        CHECK(taken_apart(script) == "obstacle");
        CHECK(taken_apart(script, Dialect::zsh) == "obstacle");
    }
    CHECK(taken_apart("test -f a; exit 1") == "[test] [-f] [a]; [exit] [1]");
}

TEST_CASE("text that hides what is written is an obstacle") {
    CHECK(taken_apart("ls\ta") == "[ls] [a]");
    CHECK(taken_apart("cat 'r\xc3\xa9sum\xc3\xa9'") == "[cat] [r\xc3\xa9sum\xc3\xa9]");
    for (const std::string_view script :
         {std::string_view("ls\r"), std::string_view("ls \x1b[2J"), std::string_view("ls\0a", 4),
          std::string_view("ls\xc2\xa0-l"), std::string_view("ls\xe2\x80\xa8id"),
          std::string_view("ls\xe2\x80\xaex"), std::string_view("\xef\xbb\xbfls"),
          std::string_view("ls \xff"), std::string_view("ls \xc3"), std::string_view("ls \xc0\xaf"),
          std::string_view("ls '\x7f'")})
        CHECK(taken_apart(script) == "obstacle");
    CHECK(has_hidden_text("a\xe2\x80\x8b"));
    CHECK_FALSE(has_hidden_text("a\n\t\xe4\xb8\x80\xf0\x9f\x98\x80"));
}

TEST_CASE("a word that the shell may replace by names is marked") {
    CHECK(patterns_of("ls *.c 'a*' a? \\*b [ab] x\"*\"y z*'*'") == "-*-*-*-*");
    CHECK(literal_start("src/*.c") == "src/");
    CHECK(literal_start("*.c").empty());
    CHECK(literal_start("plain") == "plain");
}

TEST_CASE("zsh gets only words that mean the same to it") {
    CHECK(taken_apart("git status && ls -l a.c", Dialect::zsh) ==
          "[git] [status]; [ls] [-l] [a.c]");
    CHECK(taken_apart("grep 'a*' \"b c\" --x=y", Dialect::zsh) == "[grep] [a*] [b c] [--x=y]");
    for (const char* script :
         {"ls *",     "ls =ls", "ls ^a",     "ls a#",      "ls a~b", "ls {a}",
          "ls a$",    "ls # a", "ls \"a$\"", "ls ]",       "ls **",  "ls a(.)",
          "ls ''=ls", "ls ~+",  "ls ~",      "x=1; ls $x", "(ls)",   "for i in a; do ls; done",
          "ls < a",   "=ls"}) {
        CAPTURE(script);
        CHECK(taken_apart(script, Dialect::zsh) == "obstacle");
    }
}

TEST_CASE("a script has a limit") {
    CHECK(taken_apart("echo " + std::string(65531, 'a')) != "obstacle");
    CHECK(taken_apart("echo " + std::string(65532, 'a')) == "obstacle");

    std::string many;
    for (int i = 0; i < 4096; ++i)
        many += "ls;";
    CHECK(taken_apart(many) != "obstacle");
    CHECK(taken_apart(many + "ls") == "obstacle");
}

TEST_CASE("commands are found wherever they are written out") {
    CHECK(written_out("if rm a; then rm b; else rm c; fi") == "[rm] [a]; [rm] [b]; [rm] [c]; [fi]");
    CHECK(written_out("X=1 rm a") == "[rm] [a]");
    CHECK(written_out("(rm a) & { rm b; }") == "[rm] [a]; [rm] [b]");
    CHECK(written_out("ls $(rm a) \"`rm b`\"") == "[rm] [a]; [rm] [b]; [ls] [*] [*]");
    CHECK(written_out("ls ${x:-$(rm a)}") == "[rm] [a]; [ls] [*]");
    CHECK(written_out("! time -p rm a") == "[rm] [a]");
    CHECK(written_out("f() { rm a; }") == "[f]; [rm] [a]");
    CHECK(written_out("function f { rm a; }") == "[rm] [a]");
    CHECK(written_out("case a in a) rm b;; esac") == "[case] [a] [in] [a]; [rm] [b]; [esac]");
    CHECK(written_out("$'\\x72m' $'a\\tb'") == "[rm] [a\tb]");
    CHECK(written_out("rm a > b 2>&1 c") == "[rm] [a] [c]");
    CHECK(written_out(">&- rm a") == "[rm] [a]");
    CHECK(written_out("a=(x $(rm b)); ls <(rm c)") == "[rm] [b]; [rm] [c]; [ls] [*]");
    CHECK(written_out("{rm,-rf,a} b{,c}; {,rm} {d..e}") == "[rm] [-rf] [a] [b] [bc]; [rm] [*]");
    CHECK(written_out("$(case a in b) rm c;; esac; rm d) \"$((1<<2))\"\nrm e") ==
          "[case] [a] [in] [b]; [rm] [c]; [esac]; [rm] [d]; [$] [*]; [rm] [e]");
    CHECK(written_out("ls \"$(cat <<'A'\n:) ' \" (\nA\nrm b)\" c; rm d") ==
          "[cat]; [rm] [b]; [ls] [*] [c]; [rm] [d]");
    // bash ends this document at its first line.
    CHECK(written_out("ls \"$(cat <<'A'\nA; rm b )\"\nA\n") == "[cat]; [rm] [b]; [ls] [*]; [A]");
    CHECK(written_out("cat <<'A'\nA; rm b )\nA\n") == "[cat]");
    CHECK(written_out("ls \"$(bash <<'A'\nrm b\nA)\" c; rm d") ==
          "[bash]; [ls] [*] [c]; [rm] [d]; [rm] [b]");
    CHECK(written_out("ls \"$(cat <<-A\n\tA rm $(rm c) )\"; rm b") ==
          "[cat]; [rm] [c]; [rm] [*]; [ls] [*]; [rm] [b]");
    CHECK_FALSE(literal_commands("ls \"$(cat <<A\nA;rm b\\\nc )\nA\n)\"").is_whole);
    CHECK(written_out("ls \"$(case x in esac)\"; rm \"a\"") ==
          "[case] [x] [in] [esac]; [ls] [*]; [rm] [a]");
    CHECK(written_out("ls \"$((case))\"; rm \"a\"") == "[case]; [ls] [*]; [rm] [a]");
    CHECK(written_out("ls \"$( (case a in a) id;; esac); rm b )\"") ==
          "[case] [a] [in] [a]; [id]; [esac]; [rm] [b]; [ls] [*]");
    CHECK(written_out("time -- rm a; time -p -- rm b") == "[rm] [a]; [rm] [b]");
    CHECK_FALSE(literal_commands("r{m..m} a").is_whole);
    CHECK(literal_commands("rm {a..c}").is_whole);
    CHECK(written_out("rm $?x $10 $ab1.c") == "[rm] [*x] [*0] [*.c]");
    CHECK_FALSE(literal_commands("r{m,n a").is_whole);
    CHECK(literal_commands("a,b..r{m a").commands.front().front() == "a,b..r{m");
    CHECK(written_out("m=(\"don't\")\nrm a; ls \"${1:-don't}\"\nrm b; a=(\")\"); rm c") ==
          "[rm] [a]; [ls] [*]; [rm] [b]; [rm] [c]");
    CHECK(written_out("cat <<$x\na\n$x\nrm b; cat <<\"$(y)\"\n$(y)\nrm c") ==
          "[cat]; [rm] [b]; [cat]; [rm] [c]");
    CHECK(written_out("ls $(cat <<E)\n'\nE\nrm a") == "[cat]; [ls] [*]; [rm] [a]");
    CHECK(written_out("ls a\r#b; rm a &>b c; `echo \\'; rm d; echo \\'`") ==
          "[ls] [a\r#b]; [rm] [a] [c]; [echo] [']; [rm] [d]; [echo] [']; [ ]; [ ]");
    CHECK(written_out("builtin source a <<< 'rm a'; x='rm b'; eval \"$x\"") ==
          "[builtin] [source] [a]; [eval] [*]; [rm] [b]; [rm] [a]");
    CHECK(written_out("ls \"$( (rm a); echo \")\"; rm b)\"; rm c") ==
          "[rm] [a]; [echo] [)]; [rm] [b]; [ls] [*]; [rm] [c]");
}

TEST_CASE("text is no command, and a name that is not known is none") {
    CHECK(written_out("echo 'rm a'") == "[echo] [rm a]");
    CHECK(written_out("$x rm a; r$x b") == "[$] [rm] [a]; [r*] [b]");
    CHECK(written_out("# rm a").empty());
    CHECK(written_out("cat <<E\nrm a\nE\nls") == "[cat]; [ls]");
    CHECK(written_out("cat <<E\n$(rm a)\nE") == "[cat]; [rm] [a]");
    CHECK(written_out("cat <<'E'\n$(rm a)\nE") == "[cat]");
    CHECK(written_out("cat <<-E\n\t$(rm a)\n\tE\nls") == "[cat]; [rm] [a]; [ls]");
}

TEST_CASE("broken or endless nesting ends the search, not the program") {
    std::string deep;
    for (int i = 0; i < 5000; ++i)
        deep += "$(";
    CHECK(written_out(deep).empty());
    CHECK(written_out("\"$(").empty());
    CHECK(written_out("${'\\").empty());
    CHECK(written_out("<<").empty());
    CHECK(written_out("$'\\").empty());
}

TEST_SUITE_END();
