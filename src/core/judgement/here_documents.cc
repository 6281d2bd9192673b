#include "core/judgement/here_documents.h"

#include "core/judgement/redirections.h"

#include <algorithm>

namespace ew::core {

namespace {

std::string_view next_line(ScriptReading& in, bool strips_tabs) {
    const std::size_t end = std::min(in.text.find('\n', in.at), in.text.size());
    std::string_view line = in.text.substr(in.at, end - in.at);
    in.at = std::min(end + 1, in.text.size());
    while (strips_tabs && line.starts_with('\t'))
        line.remove_prefix(1);
    return line;
}

} // namespace

void HereDocuments::begin(ScriptReading& in) {
    constexpr std::string_view delimiters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    const bool strips_tabs = in.rest().starts_with("<<-");
    const std::size_t at =
        std::min(in.text.find_first_not_of(" \t", in.at + (strips_tabs ? 3 : 2)), in.text.size());
    const char quote = at < in.text.size() ? in.text[at] : '\0';
    const std::size_t end = std::min(in.text.find_first_not_of(delimiters, at + 1), in.text.size());
    const bool is_literal = (quote == '\'' || quote == '"') && end > at + 1 &&
                            end < in.text.size() && in.text[end] == quote &&
                            ends_operator(in.text.substr(end + 1));
    if (!is_literal) return in.fail(other_redirection);
    if (documents_.empty()) first_ = in.at;
    ++count_;
    documents_.push_back({in.text.substr(at + 1, end - at - 1), strips_tabs});
    in.at = end + 1;
}

void HereDocuments::skip(ScriptReading& in) {
    if (documents_.empty()) return;
    // Shells differ in where a document begins if the line goes on.
    const std::string_view line = in.text.substr(first_, in.at - 1 - first_);
    if (line.find('\n') != std::string_view::npos) return in.fail(document_in_line);
    for (const Document& document : documents_)
        skip(in, document);
    documents_.clear();
}

void HereDocuments::skip(ScriptReading& in, const Document& document) {
    while (in.is_good()) {
        if (in.has_ended()) return in.fail("a here-document is not closed");
        if (next_line(in, document.strips_tabs) == document.end) return;
    }
}

} // namespace ew::core
