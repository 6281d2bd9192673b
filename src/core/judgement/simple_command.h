// A simple command of a script: variables, words and redirections in any order (sh, Shell Command
// Language, 2.9.1).
#pragma once

#include "core/judgement/here_documents.h"
#include "core/judgement/script_reading.h"
#include "core/judgement/shell_words.h"

#include <optional>
#include <string>
#include <vector>

namespace ew::core {

struct Assignment {
    std::string name;
    std::optional<std::string> value; // nullopt: it is not known
    bool is_expanded = false;         // the value holds variables
};

struct SimpleCommand {
    ShellCommand command = {};
    std::vector<bool> is_several = {}; // one per word: see ShellWord
    std::vector<Assignment> assignments = {};
    bool has_redirection = false;
    bool has_input = false; // the shell opens a file or a text for it
};

class CommandReader {
public:
    CommandReader(ScriptReading& reading, HereDocuments& documents, OutputFiles output_files)
        : in_(reading), documents_(documents), output_files_(output_files) {}

    // Reads up to the next operator or the end of the line.
    SimpleCommand read();

    // Reads a redirection into `simple`. Returns false if there is none here.
    bool redirection(SimpleCommand& simple);

private:
    void take_word(SimpleCommand& simple);
    void take_assignment(SimpleCommand& simple, const ShellWord& word);
    bool takes_output_file(ShellCommand& command);
    void input();
    bool takes_process();
    static void add_process(SimpleCommand& simple);

    ScriptReading& in_;
    HereDocuments& documents_;
    OutputFiles output_files_;
};

} // namespace ew::core
