#include "core/judgement/simple_command.h"

#include "core/judgement/redirections.h"

#include <string_view>
#include <utility>

namespace ew::core {

namespace {

// Of a word that may be split, only its beginning is known: sub/$x is sub/*, or that and more
// words.
std::vector<std::string> split_words(std::string_view text) {
    const std::string_view start = text.substr(0, text.find_first_of("*?["));
    if (start.empty()) return {"*"};
    return {std::string(start) + "*", "*"};
}

} // namespace

SimpleCommand CommandReader::read() {
    SimpleCommand simple;
    for (in_.skip_blanks(); in_.is_good() && !in_.is_at("\n;&|)"); in_.skip_blanks()) {
        if (in_.here() == '#')
            in_.skip_comment();
        else if (takes_process())
            add_process(simple);
        else if (!redirection(simple))
            take_word(simple);
    }
    return simple;
}

void CommandReader::take_word(SimpleCommand& simple) {
    ShellWord read = read_shell_word(in_);
    if (!in_.is_good()) return;
    if (in_.here() == '(') return in_.fail("parentheses: a function or a pattern");
    if (in_.here() == '<' || in_.here() == '>') return in_.fail(other_redirection);
    if (read.equals > 0 && simple.command.words.empty()) return take_assignment(simple, read);
    if (read.words.empty() && read.is_split)
        read.words = split_words(read.text);
    else if (read.words.empty())
        read.words.push_back(std::move(read.text));
    for (std::string& text : read.words) {
        simple.command.words.push_back(std::move(text));
        simple.command.has_glob.push_back(read.has_glob);
        simple.is_several.push_back(read.is_several);
    }
}

// <(…) is a name such as /dev/fd/63. It must be a word of its own.
bool CommandReader::takes_process() {
    if (in_.dialect != Dialect::bash || !in_.rest().starts_with("<(")) return false;
    in_.at += 2;
    in_.read_commands();
    if (!in_.is_at(" \t\n;&|)")) in_.fail(other_redirection);
    return true;
}

void CommandReader::add_process(SimpleCommand& simple) {
    simple.command.words.emplace_back("/dev/fd/*");
    simple.command.has_glob.push_back(true);
    simple.is_several.push_back(false);
}

void CommandReader::take_assignment(SimpleCommand& simple, const ShellWord& word) {
    if (in_.dialect == Dialect::zsh || !word.words.empty()) return in_.fail("a variable is set");
    in_.is_plain = false;
    Assignment assignment{word.text.substr(0, word.equals - 1), std::nullopt, word.is_expanded};
    if (!word.has_glob) assignment.value = word.text.substr(word.equals);
    simple.assignments.push_back(std::move(assignment));
}

bool CommandReader::redirection(SimpleCommand& simple) {
    const char c = in_.here();
    const bool has_number = c >= '0' && c <= '9' && (in_.next() == '<' || in_.next() == '>');
    if (c != '<' && c != '>' && !has_number) return false;
    simple.has_redirection = true;
    if (const std::size_t length = harmless_redirection(in_.rest()); length > 0) {
        in_.at += length;
    } else if (c == '<') {
        simple.has_input = true;
        input();
    } else if (!takes_output_file(simple.command)) {
        in_.fail(other_redirection);
    }
    return true;
}

bool CommandReader::takes_output_file(ShellCommand& command) {
    if (output_files_ == OutputFiles::refused) return false;
    const OutputFile file = output_file(in_.rest());
    if (file.length == 0) return false;
    command.written.emplace_back(file.path);
    in_.at += file.length;
    return true;
}

void CommandReader::input() {
    if (in_.rest().starts_with("<<")) return documents_.begin(in_);
    if (in_.dialect == Dialect::zsh || in_.next() == '&' || in_.next() == '>')
        return in_.fail(other_redirection);
    in_.is_plain = false;
    ++in_.at;
    in_.skip_blanks();
    if (takes_process()) return;
    const ShellWord path = read_shell_word(in_);
    const bool is_literal = path.is_written && !path.has_glob && path.words.empty();
    // bash opens connections in place of files in /dev/tcp and /dev/udp.
    const bool is_device = path.text.find("/dev/") != std::string::npos;
    if (!is_literal || path.text.empty() || is_device || !in_.is_at(" \t\n;&|)"))
        in_.fail(other_redirection);
}

} // namespace ew::core
