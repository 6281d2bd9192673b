#include "cli/shared/patch_output.h"

#include "base/byte_buffer.h"
#include "cli/shared/printing.h"
#include "core/text/display.h"
#include "json/writer.h"

#include <fmt/format.h>

namespace ew::cli {

namespace {

using files::PatchedFile;
using files::PatchedKind;
using files::Recovery;
using patch::MatchLevel;

std::string_view name_of(PatchedKind kind) {
    switch (kind) {
    case PatchedKind::add: return "add";
    case PatchedKind::update: return "update";
    case PatchedKind::remove: return "remove";
    case PatchedKind::move: return "move";
    }
    return {};
}

// The name in PatchedFile of the protocol.
std::string_view change_of(PatchedKind kind) {
    return kind == PatchedKind::remove ? "delete" : name_of(kind);
}

std::string_view name_of(MatchLevel level) {
    switch (level) {
    case MatchLevel::exact: return "exact";
    case MatchLevel::trailing_blanks: return "trailingBlanks";
    case MatchLevel::both_ends: return "bothEnds";
    case MatchLevel::folded: return "folded";
    case MatchLevel::canonical: return "canonical";
    }
    return {};
}

std::string_view words_for(MatchLevel level) {
    switch (level) {
    case MatchLevel::exact: return "nothing";
    case MatchLevel::trailing_blanks: return "blanks at the ends of lines";
    case MatchLevel::both_ends: return "blanks at both ends of lines";
    case MatchLevel::folded: return "kinds of dashes, quotation marks and blanks";
    case MatchLevel::canonical: return "ways to write accents";
    }
    return {};
}

std::string summary_of(const PatchedFile& file) {
    std::string text = fmt::format("{} {}", letter_of(file.kind), core::visible(file.shown));
    if (file.kind != PatchedKind::move) return text;
    return fmt::format("{} -> {}", text, core::visible(file.shown_destination));
}

void write_member(ByteBuffer& out, std::string_view name, std::string_view text) {
    json::write_string(out, name);
    out.append(':');
    json::write_string(out, text);
    out.append(',');
}

void write_digest(ByteBuffer& out, std::string_view name, const std::string& digest) {
    if (!digest.empty()) write_member(out, name, digest);
}

void write_file(ByteBuffer& out, const PatchedFile& file) {
    out.append('{');
    write_member(out, "path", file.path);
    write_member(out, "change", change_of(file.kind));
    write_member(out, "kind", name_of(file.kind)); // an earlier name, as are the two below
    if (file.kind == PatchedKind::move) write_member(out, "destination", file.destination);
    write_digest(out, "oldDigest", file.old_digest);
    write_digest(out, "newDigest", file.new_digest);
    write_digest(out, "replacedDigest", file.replaced_digest);
    write_member(out, "diff", file.diff);
    out.append(fmt::format(R"("addedLines":{0},"removedLines":{1},"added":{0},"removed":{1},)",
                           file.added, file.removed));
    out.append(std::string_view(R"("matches":[)"));
    for (std::size_t i = 0; i < file.matches.size(); ++i)
        out.append(fmt::format(R"({}{{"line":{},"level":"{}"}})", i == 0 ? "" : ",",
                               file.matches[i].line, name_of(file.matches[i].level)));
    out.append(std::string_view("]}"));
}

std::string line_of(const files::RecoveredFile& file) {
    const std::string path = core::visible(file.path);
    switch (file.outcome) {
    case Recovery::undone: return fmt::format("undone {}", path);
    case Recovery::finished: return fmt::format("finished {}", path);
    case Recovery::left_alone: break;
    }
    if (file.kept.empty()) return fmt::format("left {}: somebody has changed it since", path);
    return fmt::format("left {}: somebody has changed it since; what was there before is {}", path,
                       core::visible(file.kept));
}

void print_to(std::FILE* out, const std::string& line) {
    const std::string_view prefix = out == stderr ? "execward: interrupted patch: " : "";
    const std::string text = fmt::format("{}{}\n", prefix, line);
    (void)std::fwrite(text.data(), 1, text.size(), out); // finish() reports a failure
}

} // namespace

std::string shown_safely(std::string_view message) {
    const bool is_safe =
        !core::has_invisible(message) && message.find_first_of("\n\t") == std::string_view::npos;
    return is_safe ? std::string(message) : core::visible(message);
}

void print_summary(const files::PatchReport& report) {
    for (const PatchedFile& file : report.files)
        print_line(summary_of(file));
}

void print_check(const files::PatchReport& report) {
    for (const PatchedFile& file : report.files) {
        print_line(fmt::format("{} (+{} -{})", summary_of(file), file.added, file.removed));
        if (!file.diff.empty())
            print_line(std::string_view(file.diff).substr(0, file.diff.size() - 1));
        for (std::size_t i = 0; i < file.matches.size(); ++i)
            if (file.matches[i].level != MatchLevel::exact)
                print_line(fmt::format("note: chunk {} of {} fits at line {} if {} are disregarded",
                                       i + 1, core::visible(file.shown), file.matches[i].line,
                                       words_for(file.matches[i].level)));
    }
}

void print_json(const files::PatchReport& report) {
    ByteBuffer out;
    out.append(std::string_view(R"({"files":[)"));
    for (const PatchedFile& file : report.files) {
        if (out.view().back() == '}') out.append(',');
        write_file(out, file);
    }
    out.append(std::string_view(R"(],"directories":)"));
    json::write_value(out, report.directories);
    out.append('}');
    print_line(out.view());
}

int print_recovered(const std::vector<files::LeftOver>& all, std::FILE* out) {
    int status = status_ok;
    for (const files::LeftOver& left : all) {
        for (const files::RecoveredFile& file : left.report.files)
            if (!file.path.empty()) print_to(out, line_of(file));
        if (!left.failure) continue;
        status = status_failure;
        (void)fail(Error{ErrorKind::io_failed, shown_safely(left.failure->message),
                         fmt::format("its journal is {}", core::visible(left.journal))});
    }
    return status;
}

} // namespace ew::cli
