#include "core/judgement/safe_programs.h"

#include "core/judgement/command_safety.h"
#include "core/judgement/program_options.h"
#include "core/judgement/safe_filters.h"
#include "core/judgement/safe_find.h"
#include "core/judgement/safe_git.h"
#include "core/judgement/safe_listing.h"
#include "core/judgement/safe_starters.h"
#include "core/judgement/shell_builtins.h"

#include <algorithm>
#include <array>
#include <limits>

namespace ew::core {

namespace {

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

struct Program {
    std::string_view name;
    KnownOptions options;
    std::size_t most_operands = any_number;
};

// Options from the manuals of GNU coreutils 9.1, grep 3.8, ripgrep 13, file 5.44, diffutils 3.8,
// util-linux 2.38, procps 4.0, psmisc 23.6, iproute2 6.1, gzip 1.12 and binutils 2.40. Options that
// write, start a program, use the network or read words from elsewhere are missing.
constexpr std::array programs = {
    Program{"base64", {"diw:", "decode ignore-garbage wrap= help version"}},
    Program{"base32", {"diw:", "decode ignore-garbage wrap= help version"}},
    Program{"basename", {"as:z", "multiple suffix= zero help version", false, true}},
    Program{"bzcat", {}},
    Program{"cal", {"13ymjNhVA:B:n:", "help version"}},
    Program{"cat",
            {"AbeEnstTuv",
             "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting "
             "help version",
             false, true}},
    Program{"cd", {"LPe@", "", false, true}},
    Program{"cksum", {"a:z", "algorithm= check tag untagged zero help version"}},
    Program{"cmp", {"bi:ln:s", "print-bytes ignore-initial= verbose bytes= quiet silent help"}},
    Program{"column",
            {"txs:o:c:N:H:R:", "table fillrows separator= output-separator= table-columns= "
                               "table-hide= table-right= help version"}},
    Program{"comm",
            {"123z", "check-order nocheck-order output-delimiter= total zero-terminated help"}},
    Program{"cut",
            {"b:c:d:f:nsz",
             "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= "
             "zero-terminated help version",
             false, true}},
    Program{"arch", {"", "help version"}, 0},
    Program{"df",
            {"aB:hHiklPt:Tx:v",
             "all block-size= human-readable si inodes local portability total type= print-type "
             "exclude-type= output? help version"}},
    Program{"diff",
            {"qrNuabBwiyctTpsdeEZU:C:W:I:x:",
             "brief recursive new-file unified? context? text ignore-all-space ignore-space-change "
             "ignore-blank-lines ignore-case side-by-side width= suppress-common-lines "
             "report-identical-files minimal exclude= color? label= strip-trailing-cr "
             "show-c-function ignore-matching-lines= help version"}},
    Program{"diff3",
            {"eExX3AaimTL:E", "text show-all merge initial-tab ed overlap-only help version"}},
    Program{"dirname", {"z", "zero help version", false, true}},
    Program{"du",
            {"0aAB:bcDd:HhklLmPSst:xX:",
             "null all apparent-size block-size= bytes total dereference-args max-depth= "
             "human-readable inodes dereference count-links no-dereference separate-dirs si "
             "summarize threshold= time? time-style= exclude-from= exclude= one-file-system help "
             "version",
             false, true}},
    Program{"expand", {"it:", "initial tabs= help version", true, true}},
    Program{"file",
            {"bihLkNnrE0", "brief mime mime-type mime-encoding dereference "
                           "no-dereference keep-going no-pad raw print0 help version"}},
    Program{"fmt",
            {"cp:stuw:g:",
             "crown-margin prefix= split-only tagged-paragraph uniform-spacing width= "
             "goal= help version",
             true, true}},
    Program{"free",
            {"bkmghtwlvs:c:",
             "bytes kibi mebi gibi kilo mega giga human total wide lohi seconds= "
             "count= help version",
             false, true}},
    Program{"grep",
            {"EFGPe:f:iywxzsvVm:bnHhoqaId:D:rRLlcTZB:A:C:U",
             "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file= ignore-case "
             "no-ignore-case word-regexp line-regexp null-data no-messages invert-match version "
             "help max-count= byte-offset line-number line-buffered with-filename no-filename "
             "label= only-matching quiet silent binary-files= text directories= devices= recursive "
             "dereference-recursive include= exclude= exclude-from= exclude-dir= "
             "files-without-match files-with-matches count initial-tab null before-context= "
             "after-context= context= group-separator= no-group-separator color? colour? binary",
             true, true}},
    Program{"findmnt",
            {"aADJlmnPrRsUuvo:O:S:t:T:M:",
             "all ascii df json list mtab noheadings pairs raw invert fstab kernel uniq notruncate "
             "output= options= source= types= target= mountpoint= help version"}},
    Program{"groups", {"", "help version", false, true}},
    Program{
        "head",
        {"c:n:qvz", "bytes= lines= quiet silent verbose zero-terminated help version", true, true}},
    Program{"hexdump",
            {"bCcdoxvn:s:",
             "one-byte-octal canonical one-byte-char two-bytes-decimal "
             "two-bytes-octal two-bytes-hex no-squeezing length= skip= help version"}},
    Program{"id",
            {"agGnruzZ", "context group groups name real user zero help version", false, true}},
    Program{"locale",
            {"amckv", "all-locales charmaps category-name keyword-name verbose help "
                      "version"}},
    Program{"last",
            {"aFiRwxn:p:s:t:",
             "hostlast fulltimes ip nohostname fullnames system limit= present= since= until= help "
             "version",
             true}},
    Program{"ls",
            {"aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
             "all almost-all author escape block-size= ignore-backups color? directory dired "
             "classify? file-type format= full-time group-directories-first no-group "
             "human-readable si dereference-command-line dereference-command-line-symlink-to-dir "
             "hide= hyperlink? indicator-style= inode ignore= kibibytes dereference "
             "numeric-uid-gid literal hide-control-chars show-control-chars quote-name "
             "quoting-style= reverse recursive size sort= time= time-style= tabsize= width= "
             "context zero help version",
             false, true}},
    Program{"lsblk",
            {"abdfiJlmnOPprsStzo:x:I:e:w:",
             "all bytes nodeps fs ascii json list perms noheadings output-all pairs paths raw "
             "inverse scsi topology zoned output= sort= include= exclude= width= help version"}},
    Program{"lscpu",
            {"aBbcC::e::Jp::xy",
             "all bytes online offline caches? extended? json parse? hex physical "
             "output-all raw help version"}},
    Program{"lsmod", {"", ""}, 0},
    Program{"nl",
            {"b:d:f:h:i:l:n:ps:v:w:",
             "body-numbering= section-delimiter= footer-numbering= header-numbering= "
             "line-increment= join-blank-lines= number-format= no-renumber number-separator= "
             "starting-line-number= number-width= help version",
             false, true}},
    Program{"nproc", {"", "all ignore= help version"}, 0},
    Program{"numfmt",
            {"d:z",
             "debug delimiter= field= format= from= from-unit= grouping header? invalid= padding= "
             "round= suffix= to= to-unit= zero-terminated help version",
             true, true}},
    Program{"objdump",
            {"afhpxdDsTtrRCwz",
             "archive-headers file-headers private-headers headers all-headers section-headers "
             "disassemble disassemble-all full-contents syms dynamic-syms reloc dynamic-reloc "
             "demangle no-show-raw-insn wide disassemble-zeroes section= start-address= "
             "stop-address= help version"}},
    Program{"od",
            {"A:j:N:S::t:vw::abcdfilosx",
             "address-radix= endian= skip-bytes= read-bytes= strings? format= output-duplicates "
             "width? traditional help version"}},
    Program{"paste", {"d:sz", "delimiters= serial zero-terminated help version", false, true}},
    Program{"pstree",
            {"aAcghlnpsStTuUV",
             "arguments ascii compact-not show-pgids highlight-all long numeric-sort show-pids "
             "show-parents ns-changes thread-names hide-threads uid-changes unicode version"}},
    Program{"pwd", {"LP", "logical physical help version", false, true}},
    Program{"readlink",
            {"femnqsvz",
             "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent "
             "verbose zero help version",
             false, true}},
    Program{"realpath",
            {"emLPqsz",
             "canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks "
             "zero relative-to= relative-base= help version",
             false, true}},
    Program{"rev", {"hV", "help version", false, true}},
    Program{"rg",
            {"A:B:C:bcd:e:E:f:Fg:HiIj:lLm:M:nNoOpPqr:sSt:T:uUvVwx0a.",
             "after-context= before-context= context= byte-offset count count-matches max-depth= "
             "regexp= encoding= file= fixed-strings glob= iglob= with-filename no-filename "
             "ignore-case threads= files-with-matches files-without-match files follow "
             "max-count= max-columns= max-columns-preview line-number no-line-number "
             "only-matching pretty pcre2 no-pcre2 quiet replace= case-sensitive smart-case type= "
             "type-not= type-list type-add= unrestricted multiline multiline-dotall no-multiline "
             "invert-match version word-regexp line-regexp null text binary hidden no-hidden "
             "heading no-heading color= colors= column no-column no-ignore no-ignore-vcs "
             "no-ignore-dot no-ignore-files no-ignore-global no-ignore-parent no-ignore-exclude "
             "no-ignore-messages no-messages no-config sort= sortr= stats trim vimgrep json "
             "passthru max-filesize= one-file-system crlf null-data engine= include-zero "
             "glob-case-insensitive context-separator= field-context-separator= "
             "field-match-separator= path-separator= auto-hybrid-regex block-buffered "
             "line-buffered mmap no-mmap debug trace help"}},
    Program{"seq", {"f:s:w", "format= separator= equal-width help version", true, true}},
    Program{"size", {"ABdoxtG", "format= radix= common totals help version"}},
    Program{"sort",
            {"bdfghiMnRrVcCmk:st:S:uz",
             "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort "
             "ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse "
             "sort= version-sort check? merge key= stable field-separator= buffer-size= parallel= "
             "unique zero-terminated debug help version"}},
    // Without -r, which looks names up, as operands do, -K, which closes connections, and -D, which
    // writes.
    Program{"ss",
            {"hHOnaltuwxpsiemobzE460dSf:",
             "help version no-header oneline numeric all listening tcp udp raw unix processes "
             "summary info extended memory options bpf contexts ipv4 ipv6 family= query="},
            0},
    Program{"stat",
            {"Lfc:t", "dereference file-system cached= format= printf= terse help version", false,
             true}},
    Program{"strings",
            {"an:t:e:wfs:", "all bytes= radix= encoding= include-all-whitespace print-file-name "
                            "output-separator= help version"}},
    Program{"tac", {"brs:", "before regex separator= help version", false, true}},
    Program{"tail",
            {"c:fFn:qs:vz",
             "bytes= follow? lines= max-unchanged-stats= pid= quiet silent retry "
             "sleep-interval= verbose zero-terminated help version",
             true, true}},
    Program{"tr",
            {"cCdst", "complement delete squeeze-repeats truncate-set1 help version", false, true}},
    Program{"tty", {"s", "silent quiet help version"}, 0},
    Program{"uname",
            {"asnrvmpio",
             "all kernel-name nodename kernel-release kernel-version machine processor "
             "hardware-platform operating-system help version",
             false, true}},
    Program{"unexpand", {"at:", "all first-only tabs= help version", true, true}},
    Program{"uptime", {"ps", "pretty since help version"}, 0},
    Program{"uniq",
            {"cdDf:is:uzw:",
             "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique "
             "zero-terminated check-chars= help version"},
            1},
    Program{"vmstat",
            {"afdDmnstwS:p:", "active forks slabs one-header stats disk disk-sum partition= unit= "
                              "wide timestamp help version"}},
    Program{"w", {"husfoi", "no-header no-current short from old-style ip-addr help version"}},
    Program{"wc",
            {"clmLw", "bytes chars lines files0-from= max-line-length words total= help version",
             false, true}},
    Program{"whereis", {"bmsul", ""}},
    Program{"which", {"as", ""}},
    Program{"who",
            {"abdHlmpqrstTuw", "all boot dead heading login process count runlevel short time "
                               "users message writable mesg help version"}},
    Program{"whoami", {"", "help version", false, true}},
    Program{"xzcat", {}},
    Program{"zcat", {}},
};

constexpr KnownOptions checksum_options = {
    "bctwz", "binary check tag text zero ignore-missing quiet status strict warn help version"};

// These programs only print, evaluate or ignore their words.
constexpr std::string_view takes_anything = ": echo expr false true";
constexpr std::string_view checksums = "b2sum md5sum sha1sum sha224sum sha256sum sha384sum "
                                       "sha512sum";

// These take further options from a file that is named as @FILE (binutils).
constexpr std::string_view reads_options = "objdump size strings";

// grep by another name.
constexpr std::string_view greps = "egrep fgrep";

struct SpecialProgram {
    std::string_view name;
    bool (*is_safe)(const ShellCommand&);
};

bool is_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Returns true for a program name without anything that a shell could evaluate.
bool is_plain_name(std::string_view word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digits({&c, 1}) ||
               std::string_view("_./:,@%+-").find(c) != std::string_view::npos;
    });
}

bool has_plain_names(const ShellCommand& command) {
    return std::all_of(command.words.begin() + 1, command.words.end(), is_plain_name);
}

// `command -v NAME`. With other words, the shell's script has an obstacle.
bool is_safe_lookup(const ShellCommand& command) {
    return command.words.size() >= 3 && (command.words[1] == "-v" || command.words[1] == "-V") &&
           has_plain_names(command);
}

bool is_safe_type(const ShellCommand& command) {
    const auto read = read_words(command, 1, {.shorts = "aftpP"});
    return read && has_plain_names(command);
}

// zsh and ksh evaluate the exit status, and that runs the commands in a subscript.
bool is_safe_exit(const ShellCommand& command) {
    return command.words.size() == 1 || (command.words.size() == 2 && is_digits(command.words[1]));
}

constexpr std::array special_programs = {
    SpecialProgram{"[", is_safe_test},          SpecialProgram{"test", is_safe_test},
    SpecialProgram{"command", is_safe_lookup},  SpecialProgram{"date", is_safe_date},
    SpecialProgram{"exit", is_safe_exit},       SpecialProgram{"getconf", is_safe_getconf},
    SpecialProgram{"tar", is_safe_tar},         SpecialProgram{"tree", is_safe_tree},
    SpecialProgram{"unzip", is_safe_unzip},     SpecialProgram{"git", is_safe_git},
    SpecialProgram{"printf", is_safe_printf},   SpecialProgram{"sed", is_safe_sed},
    SpecialProgram{"type", is_safe_type},       SpecialProgram{"awk", is_safe_awk},
    SpecialProgram{"gawk", is_safe_awk},        SpecialProgram{"mawk", is_safe_awk},
    SpecialProgram{"set", is_safe_set},         SpecialProgram{"gzip", is_safe_gzip},
    SpecialProgram{"zipinfo", is_safe_zipinfo}, SpecialProgram{"dpkg", is_safe_dpkg},
    SpecialProgram{"dpkg-query", is_safe_dpkg},
};

bool has_safe_words(const ShellCommand& command, const KnownOptions& options,
                    std::size_t most_operands) {
    const auto read = read_words(command, 1, options);
    if (!read) return false;
    if (most_operands == any_number) return true;
    const bool has_pattern =
        std::any_of(read->operands.begin(), read->operands.end(),
                    [&](std::size_t operand) { return command.has_glob[operand]; });
    return read->operands.size() <= most_operands && !has_pattern;
}

// What is started is a file, also where the shell has a builtin of that name.
bool are_safe_starts(const std::optional<std::vector<ShellCommand>>& started,
                     const ProgramTrust& trust) {
    return started && std::ranges::all_of(*started, [&](const ShellCommand& command) {
               return !is_shell_builtin(command.words.front()) && is_known_safe(command, trust);
           });
}

} // namespace

// An operand without + sets the clock.
bool is_safe_date(const ShellCommand& command) {
    constexpr KnownOptions options = {
        "d:I::r:Ru", "date= iso-8601? reference= rfc-email rfc-3339= utc universal help version"};
    const auto read = read_words(command, 1, options);
    return read && std::all_of(read->operands.begin(), read->operands.end(),
                               [&](std::size_t i) { return command.words[i].starts_with('+'); });
}

// The shell's printf assigns variables with -v and %n, and zsh evaluates the argument of %d. In
// both, the subscript of an array can run commands.
bool is_safe_printf(const ShellCommand& command) {
    if (command.words.size() < 2 || command.has_glob[1]) return false;
    const std::string_view format = command.words[1];
    if (format.starts_with('-')) return false;
    std::size_t at = format.find('%');
    while (at != std::string_view::npos) {
        at = format.find_first_not_of("#0- +123456789.", at + 1);
        if (at == std::string_view::npos) return true;
        if (std::string_view("bcsq%").find(format[at]) == std::string_view::npos) return false;
        at = format.find('%', at + 1);
    }
    return true;
}

bool is_known_safe(const ShellCommand& command, const ProgramTrust& trust) {
    if (command.words.empty() || command.has_glob.front()) return false;
    const std::string& word = command.words.front();
    if (!trust(word)) return false;
    const std::string_view written = base_name(word);
    const std::string_view name = is_listed(greps, written) ? "grep" : written;
    if (is_listed(takes_anything, name)) return true;
    if (name == "xargs") return are_safe_starts(started_by_xargs(command), trust);
    if (name == "find") return are_safe_starts(started_by_find(command), trust);
    if (is_listed(checksums, name)) return has_safe_words(command, checksum_options, any_number);
    for (const SpecialProgram& program : special_programs)
        if (program.name == name) return program.is_safe(command);
    if (is_listed(reads_options, name) &&
        std::ranges::any_of(command.words,
                            [](std::string_view each) { return each.starts_with('@'); }))
        return false;
    for (const Program& program : programs)
        if (program.name == name)
            return has_safe_words(command, program.options, program.most_operands);
    return false;
}

} // namespace ew::core
