// Here-documents with a quoted delimiter: texts that no shell changes (sh, Shell Command Language,
// 2.7.4).
#pragma once

#include "core/judgement/script_reading.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace ew::core {

class HereDocuments {
public:
    // Reads the operator and the delimiter here. Fails if the shell would expand the text.
    void begin(ScriptReading& in);

    // Skips the texts, behind the end of the line with the operators.
    void skip(ScriptReading& in);

    // Returns true if texts begin behind this line.
    bool are_due() const { return !documents_.empty(); }

    // The number of texts so far.
    int count() const { return count_; }

private:
    struct Document {
        std::string_view end;
        bool strips_tabs;
    };

    static void skip(ScriptReading& in, const Document& document);

    std::vector<Document> documents_;
    int count_ = 0;
    std::size_t first_ = 0; // the offset of the first operator
};

} // namespace ew::core
