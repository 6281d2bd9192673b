#include "patch/recognise.h"

#include "patch/lines.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ew::patch {

namespace {

constexpr std::string_view blanks = " \t";
constexpr std::string_view blanks_and_newlines = " \t\n";

bool is_apply_patch(std::string_view name) {
    return name == "apply_patch" || name == "applypatch";
}

bool is_shell(std::string_view program) {
    constexpr std::array<std::string_view, 6> shells = {"ash", "bash", "dash", "ksh", "sh", "zsh"};
    if (program.starts_with('/')) program.remove_prefix(program.rfind('/') + 1);
    return std::find(shells.begin(), shells.end(), program) != shells.end();
}

bool is_patch_itself(std::string_view text) {
    text = trimmed(text);
    return trimmed(text.substr(0, text.find('\n'))) == "*** Begin Patch";
}

// Returns true if the character is literal in an unquoted word of every shell.
bool is_plain(char c) {
    constexpr std::string_view marks = "_@%+:,./-";
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80 || marks.find(c) != std::string_view::npos;
}

// Consumes a script from the front. A failed take consumes nothing.
class Script {
public:
    explicit Script(std::string_view text) : rest_(text) {}

    void skip(std::string_view characters) {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(characters), rest_.size()));
    }

    bool take(std::string_view text) {
        if (!rest_.starts_with(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }

    bool take_blanks() {
        const std::size_t size = rest_.size();
        skip(blanks);
        return rest_.size() < size;
    }

    std::string_view take_plain() {
        const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_plain);
        const std::string_view word =
            rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
        rest_.remove_prefix(word.size());
        return word;
    }

    // Takes a word or a quoted string without expansions. Returns an empty text if there is none.
    std::string_view take_word() {
        const char quote = rest_.empty() ? '\0' : rest_.front();
        if (quote != '\'' && quote != '"') return take_plain();
        const std::size_t end = rest_.find(quote, 1);
        if (end == std::string_view::npos) return {};
        const std::string_view text = rest_.substr(1, end - 1);
        if (quote == '"' && text.find_first_of("$`\\!") != std::string_view::npos) return {};
        rest_.remove_prefix(end + 1);
        return text;
    }

    // Takes the lines before the delimiter line.
    std::optional<std::string_view> take_body(std::string_view delimiter) {
        for (std::size_t begin = 0; begin < rest_.size();) {
            const std::size_t end = std::min(rest_.find('\n', begin), rest_.size());
            if (rest_.substr(begin, end - begin) == delimiter) {
                const std::string_view body = rest_.substr(0, begin);
                rest_.remove_prefix(end);
                return body;
            }
            begin = end + 1;
        }
        return std::nullopt;
    }

    bool is_at_end() const { return rest_.empty(); }

private:
    std::string_view rest_;
};

// Takes the directory in `cd DIRECTORY &&`. Returns an empty text if there is something else.
std::string_view take_directory(Script& script) {
    if (!script.take_blanks()) return {};
    const std::string_view directory = script.take_word();
    const bool is_flag = directory.starts_with('-') || directory.starts_with('+'); // + in zsh
    if (is_flag) return {};
    script.skip(blanks);
    if (!script.take("&&")) return {};
    script.skip(blanks_and_newlines);
    return directory;
}

std::optional<PatchCall> call_in(std::string_view text) {
    PatchCall call;
    Script script(text);
    script.skip(blanks_and_newlines);
    std::string_view name = script.take_plain();
    if (name == "cd") {
        call.directory = take_directory(script);
        if (call.directory.empty()) return std::nullopt;
        name = script.take_plain();
    }
    if (!is_apply_patch(name)) return std::nullopt;
    script.skip(blanks);
    if (!script.take("<<")) return std::nullopt;
    script.skip(blanks);
    const std::string_view delimiter = script.take_word();
    script.skip(blanks);
    // With <<- the shell removes tabs from the lines.
    if (delimiter.empty() || delimiter.starts_with('-') || !script.take("\n")) return std::nullopt;
    const std::optional<std::string_view> body = script.take_body(delimiter);
    script.skip(blanks_and_newlines);
    if (!body || !script.is_at_end()) return std::nullopt;
    call.patch = *body;
    return call;
}

} // namespace

Result<std::optional<PatchCall>> recognise(const std::vector<std::string>& argv) {
    const bool is_script =
        argv.size() == 3 && is_shell(argv[0]) && (argv[1] == "-c" || argv[1] == "-lc");
    if ((argv.size() == 1 && is_patch_itself(argv[0])) || (is_script && is_patch_itself(argv[2])))
        return Error{ErrorKind::invalid_params,
                     "the command is a patch itself, and names no program",
                     "put apply_patch in front of it, and the patch into one argument"};
    if (argv.size() == 2 && is_apply_patch(argv[0])) return std::optional(PatchCall{argv[1]});
    if (!is_script) return std::optional<PatchCall>();
    return call_in(argv[2]);
}

} // namespace ew::patch
