// A parser for the part of the shell's grammar that is the same wherever it is accepted: lists,
// pipelines, groups, subshells, if, for, while and simple commands.
#include "core/judgement/shell_words.h"

#include "core/judgement/command_safety.h"
#include "core/judgement/compound_words.h"
#include "core/judgement/here_documents.h"
#include "core/judgement/hidden_text.h"
#include "core/judgement/program_options.h"
#include "core/judgement/script_reading.h"
#include "core/judgement/shell_builtins.h"
#include "core/judgement/simple_command.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ew::core {

namespace {

constexpr std::size_t longest_script = 65536;
constexpr std::size_t most_commands = 4096;
constexpr int deepest = 16; // nesting of the grammar

// zsh then runs a program that a variable names: a pager or cat (READNULLCMD, NULLCMD in
// zshparam(1)).
constexpr std::string_view redirection_alone = "a redirection without a command";

class Parser {
public:
    Parser(std::string_view text, Dialect dialect, OutputFiles output_files)
        : in_(text, dialect), reader_(in_, documents_, output_files) {
        in_.read_commands = [this] { substitution(); };
    }

    Script parse() {
        if (in_.text.size() > longest_script) in_.fail("the script is too long to be looked at");
        if (in_.is_good() && has_hidden_text(in_.text))
            in_.fail("control characters, unusual blanks or marks that hide what is written");
        if (in_.is_good()) list("");
        if (in_.is_good()) end_script();
        script_.is_plain = in_.is_plain;
        script_.obstacle = std::move(in_.obstacle);
        return std::move(script_);
    }

private:
    // What runs only sometimes, repeatedly or in another process: afterwards, the variables that it
    // sets are not known.
    class Sometimes {
    public:
        explicit Sometimes(Parser& parser) : depth_(parser.sometimes_) { ++depth_; }

        Sometimes(const Sometimes&) = delete;
        Sometimes& operator=(const Sometimes&) = delete;
        Sometimes(Sometimes&&) = delete;
        Sometimes& operator=(Sometimes&&) = delete;

        ~Sometimes() { --depth_; }

    private:
        int& depth_;
    };

    void end_script() {
        if (!in_.has_ended()) return in_.fail("a parenthesis closes nothing");
        if (documents_.are_due()) return in_.fail("a here-document is not closed");
        if (script_.commands.empty()) in_.fail("there is no command in it");
        // A shell joins lines before it reads names and operators.
        if (!in_.is_plain && in_.text.find("\\\n") != std::string_view::npos)
            in_.fail("a joined line between variables or grammar");
    }

    void skip_lines() {
        while (in_.is_good()) {
            in_.skip_blanks();
            if (in_.here() == '#') {
                in_.skip_comment();
            } else if (in_.here() == '\n') {
                ++in_.at;
                documents_.skip(in_);
            } else {
                return;
            }
        }
    }

    // Reads commands up to one of the words, a closing parenthesis or the end.
    void list(std::string_view closers) {
        if (++depth_ > deepest) return in_.fail("the grammar is nested too deeply");
        bool is_empty = true;
        for (skip_lines(); in_.is_good() && !in_.is_at(")"); skip_lines()) {
            if (!closers.empty() && is_listed(closers, in_.keyword())) break;
            and_or();
            is_empty = false;
            if (in_.is_good() && !in_.is_at(")\n")) separator();
        }
        --depth_;
        if (in_.is_good() && is_empty && depth_ > 0) in_.fail(not_understood);
    }

    void separator() {
        if (in_.here() == '&') return in_.fail("& starts something in the background");
        if (in_.here() != ';') return in_.fail(not_understood);
        if (in_.next() == ';') return in_.fail("the syntax is not understood: ;;");
        ++in_.at;
    }

    void and_or() {
        pipeline();
        while (in_.is_good() && (in_.rest().starts_with("&&") || in_.rest().starts_with("||"))) {
            in_.at += 2;
            skip_lines();
            const Sometimes sometimes(*this);
            if (expect_command()) pipeline();
        }
    }

    bool expect_command() {
        if (in_.is_good() && in_.is_at(";&|)\n"))
            in_.fail("an operator without a command behind it");
        return in_.is_good();
    }

    void pipeline() {
        if (in_.dialect != Dialect::zsh) {
            const bool is_negated = in_.take_keyword("!");
            in_.skip_blanks();
            const bool is_timed = in_.dialect == Dialect::bash && in_.take_keyword("time");
            in_.skip_blanks();
            if (is_timed && in_.take_keyword("-p")) in_.skip_blanks();
            if (is_timed && in_.here() == '-') in_.fail("time has options"); // also --
            if ((is_negated || is_timed) && !expect_command()) return;
        }
        command();
        while (in_.is_good() && in_.here() == '|' && in_.next() != '|') {
            if (in_.next() == '&') return in_.fail("|& is not looked into");
            if (is_assignment_) return in_.fail("a variable is set");
            ++in_.at;
            skip_lines();
            const Sometimes sometimes(*this);
            const std::size_t first = script_.commands.size();
            if (expect_command()) command();
            for (std::size_t i = first; i < script_.commands.size(); ++i)
                script_.commands[i].reads_pipe = true;
        }
    }

    void command() {
        if (in_.dialect == Dialect::zsh) return simple_command();
        const std::size_t first = script_.commands.size();
        const bool is_compound = in_.here() == '(' || is_listed("{ if while for", in_.keyword());
        if (is_compound) {
            const Sometimes sometimes(*this);
            compound();
            if (in_.is_good()) end_compound(first);
            is_assignment_ = false;
        } else if (in_.dialect == Dialect::bash && in_.take_keyword("[[")) {
            condition();
            is_assignment_ = false;
        } else {
            simple_command();
        }
    }

    void compound() {
        if (in_.here() == '(') return subshell();
        if (in_.take_keyword("if")) return if_command();
        if (in_.take_keyword("for")) return for_loop();
        if (in_.take_keyword("while")) return while_read();
        in_.expect("{");
        list("}");
        in_.expect("}");
    }

    void subshell() {
        if (in_.next() == '(') return in_.fail("(( )) computes");
        ++in_.at;
        subshell_behind_parenthesis();
    }

    void subshell_behind_parenthesis() {
        in_.is_plain = false;
        const Sometimes sometimes(*this);
        list("");
        if (in_.here() != ')') in_.fail("a parenthesis is not closed");
        if (documents_.are_due()) in_.fail(document_in_line);
        if (in_.is_good()) ++in_.at;
    }

    // Shells differ in where a document begins if a line of the substitution ends first, and some
    // count the parentheses of a document in it.
    void substitution() {
        const int documents = documents_.count();
        if (documents_.are_due()) in_.fail(document_in_line);
        subshell_behind_parenthesis();
        if (documents_.count() != documents) in_.fail(document_in_line);
    }

    void if_command() {
        do {
            list("then");
            in_.expect("then");
            list("elif else fi");
        } while (in_.is_good() && in_.take_keyword("elif"));
        if (in_.is_good() && in_.take_keyword("else")) list("fi");
        in_.expect("fi");
    }

    // Another condition may hold for ever. The second time, variables that the body sets are not
    // known.
    void while_read() {
        const SimpleCommand condition = reader_.read();
        if (!in_.is_good()) return;
        const std::vector<std::string> names = variables_of_read(condition);
        if (names.empty()) return in_.fail(not_understood);
        if (in_.here() == ';') ++in_.at;
        skip_lines();
        const std::size_t begin = in_.at;
        // Its text would be read again as a script.
        if (documents_.are_due()) return in_.fail(document_in_line);
        std::size_t pass = script_.commands.size();
        for (int i = 0; i < 2 && in_.is_good(); ++i) {
            in_.at = begin;
            for (const std::string& name : names)
                in_.variables[name] = {};
            const std::size_t first = script_.commands.size();
            loop_body();
            // These go back in the file that all commands of the loop read, and it never ends.
            if (std::any_of(script_.commands.begin() + static_cast<std::ptrdiff_t>(first),
                            script_.commands.end(), may_go_back))
                in_.fail("a command may go back in the input of its loop");
            in_.spend(in_.at - std::min(begin, in_.at));
            pass = kept_pass(script_.commands, pass, first);
        }
    }

    void loop_body() {
        in_.expect("do");
        list("done");
        in_.expect("done");
        if (documents_.are_due()) in_.fail(document_in_line);
    }

    void for_loop() {
        in_.skip_blanks();
        const std::string name(in_.keyword());
        if (!is_own_variable(name)) return in_.fail("a variable is set");
        in_.at += name.size();
        skip_lines();
        in_.expect("in");
        const std::vector<ShellValue> values = values_of_loop(in_);
        skip_lines();
        const std::size_t begin = in_.at;
        // Its text would be read again as a script.
        if (documents_.are_due()) return in_.fail(document_in_line);
        std::size_t pass = script_.commands.size();
        for (const ShellValue& value : values) {
            if (!in_.is_good()) return;
            in_.at = begin;
            in_.variables[name] = value;
            const std::size_t first = script_.commands.size();
            loop_body();
            in_.spend(in_.at - std::min(begin, in_.at));
            pass = kept_pass(script_.commands, pass, first);
        }
        in_.variables[name] = {};
    }

    void condition() {
        read_condition(in_);
        if (in_.is_good()) end_compound(script_.commands.size());
    }

    // Reads the redirections of all commands from `first` on.
    void end_compound(std::size_t first) {
        SimpleCommand all;
        for (in_.skip_blanks(); in_.is_good() && !in_.is_at("\n;&|)#"); in_.skip_blanks())
            if (!reader_.redirection(all)) return in_.fail(not_understood);
        if (in_.here() == '#') in_.skip_comment();
        script_.has_input = script_.has_input || all.has_input;
        std::vector<ShellCommand>& commands = script_.commands;
        if (all.command.written.empty()) return;
        if (first == commands.size()) return in_.fail(redirection_alone);
        for (std::size_t i = first; i < commands.size(); ++i)
            commands[i].written.insert(commands[i].written.end(), all.command.written.begin(),
                                       all.command.written.end());
    }

    void simple_command() {
        SimpleCommand simple = reader_.read();
        script_.has_input = script_.has_input || simple.has_input;
        if (in_.is_good()) end_simple(simple);
    }

    void end_simple(SimpleCommand& simple) {
        is_assignment_ = simple.command.words.empty();
        if (is_assignment_) return end_without_words(simple);
        if (!std::all_of(simple.assignments.begin(), simple.assignments.end(), is_locale))
            return in_.fail("a variable is set");
        const std::vector<std::string>& words = simple.command.words;
        const bool ends_pass = words.size() == 1 && is_listed("break continue", words[0]);
        if (ends_pass && sometimes_ > 0 && simple.assignments.empty() && !simple.has_redirection) {
            in_.is_plain = false;
            return;
        }
        std::string obstacle = obstacle_of_words(simple.command, simple.is_several, in_.dialect);
        if (!obstacle.empty()) return in_.fail(obstacle);
        if (script_.commands.size() >= most_commands) return in_.fail("too many commands");
        script_.commands.push_back(std::move(simple.command));
    }

    // These locales need no file.
    static bool is_locale(const Assignment& assignment) {
        return (assignment.name == "LANG" || assignment.name.starts_with("LC_")) &&
               !assignment.is_expanded && assignment.value &&
               is_listed("C C.UTF-8 C.utf8 POSIX", *assignment.value);
    }

    void end_without_words(const SimpleCommand& simple) {
        if (simple.has_redirection) return in_.fail(redirection_alone);
        if (simple.assignments.empty())
            return in_.fail("an operator without a command in front of it");
        // The shell sets them one after the other, and each sees the ones before it.
        const auto is_computed = [](const Assignment& one) { return one.is_expanded; };
        if (simple.assignments.size() > 1 &&
            std::any_of(simple.assignments.begin(), simple.assignments.end(), is_computed))
            return in_.fail("variables are set from each other");
        for (const Assignment& assignment : simple.assignments)
            assign(assignment);
    }

    void assign(const Assignment& assignment) {
        if (!is_own_variable(assignment.name)) return in_.fail("a variable is set");
        in_.variables[assignment.name] = {sometimes_ > 0 ? std::nullopt : assignment.value};
    }

    ScriptReading in_;
    HereDocuments documents_;
    CommandReader reader_;
    Script script_;
    int depth_ = 0;
    int sometimes_ = 0;          // see Sometimes
    bool is_assignment_ = false; // the last command only sets variables
};

} // namespace

Script decompose(std::string_view script, Dialect dialect, OutputFiles output_files) {
    return Parser(script, dialect, output_files).parse();
}

std::string_view literal_start(std::string_view word) {
    return word.substr(0, word.find_first_of("*?["));
}

} // namespace ew::core
