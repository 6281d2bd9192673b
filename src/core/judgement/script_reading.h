// How far the reading of a script has come, and what it knows of the shell's variables.
#pragma once

#include "core/judgement/shell_words.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ew::core {

// One word as the shell will pass it on, as far as that is known.
struct ShellWord {
    std::string text;         // a * stands for what is not known
    bool is_written = false;  // false if there was only a joined line
    bool has_glob = false;    // file names may replace it, or a part of it is not known
    bool is_several = false;  // it may become several words, or none
    bool is_split = false;    // an unknown part may be split, so nothing of the text is certain
    bool is_expanded = false; // it holds variables
    bool is_bare = true;      // it has no quotes and no expansions, so it can be grammar
    std::size_t equals = 0;   // where the value begins if it is written as NAME=value, else 0
    std::vector<std::string> words = {}; // if braces make several words of it
};

struct ShellValue {
    std::optional<std::string> text = {}; // nullopt: it is not known
    bool is_pattern = false;              // it is one of the names that the pattern stands for
};

// The variables that a script has set itself, HOME and PWD.
using ShellVariables = std::map<std::string, ShellValue, std::less<>>;

constexpr std::string_view not_understood = "the syntax is not understood";
constexpr std::string_view other_redirection =
    "a redirection that is not to or from /dev/null or a plain file";
constexpr std::string_view document_in_line = "a here-document in a line that goes on";

struct ScriptReading {
    ScriptReading(std::string_view script, Dialect by) : text(script), dialect(by) {}

    std::string_view text;
    Dialect dialect;
    std::size_t at = 0;
    bool is_plain = true; // see Script
    std::string obstacle = {};
    ShellVariables variables = {{"HOME", {}}, {"PWD", {}}};
    // Reads the commands of a substitution, up to and with its closing parenthesis.
    std::function<void()> read_commands = {};

    bool is_good() const { return obstacle.empty(); }

    void fail(std::string_view reason) {
        if (is_good()) obstacle = reason;
    }

    char here() const { return at < text.size() ? text[at] : '\0'; }

    char next() const { return at + 1 < text.size() ? text[at + 1] : '\0'; }

    bool has_ended() const { return at >= text.size(); }

    std::string_view rest() const { return text.substr(at); }

    // Returns true at the end, too.
    bool is_at(std::string_view characters) const {
        return has_ended() || characters.find(here()) != std::string_view::npos;
    }

    // Returns the characters up to the next blank or operator.
    std::string_view keyword() const {
        return rest().substr(0, rest().find_first_of(" \t\n;&|<>()"));
    }

    // Goes behind that keyword if it is here.
    bool take_keyword(std::string_view word);

    // Fails if it is not here.
    void expect(std::string_view word);

    // Counts text that the script does not hold itself, and fails if it is too much.
    void spend(std::size_t bytes);

    void skip_blanks(); // also a backslash that joins lines
    void skip_comment();

private:
    std::size_t spent_ = 0;
};

// Reads the word that begins here, up to a blank or an operator.
ShellWord read_shell_word(ScriptReading& reading);

} // namespace ew::core
