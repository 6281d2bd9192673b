#include "patch/parse.h"

#include "patch/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace ew::patch {

namespace {

constexpr std::size_t most_lines = 200'000;

constexpr std::string_view first_line = "*** Begin Patch";
constexpr std::string_view last_line = "*** End Patch";
constexpr std::string_view add_header = "*** Add File:";
constexpr std::string_view delete_header = "*** Delete File:";
constexpr std::string_view update_header = "*** Update File:";
constexpr std::string_view move_header = "*** Move to:";
constexpr std::string_view end_of_file = "*** End of File";

Error wrong(std::size_t number, std::string_view what, std::string hint = {}) {
    return {.kind = ErrorKind::invalid_params,
            .message = fmt::format("line {}: {}", number, what),
            .hint = std::move(hint)};
}

Error beyond(std::string_view what, std::size_t most) {
    return {.kind = ErrorKind::limit,
            .message = fmt::format("the patch has more than {} {}", most, what),
            .hint = "apply it as several smaller patches"};
}

bool is_blank(std::string_view line) {
    return trimmed(line).empty();
}

// A range of the lines of a text, and the number of the first one.
struct Section {
    std::span<const TextLine> lines;
    std::size_t number = 1;
};

Section without_blank_ends(Section section) {
    while (!section.lines.empty() && is_blank(section.lines.front().text)) {
        section.lines = section.lines.subspan(1);
        ++section.number;
    }
    while (!section.lines.empty() && is_blank(section.lines.back().text))
        section.lines = section.lines.first(section.lines.size() - 1);
    return section;
}

bool begins_here_document(std::string_view line) {
    constexpr std::array<std::string_view, 3> beginnings = {"<<EOF", "<<'EOF'", "<<\"EOF\""};
    return std::find(beginnings.begin(), beginnings.end(), trimmed(line)) != beginnings.end();
}

Section without_first(Section section) {
    return {section.lines.subspan(1), section.number + 1};
}

Section without_here_document(Section section) {
    constexpr std::size_t fewest_lines = 4; // the wrapper and the patch in it
    if (section.lines.size() < fewest_lines) return section;
    if (!begins_here_document(section.lines.front().text)) return section;
    if (trimmed(section.lines.back().text) != "EOF") return section;
    section.lines = section.lines.first(section.lines.size() - 1);
    return without_blank_ends(without_first(section));
}

// Returns the lines between the first and the last line of the patch.
Result<Section> body_of(Section section) {
    if (section.lines.empty())
        return wrong(1, fmt::format("the patch is empty: expected `{}`", first_line));
    if (trimmed(section.lines.front().text) != first_line)
        return wrong(section.number,
                     fmt::format("the first line is {}: expected `{}`",
                                 quoted(section.lines.front().text), first_line),
                     "give the patch alone, without text around it");
    const std::size_t last = section.number + section.lines.size() - 1;
    if (trimmed(section.lines.back().text) != last_line)
        return wrong(last,
                     fmt::format("the last line is {}: expected `{}`",
                                 quoted(section.lines.back().text), last_line),
                     "end the patch with it, and let nothing follow");
    section.lines = section.lines.first(section.lines.size() - 1);
    return without_first(section);
}

std::string_view without_cr(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

// Returns the text behind a header. Returns nullopt if the line does not begin with the header.
std::optional<std::string_view> behind(std::string_view line, std::string_view header) {
    if (!line.starts_with(header)) return std::nullopt;
    return trimmed(line.substr(header.size()));
}

Result<std::string> checked_path(std::string_view path, std::size_t number) {
    if (path.empty()) return wrong(number, "the path is empty", "name the file behind the colon");
    if (path.find('\0') != std::string_view::npos)
        return wrong(number, fmt::format("there is a NUL in the path {}", quoted(path)));
    if (path.size() > longest_path)
        return wrong(number, fmt::format("the path has more than {} bytes", longest_path));
    return std::string(path);
}

std::optional<LineKind> kind_of(std::string_view line) {
    if (line.empty() || line.front() == ' ') return LineKind::context;
    if (line.front() == '-') return LineKind::removed;
    if (line.front() == '+') return LineKind::added;
    return std::nullopt;
}

// Returns the context of a line; it is empty for a plain `@@`.
std::optional<std::string_view> context_in(std::string_view line) {
    if (trimmed_end(line) == "@@") return std::string_view();
    if (line.starts_with("@@ ")) return line.substr(3);
    return std::nullopt;
}

// Empty lines between a chunk and what follows look like lines of the chunk. If all other lines are
// added ones, the empty lines would be the only ones to search in the file, so they are dropped.
void drop_separators(Chunk& chunk) {
    const auto is_added = [](const Line& line) { return line.kind == LineKind::added; };
    const auto is_separator = [](const Line& line) {
        return line.kind == LineKind::context && line.text.empty();
    };
    const auto last = std::find_if_not(chunk.lines.rbegin(), chunk.lines.rend(), is_separator);
    if (last != chunk.lines.rend() && std::all_of(last, chunk.lines.rend(), is_added))
        chunk.lines.erase(last.base(), chunk.lines.end());
}

// Reads changes into a patch. On an error, the patch keeps the changes before it.
class Reader {
public:
    Reader(Section body, bool is_crlf, Patch& patch)
        : body_(body), is_crlf_(is_crlf), patch_(patch) {}

    Result<void> read() {
        while (true) {
            skip_blank_lines();
            if (is_at_end()) return {};
            if (patch_.changes.size() == most_changes) return beyond("files", most_changes);
            TRY(read_change());
        }
    }

private:
    bool is_at_end() const { return at_ == body_.lines.size(); }

    std::string_view line() const { return without_cr(body_.lines[at_].text); }

    std::size_t number() const { return body_.number + at_; }

    void skip_blank_lines() {
        while (!is_at_end() && is_blank(line()))
            ++at_;
    }

    template <class Change>
    Result<Change*> begin(std::string_view path) {
        const std::size_t where = number();
        FileChange change = {.line = where, .path = TRY(checked_path(path, where))};
        ++at_;
        change.change = Change{};
        patch_.changes.push_back(std::move(change));
        return std::get_if<Change>(&patch_.changes.back().change);
    }

    Result<void> read_change() {
        const std::string_view header = trimmed(line());
        if (const auto path = behind(header, add_header)) {
            read_contents(*TRY(begin<Addition>(*path)));
            return {};
        }
        if (const auto path = behind(header, delete_header)) {
            (void)TRY(begin<Deletion>(*path)); // a deletion has no further lines
            return {};
        }
        if (const auto path = behind(header, update_header))
            return read_update(*TRY(begin<Update>(*path)));
        return no_header();
    }

    Error no_header() const {
        if (trimmed(line()) == last_line)
            return wrong(number(), fmt::format("`{}` before the end of the patch", last_line),
                         "put all files between one first and one last line");
        return wrong(
            number(),
            fmt::format("{} does not begin a change: expected `{}`, `{}` or `{}` with a path",
                        quoted(line()), add_header, delete_header, update_header),
            "each line of an added file begins with +, an empty one too");
    }

    void read_contents(Addition& addition) {
        for (; !is_at_end() && body_.lines[at_].text.starts_with('+'); ++at_) {
            const TextLine& added = body_.lines[at_];
            addition.contents += added.text.substr(1);
            addition.contents += is_crlf_ || added.end.empty() ? "\n" : added.end;
        }
    }

    Result<void> read_update(Update& update) {
        const FileChange& change = patch_.changes.back();
        if (!is_at_end())
            if (const auto path = behind(line(), move_header)) {
                update.destination = TRY(checked_path(*path, number()));
                ++at_;
            }
        TRY(read_chunks(update));
        if (!update.chunks.empty() || !update.destination.empty()) return {};
        return wrong(change.line, fmt::format("the update of {} has no lines", quoted(change.path)),
                     "write @@ and, below it, lines that begin with a blank, + or -");
    }

    Result<void> read_chunks(Update& update) {
        while (true) {
            const bool is_first = update.chunks.empty();
            // A line of blanks belongs to a chunk, but not between two chunks.
            while (!is_at_end() && (is_first ? line().empty() : is_blank(line())))
                ++at_;
            if (is_at_end() || line().starts_with('*')) return {};
            if (chunks_++ == most_chunks) return beyond("chunks", most_chunks);
            update.chunks.push_back(TRY(read_chunk(is_first)));
        }
    }

    Result<Chunk> read_chunk(bool is_first) {
        Chunk chunk = {.line = number()};
        const bool is_marked = TRY(read_contexts(chunk));
        if (!is_marked && !is_first)
            return wrong(number(),
                         fmt::format("unexpected line {}: expected @@ or a header", quoted(line())),
                         "begin a further chunk with @@, and each line of it with a blank, + or -");
        for (; !is_at_end() && kind_of(line()); ++at_)
            chunk.lines.push_back(
                {*kind_of(line()), std::string(line().substr(line().empty() ? 0 : 1))});
        if (chunk.lines.empty()) return no_lines(chunk);
        if (!is_at_end() && trimmed_end(line()) == end_of_file) {
            chunk.is_at_end = true;
            ++at_;
        }
        drop_separators(chunk);
        return chunk;
    }

    // Returns true if there is an @@ line.
    Result<bool> read_contexts(Chunk& chunk) {
        bool is_marked = false;
        for (; !is_at_end() && context_in(line()); ++at_) {
            is_marked = true;
            if (is_blank(*context_in(line()))) continue;
            if (chunk.contexts.size() == most_contexts)
                return beyond("@@ lines in front of one chunk", most_contexts);
            chunk.contexts.emplace_back(*context_in(line()));
        }
        return is_marked;
    }

    Error no_lines(const Chunk& chunk) const {
        constexpr const char* hint = "each line of a chunk begins with a blank, + or -";
        if (is_at_end() || line().starts_with('*'))
            return wrong(chunk.line, "the chunk has no lines", hint);
        return wrong(
            number(),
            fmt::format("unexpected line {}: expected one that begins with a blank, + or -",
                        quoted(line())),
            hint);
    }

    Section body_;
    bool is_crlf_;
    Patch& patch_;
    std::size_t at_ = 0;
    std::size_t chunks_ = 0;
};

// Returns the path without `.` and doubled slashes. `..` stays, because its meaning depends on the
// file system.
std::string plain(std::string_view path) {
    std::string result = path.starts_with('/') ? "/" : "";
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string_view name = path.substr(0, end);
        if (!name.empty() && name != ".") {
            if (!result.empty() && result != "/") result += '/';
            result += name;
        }
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return result;
}

// Records that a line names a path. Returns an error if an earlier line named it.
Result<void> note(std::map<std::string, std::size_t>& named, const std::string& path,
                  std::size_t number) {
    const auto [first, is_new] = named.emplace(plain(path), number);
    if (is_new) return {};
    return wrong(number,
                 fmt::format("{} is changed here and by line {}", quoted(path), first->second),
                 "name each file once, with all its chunks below one header");
}

Result<void> check_paths(Patch& patch) {
    std::map<std::string, std::size_t> named;
    for (FileChange& change : patch.changes) {
        TRY(note(named, change.path, change.line));
        auto* update = std::get_if<Update>(&change.change);
        if (update == nullptr || update->destination.empty()) continue;
        if (plain(update->destination) == plain(change.path))
            update->destination.clear();
        else
            TRY(note(named, update->destination, change.line + 1)); // it is on the next line
    }
    return {};
}

bool is_crlf(const Section& section) {
    return !section.lines.empty() && section.lines.front().end == "\r\n";
}

} // namespace

Result<Patch> parse(std::string_view text) {
    if (text.size() > longest_patch) return beyond("bytes", longest_patch);
    const std::vector<TextLine> lines = lines_of(text, most_lines + 1);
    if (lines.size() > most_lines) return beyond("lines", most_lines);
    const Section whole = without_here_document(without_blank_ends({lines}));
    Patch patch;
    const Section body = TRY(body_of(whole));
    TRY(Reader(body, is_crlf(whole), patch).read());
    if (patch.changes.empty())
        return Error{ErrorKind::invalid_params, "the patch is empty: it changes no file",
                     "add, delete or update at least one file"};
    TRY(check_paths(patch));
    return patch;
}

} // namespace ew::patch
