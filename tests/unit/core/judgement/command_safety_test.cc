#include "core/judgement/command_safety.h"
#include "core/judgement/started_commands.h"
#include "support/testing.h"

#include <string>
#include <vector>

using ew::core::decompose;
using ew::core::is_dangerous;
using ew::core::is_known_safe;
using ew::core::is_plain_shell_call;
using ew::core::is_straight_path;
using ew::core::Script;
using ew::core::with_started_commands;

namespace {

bool is_trusted(std::string_view word) {
    return word.find('/') == std::string_view::npos || word.starts_with("/usr/bin/");
}

bool is_safe(std::string_view command) {
    const Script script = decompose(command);
    if (!script.obstacle.empty() || script.commands.size() != 1) return false;
    return is_known_safe(script.commands.front(), is_trusted);
}

bool is_last_safe(std::string_view text) {
    const Script script = decompose(text);
    return script.obstacle.empty() && is_known_safe(script.commands.back(), is_trusted);
}

void check_all(bool expected, std::initializer_list<const char*> commands) {
    for (const char* command : commands) {
        CAPTURE(command);
        CHECK(is_safe(command) == expected);
    }
}

bool is_dangerous_text(std::string_view command) {
    return is_dangerous({"bash", "-c", std::string(command)});
}

} // namespace

TEST_SUITE_BEGIN("core/command_safety");

TEST_CASE("programs that print are safe with the options that are known") {
    check_all(true, {"ls -la --color=never src",
                     "cat -n a b",
                     "head -20 a",
                     "tail -n +5 a",
                     "wc -l a",
                     "grep -rn --include='*.c' x .",
                     "cut -d: -f1,2 a",
                     "stat -c %n a",
                     "sort -nrk2 a",
                     "sort a -u b",
                     "uniq -c a",
                     "tr a-z A-Z",
                     "base64 -d a",
                     "seq 1 3",
                     "nl -ba a",
                     "du -sh a",
                     "diff -u a b",
                     "sha256sum a",
                     "date +%s",
                     "/usr/bin/cat a",
                     "echo -- -x"});
}

TEST_CASE("an option that is not known is not safe, abbreviated or combined or late") {
    check_all(false,
              {"sort -o x a", "sort -uo x a", "sort -nox a", "sort --output=x a", "sort --outp x a",
               "sort a -o x", "sort -T . a", "sort --compress-program=x a", "sort --zzz a",
               "ls --zzz", "grep --zzz x", "cat -Q a", "base64 -o x", "file -C", "date -s x",
               "date 01010101", "diff -l a b", "which --read-alias x"});
}

TEST_CASE("a value is no option and words behind -- are none") {
    check_all(true, {"sort -t o a", "sort -to a", "cut --output-delimiter=, -f1 a",
                     "grep -e -delete a", "sort -- -o x", "rg -- --pre a", "head -n -5 a"});
    check_all(false, {"sort -k -o x", "sort -t -o x a", "rg -e -- --pre=x"});
}

TEST_CASE("uniq is safe with one operand, because it writes the second") {
    check_all(true, {"uniq", "uniq a", "uniq -f 1 a", "uniq -w3 -s 1 a", "uniq -- a"});
    check_all(false,
              {"uniq a b", "uniq - b", "uniq -- a b", "uniq -f 1 a b", "uniq a*", "uniq [ab]"});
}

TEST_CASE("sed is safe when it only prints, leaves out and replaces") {
    check_all(true, {"sed -n 1p a", "sed -n 1,5p a b", "sed -n '$p' a", "sed -n '1p;3,+2p' a",
                     "sed -n '2~3p'"
                     " a",
                     "sed -n '/a/,/}/p' a", "sed -n '$='", "sed '/^\\s*$/d' a",
                     "sed 's/a/b/g; s|c|\\1|2' a", "sed -E -e 's/[^a-z[:space:]]+$//' -e '3,$d' a",
                     "sed -nE 's/[]]x/&/pI' a"});
    check_all(false, {"sed 1p a",
                      "sed -n 1p -i a",
                      "sed -n '1w x' a",
                      "sed -n '1p;1e x' a",
                      "sed -n 1p -fx",
                      "sed -n 1p *",
                      "sed -i 1p a",
                      "sed -n p",
                      "sed -n '1p;' a",
                      "sed -n ',p' a",
                      "sed s/a/b/e a",
                      "sed 's/a/b/w x' a",
                      "sed 's/a/b/gw x' a",
                      "sed '1{p;e x\n}' a",
                      "sed 's/[/]/w x/' a",
                      "sed 's/[]/]/w x/' a",
                      "sed 's/[[:x/]/w x/' a",
                      "sed 's/[[:alpha:][]/A]/;s,a/w out,b,' a",
                      "sed 's/[[./.]]/w x/' a",
                      "sed 's/[\\]/w x/]/' a",
                      "sed 's/a\nb/c/' a",
                      "sed 's/a/b\\\n/' a",
                      "sed '/a/e x' a",
                      "sed '1r x' a",
                      "sed '1!w x' a",
                      "sed -e 's/a/b/' -e '1e x' a",
                      "sed -e s/a/b/ -i a",
                      "sed -e",
                      "sed y/a/b/ a",
                      "sed q a",
                      "sed 'sea' a",
                      "sed 's/a/b/m' a",
                      "sed -s -n 1p a",
                      "sed -n '/a/e' a",
                      "sed '1~p' a"});
}

TEST_CASE("awk is safe when its program can neither write nor start anything") {
    check_all(true,
              {"awk '{print $1}' a", "awk -F: '{print $1, NF}' a", "awk -F : 'NR==1 || /x/' a",
               "awk '$3 > 5 && $1 >= 2 {print; n++} END {print n}' a",
               "gawk '{if ($1 >= 2) print}'", "awk -v n=3 'NR == n' a", "mawk 1"});
    check_all(false, {"awk '{print > \"x\"}' a",
                      "awk '{print >> \"x\"}' a",
                      "awk '{print | \"x\"}' a",
                      "awk '{\"x\" | getline}' a",
                      "awk 'BEGIN {system(\"x\")}'",
                      "awk '{print |& \"x\"}' a",
                      "awk -f x a",
                      "awk -i inplace 1 a",
                      "awk -lx 1",
                      "awk '@include \"x\"' a",
                      "awk 'BEGIN {f=\"x\"; @f()}'",
                      "awk 'BEGIN {print ENVIRON[\"A\"]}'",

                      "awk '/{/ {print > \"x\"}' a",
                      "awk '{print \"a\" >\"x\"}' a",
                      "awk *",
                      "awk 1 /inet/tcp/0/a/80",
                      "awk 1 $HOME",
                      "awk 1 a*b /i*",
                      "awk 1 \"/in$HOME\"",
                      "awk '{print ||| \"x\"}' a",
                      "awk --source 1",
                      "awk -Wexec=x",
                      "awk 'BEGIN {while ((getline l) > 0) n++}'",
                      "awk"});
}

TEST_CASE("find and xargs are safe with commands that are safe with any words") {
    check_all(true,
              {"find . -name '*.c' -exec wc -l {} +", "find . -exec grep -l a {} \\; -print",
               "find . -exec cat -- {} + -exec head -n1 x{} \\;", "find . -exec sed -n 1p {} +"});
    check_all(false, {"find . -exec rm {} +",
                      "find . -exec sort {} x{} -o y \\;",
                      "find . -exec {} a \\;",
                      "find . -exec wc {}",
                      "find . -exec \\;",
                      "find . -exec wc + -delete \\;",
                      "find . -exec echo {} +",
                      "find . -exec sh -c {} \\;",
                      "find . -exec git {} \\;",
                      "find . -exec sed -n {} \\;",
                      "find . -exec find . -delete \\;",
                      "find . -exec cat $HOME \\;",
                      "find . -exec cat a* + -o -name \\;",
                      "find . -exec grep {} x + -o -exec sh a \\;",
                      "find . -exec wc x{} +",
                      "find -files0-from a -exec wc {} +",
                      "find . -exec {} +",
                      "find . -execdir wc {} +",
                      "find . -exec ./wc {} +",
                      "find . -exec awk {} a \\;",
                      "xargs wc"});
    check_all(false,
              {"diff3 -m -L -- --diff-program=x a b c", "diff3 -AL -- --diff-program=x a b c",
               "objdump -d @a", "strings @a", "strings @*"});
    for (const char* script :
         {"ls | xargs wc -l", "ls | xargs -0 -n1 grep x", "ls | xargs -I% head -n1 a%",
          "ls | xargs -i cat {}", "ls | xargs -r -d '\\n' stat --"}) {
        CAPTURE(script);
        CHECK(is_last_safe(script));
    }
    for (const char* script : {"ls | xargs rm",
                               "ls | xargs",
                               "ls | xargs sort",
                               "ls | xargs git log",
                               "ls | xargs -I% % a",
                               "ls | xargs -I ca cat a",
                               "ls | xargs -p wc",
                               "ls | xargs -o wc",
                               "ls | xargs -a x wc",
                               "ls | xargs --process-slot-var=X wc",
                               "ls | xargs xargs wc",
                               "ls | xargs echo",
                               "ls | xargs sh -c wc",
                               "ls | xargs env",
                               "ls | xargs sed -n",
                               "ls | xargs awk",
                               "ls | xargs find",
                               "ls | xargs -n $? wc",
                               "ls | xargs -E wc",
                               "ls | xargs ./wc",
                               "ls | xargs -I% sed -n % a",
                               "ls | xargs uniq a",
                               "ls | xargs gawk 1",
                               "find . -exec cat $(a) \\;",
                               "find . -exec gawk 1 \"$(a)\" \\;"}) {
        CAPTURE(script);
        CHECK_FALSE(is_last_safe(script));
    }
}

TEST_CASE("find is safe with tests and with actions that print") {
    check_all(true, {"find", "find . -name '*.c' -o -type d", "find -L a b -maxdepth 2",
                     "find . ! -empty -print0", "find . \\( -name a , -ls \\)",
                     "find . -newermt yesterday", "find . -name -delete", "find src/*",
                     "find . -printf '%p\\n'"});
    check_all(false,
              {"find . -delete", "find . -exec a \\;", "find . -execdir a +", "find . -ok a \\;",
               "find . -okdir a \\;", "find . -fprint x", "find . -fprint0 x",
               "find . -fprintf x %p", "find . -fls x", "find *", "find . -name *.c", "find . -zzz",
               "find . -name", "find . -newerzz a", "find -D exec ."});
}

TEST_CASE("rg is safe unless it starts a program") {
    check_all(true, {"rg x", "rg -nFw x a", "rg -tcpp -C2 x", "rg --files -g '*.c'", "rg -g z x",
                     "rg x src/*"});
    check_all(false, {"rg --pre a x", "rg --pre=a x", "rg -z x", "rg -nz x", "rg --search-zip x",
                      "rg --hostname-bin a x", "rg x *", "rg -g * x", "rg --pre-glob a x"});
}

TEST_CASE("everyday programs that list and show are safe") {
    check_all(true,
              {"git reflog",
               "git reflog -n 5",
               "git reflog show main --oneline",
               "git show-ref --heads",
               "git for-each-ref --sort=-committerdate --format='%(refname:short)' refs/heads",
               "git stash show",
               "git stash show -p",
               "uptime -p",
               "du -sh *",
               "hexdump -C a",
               "strings -n 8 a",
               "tree",
               "tree -ad -L 2 x",
               "tree -L 2 -I 'a|b' --prune x",
               "column -t -s , a",
               "free -h",
               "fmt a",
               "tar tf x.tar",
               "tar -tzf x.tar.gz dir",
               "unzip -l x.zip",
               "unzip -p x.zip a/b",
               "zipinfo -1 x.zip",
               "zipinfo x.zip",
               "gzip -l x.gz",
               "gzip -dc x.gz",
               "zcat x.gz",
               "egrep -rn 'a|b' src",
               "fgrep a.b *",
               "size x",
               "who -a",
               "w -hs",
               "last -5",
               "lscpu -e=cpu,node",
               "lsblk -o NAME,SIZE",
               "lsmod",
               "findmnt -T .",
               "vmstat 1 2",
               "pstree -p",
               "ss -ltnp",
               "whereis gcc",
               "dpkg -l",
               "dpkg -l 'lib*'",
               "dpkg -L bash",
               "dpkg -S /bin/ls",
               "dpkg-query -s bash",
               "getconf PAGESIZE",
               "locale -a"});
    check_all(false, {"git config user.name x",
                      "git config --get a.b --add",
                      "git config --unset a.b",
                      "git config -e",
                      "git config --file=x --list",
                      "git config set a.b c",
                      "git config alias.x !touch",
                      "git reflog expire --all",
                      "git reflog delete HEAD@{0}",
                      "git worktree add ../x",
                      "git worktree prune",
                      "git stash",
                      "git stash drop",
                      "git stash show --ext-diff",
                      "git for-each-ref --format='%(signature)'",
                      "git for-each-ref --format='%(if)%(signature:grade)%(then)x%(end)'",
                      "hostname new",
                      "hostname -F x",
                      "jq -f x.jq a",
                      "jq -L . a",
                      "xxd a b",
                      "xxd -r a",
                      "xxd -ps a b",
                      "xxd -rev a",
                      "hexdump -f x a",
                      "tree -iPo * x",
                      "tree -Po a x",
                      "tree -L",
                      "tree -L -o x",
                      "tree --fromfile x",
                      "tree *",
                      "tree -o x",
                      "tree -R -L 1 -H .",
                      "tree -aRL 1",
                      "free -x",
                      "shuf -o x a",
                      "tar xf x.tar",
                      "tar tf x.tar --to-command=x",
                      "tar tf x.tar --checkpoint=1",
                      "tar -I x -tf a",
                      "tar tf host:x.tar",
                      "tar tfI x y",
                      "tar tff x y",
                      "tar --list --file=x",
                      "unzip x.zip",
                      "unzip -l x.zip -d y",
                      "unzip -p x.zip -d y",
                      "unzip -po x.zip",
                      "zipinfo",
                      "gzip x",
                      "gzip -d x.gz",
                      "gzip -l x.gz -f",
                      "gzip -dc x.gz -k",
                      "gunzip x.gz",
                      "zcat -f x",
                      "zcat *",
                      "egrep -Z --devices",
                      "egrep --zzz a",
                      "size @x",
                      "size --plugin x a",
                      "who --lookup",
                      "last -d",
                      "last --dns",
                      "last -f x",
                      "lscpu -s x",
                      "lsmod x",
                      "findmnt --poll",
                      "findmnt -F x",
                      "ss -K",
                      "ss -tK dst 1.2.3.4",
                      "ss -D x",
                      "ss -F x",
                      "ss -r",
                      "ss -N x",
                      "ss dst example.org",
                      "dpkg -i x.deb",
                      "dpkg -r bash",
                      "dpkg -L bash --root=x",
                      "dpkg --admindir=x -l",
                      "dpkg -l *",
                      "dpkg-query -W",
                      "getconf -v x PAGESIZE",
                      "strings -T x a",
                      "nm a"});
}

TEST_CASE("git is safe with what reads") {
    check_all(true, {"git status -sb", "git diff HEAD~1 --stat", "git log -p -1 -- a",
                     "git log -L 1,2:a", "git log --format='%h %s'", "git show HEAD:a",
                     "git -C a --no-pager log", "git branch -a", "git branch --merged main",
                     "git branch --list 'a*'", "git tag -l 'v*'", "git remote -v",
                     "git log -- --output=x", "git blame a", "git stash list", "git grep -n x"});
    check_all(false, {"git",
                      "git push",
                      "git -c a=b status",
                      "git --git-dir=a status",
                      "git -p log",
                      "git diff --output=x",
                      "git diff --outp=x",
                      "git log --ext-diff",
                      "git show --textconv",
                      "git branch x",
                      "git branch -v x",
                      "git branch -d x",
                      "git branch --sort=a x",
                      "git branch --sort --list x",
                      "git tag x",
                      "git remote show x",
                      "git stash",
                      "git grep -nO x",
                      "git statusx",
                      "git diff *",
                      "git stat*",
                      "git log --grep -- --output=x",
                      "git diff --submodule=diff"});
}

TEST_CASE("a format of git that starts the signature program is not safe") {
    check_all(false,
              {"git log --format=%G?", "git log --pretty=format:%GK", "git show --format=%+GS",
               "git log --format='%- G?'", "git branch --format='%(signature)'",
               "git branch --sort=signature", "git log --pretty=mine", "git log --show-signature",
               "git shortlog --group=format:%G?", "git shortlog --group=%GS"});
    check_all(true,
              {"git log --format=%h", "git log --pretty=oneline", "git log --pretty=tformat:%an",
               "git shortlog --group=author", "git shortlog --group=format:%an"});
}

TEST_CASE("names that a pattern brings in must not be options that matter") {
    check_all(true,
              {"ls *", "wc -l *", "cat *.c", "grep x *", "sort a/*", "rg x ./*", "sort -- *"});
    check_all(false, {"sort *", "rg x *.c", "git diff ?", "base64 [a]", "sort -*", "sort --key=*",
                      "*/ls"});
}

TEST_CASE("printf is safe with text alone") {
    check_all(true, {"printf '%s\\n' a b", "printf hello", "printf '%-5s|%%' a", "printf '%b' a"});
    check_all(false, {"printf", "printf -v x a", "printf %n a", "printf '%s%n' a b", "printf %d a",
                      "printf %*s 1 a", "printf *"});
}

TEST_CASE("what a shell's own commands are given is not computed") {
    check_all(true, {"exit", "exit 1", "type ls", "type -a ls /usr/bin/ls", "command -v ls"});
    check_all(false, {"exit 'path[1]'", "exit x", "exit 1 2", "exit -1", "exit *", "type 'a[1]'",
                      "type -a 'a[$(x)]'", "command -v 'a[1]'", "type -Z a"});
}

TEST_CASE("set is safe with what ends a script sooner") {
    check_all(true, {"set -e", "set -eu", "set -o pipefail", "set -euo pipefail", "set -e -u",
                     "set -o errexit -o nounset"});
    check_all(false, {"set", "set -x", "set -o xtrace", "set -o", "set -e x", "set -- x", "set +e",
                      "set -o pipefail x", "set -a", "set -eo", "set x=y"});
}

TEST_CASE("a program must be trusted, and its name is taken literally") {
    check_all(false,
              {"./ls", "../ls", "/tmp/ls", "LS", "lsx", "'ls '", "sudo ls", "env ls", "make"});
}

TEST_CASE("a path is straight when nothing in it leads elsewhere") {
    CHECK(is_straight_path("ls"));
    CHECK(is_straight_path("/usr/bin/ls"));
    for (const char* path :
         {"./ls", "bin/ls", "/usr/bin/../x", "/usr/./ls", "//ls", "/usr/bin/..", "/a/"}) {
        CAPTURE(path);
        CHECK_FALSE(is_straight_path(path));
    }
}

TEST_CASE("forced removal is dangerous however it is written") {
    for (const char* command : {"rm -f a",
                                "rm -rf a",
                                "rm -r -f a",
                                "rm a -f",
                                "rm --force a",
                                "rm --forc a",
                                "/bin/rm -rf a",
                                "sudo rm -rf a",
                                "sudo -u x rm -rf a",
                                "env A=1 rm -rf a",
                                "nice -n 5 rm -rf a",
                                "timeout 5 rm -f a",
                                "timeout -s KILL 5 rm -f a",
                                "xargs -0 rm -f",
                                "find . -exec rm -f {} +",
                                "if a; then rm -f b; fi",
                                "ls | rm -f a",
                                "echo $(rm -f a)",
                                "for i in 1; do rm -f $i; done",
                                "bash -c 'rm -f a'",
                                "eval 'rm -f a'",
                                "git reset --hard",
                                "git -C a reset --hard",
                                "git clean -fdx",
                                "dd if=a of=/dev/sda",
                                "dd of=//dev/sda",
                                "dd of=/./dev/sda",
                                "dd of=/tmp/../dev/sda",
                                "env --s='rm -rf a'",
                                "env - rm -rf a",
                                "sudo --us root rm -rf a",
                                "git -c alias.x='!rm -rf a' x",
                                "bash <<< 'rm -rf a'",
                                "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf a",
                                "mkfs.ext4 a"}) {
        CAPTURE(command);
        CHECK(is_dangerous_text(command));
    }
}

TEST_CASE("what only looks like forced removal is not dangerous") {
    for (const char* command :
         {"rm a", "rm -r a", "rm -- -f", "echo rm -rf a", "echo 'rm -rf a'", "$x -rf a",
          "grep 'rm -rf' a", "git reset a", "git clean -n", "dd of=/dev/../tmp/a",
          "dd if=a of=/dev/null", "cat <<E\nrm -rf a\nE"}) {
        CAPTURE(command);
        CHECK_FALSE(is_dangerous_text(command));
    }
}

TEST_CASE("the commands that a command starts are found") {
    using Words = std::vector<std::string>;

    const auto started =
        with_started_commands({"sudo", "-u", "me", "env", "A=1", "sh", "-c", "ls -l"}).commands;

    REQUIRE(started.size() == 4);
    CHECK(started[1] == Words{"env", "A=1", "sh", "-c", "ls -l"});
    CHECK(started[2] == Words{"sh", "-c", "ls -l"});
    CHECK(started[3] == Words{"ls", "-l"});
}

TEST_CASE("launchers in each other end the search at some depth") {
    std::vector<std::string> words(100, "sudo");

    const ew::core::FoundCommands found = with_started_commands(words);
    CHECK(found.commands.size() < 10);
    CHECK_FALSE(found.is_whole);
}

TEST_CASE("only a shell with a script and nothing else is taken apart") {
    CHECK(is_plain_shell_call({"bash", "-lc", "ls"}));
    CHECK(is_plain_shell_call({"/bin/sh", "-c", "ls"}));
    CHECK_FALSE(is_plain_shell_call({"bash", "-ic", "ls"}));
    CHECK_FALSE(is_plain_shell_call({"bash", "-c", "ls", "x"}));
    CHECK_FALSE(is_plain_shell_call({"bash", "-c"}));
    CHECK_FALSE(is_plain_shell_call({"bash", "-c", "-s"}));
    CHECK_FALSE(is_plain_shell_call({"bash", "-c", "+x ls"}));
    CHECK_FALSE(is_plain_shell_call({"fish", "-c", "ls"}));
}

TEST_SUITE_END();
