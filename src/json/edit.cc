#include "json/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace ew::json {

namespace {

constexpr int deepest = 128;

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
};

struct Member {
    std::size_t name_at = 0; // its quote
    std::string_view name;   // as it is written
    Span value;
};

struct Object {
    std::size_t open = 0;
    std::size_t close = 0; // the closing brace
    bool has_last_comma = false;
    std::vector<Member> members;
};

// Reads JSON with comments. Stops at the first mistake.
class Scanner {
public:
    Scanner(std::string_view text, std::string_view file) : text_(text), file_(file) {}

    Result<Object> whole() {
        Object object = TRY(object_at(0));
        skip_blank();
        if (at_ < text_.size()) return mistake("nothing more");
        return object;
    }

    Result<Object> object_at(std::size_t at) {
        at_ = at;
        skip_blank();
        if (next() != '{') return mistake("an object");
        Object object;
        TRY(read_object(&object, 0));
        return object;
    }

private:
    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    bool takes(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }

    Error mistake(std::string_view expected) const {
        const std::string_view before = text_.substr(0, at_);
        return {ErrorKind::config_invalid,
                fmt::format("{}:{}: expected {}", file_, 1 + std::ranges::count(before, '\n'),
                            expected)};
    }

    // An unfinished comment reaches to the end.
    void skip_blank() {
        while (at_ < text_.size()) {
            if (is_blank(next()))
                ++at_;
            else if (text_.substr(at_).starts_with("//"))
                at_ = std::min(text_.find('\n', at_), text_.size());
            else if (text_.substr(at_).starts_with("/*"))
                at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
            else
                return;
        }
    }

    Result<void> read_string() {
        for (++at_; at_ < text_.size() && next() != '"'; ++at_) {
            if (static_cast<unsigned char>(next()) < ' ') break;
            if (next() == '\\') ++at_;
        }
        if (next() != '"') return mistake("the end of a string");
        ++at_;
        return {};
    }

    Result<void> read_number() {
        const auto digits = [&] {
            const std::size_t begin = at_;
            while (is_digit(next()))
                ++at_;
            return at_ > begin;
        };
        (void)takes("-");
        bool is_right = digits();
        if (is_right && takes(".")) is_right = digits();
        if (is_right && (takes("e") || takes("E"))) {
            if (!takes("-")) (void)takes("+");
            is_right = digits();
        }
        if (!is_right) return mistake("a value");
        return {};
    }

    Result<void> read_value(int depth) {
        if (depth > deepest) return mistake("fewer levels");
        if (next() == '{') return read_object(nullptr, depth);
        if (next() == '[') return read_array(depth);
        if (next() == '"') return read_string();
        if (takes("true") || takes("false") || takes("null")) return {};
        return read_number();
    }

    Result<void> read_array(int depth) {
        ++at_;
        for (skip_blank(); next() != ']'; skip_blank()) {
            TRY(read_value(depth + 1));
            skip_blank();
            if (next() != ']' && !takes(",")) return mistake("a comma or ]");
        }
        ++at_;
        return {};
    }

    Result<void> read_object(Object* out, int depth) {
        Object object;
        object.open = at_++;
        for (skip_blank(); next() != '}'; skip_blank()) {
            Member member;
            member.name_at = at_;
            if (next() != '"') return mistake("a name in quotes");
            TRY(read_string());
            member.name = text_.substr(member.name_at + 1, at_ - member.name_at - 2);
            skip_blank();
            if (!takes(":")) return mistake("a colon");
            skip_blank();
            member.value.begin = at_;
            TRY(read_value(depth + 1));
            member.value.end = at_;
            object.members.push_back(member);
            skip_blank();
            object.has_last_comma = takes(",");
            if (!object.has_last_comma && next() != '}') return mistake("a comma or }");
            skip_blank();
        }
        object.close = at_++;
        if (out != nullptr) *out = std::move(object);
        return {};
    }

    std::string_view text_;
    std::string_view file_;
    std::size_t at_ = 0;
};

// Returns the text without the blanks outside of strings.
std::string squeezed(std::string_view text) {
    std::string result;
    bool is_inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_inside && is_blank(text[i])) continue;
        if (text[i] == '"') is_inside = !is_inside;
        result += text[i];
        if (is_inside && text[i] == '\\' && i + 1 < text.size()) result += text[++i];
    }
    return result;
}

class Editor {
public:
    Editor(std::string text, std::string_view file) : text_(std::move(text)), file_(file) {
        line_end_ = text_.find("\r\n") == std::string::npos ? "\n" : "\r\n";
    }

    Result<void> set(const std::vector<std::string>& path, std::size_t given, Object object,
                     const std::vector<TextMember>& members);

    std::string take() { return std::move(text_); }

private:
    Error refusal(std::string_view name, std::string_view why) const {
        return {ErrorKind::config_invalid, fmt::format("{}: {} {}", file_, name, why)};
    }

    Result<const Member*> find(const Object& object, std::string_view name) const;
    std::string indent_of(std::size_t at) const;
    std::string unit_of(std::string_view indent) const;
    void add(const Object& object, std::string_view name, const std::string& value);
    std::string nested(const std::vector<std::string>& path, std::size_t from,
                       const std::vector<TextMember>& members, const std::string& indent) const;

    std::string text_;
    std::string file_;
    std::string line_end_;
};

// Returns null if no member has the name.
Result<const Member*> Editor::find(const Object& object, std::string_view name) const {
    const Member* found = nullptr;
    for (const Member& member : object.members) {
        if (member.name != name) continue;
        if (found != nullptr) return refusal(name, "is there twice");
        found = &member;
    }
    return found;
}

// Returns the blanks at the beginning of the line.
std::string Editor::indent_of(std::size_t at) const {
    const std::size_t newline = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
    const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
    const std::size_t end = std::min(text_.find_first_not_of(" \t", begin), text_.size());
    return text_.substr(begin, end - begin);
}

std::string Editor::unit_of(std::string_view indent) const {
    const bool has_tabs = indent.starts_with('\t') || text_.find("\n\t") != std::string::npos;
    return has_tabs ? "\t" : "  ";
}

// A new member comes last, on a line of its own unless the object is on one line.
void Editor::add(const Object& object, std::string_view name, const std::string& value) {
    const std::string outer = indent_of(object.open);
    const std::string written = fmt::format("\"{}\": {}", name, value);
    if (object.members.empty()) {
        const std::string lines =
            fmt::format("{0}{1}{2}{3}", line_end_, outer + unit_of(outer), written, line_end_);
        const std::size_t last = text_.find_last_not_of(" \t\r\n", object.close - 1);
        text_.replace(last + 1, object.close - last - 1, lines + outer);
        return;
    }
    const Member& last = object.members.back();
    const bool is_one_line = text_.find('\n', last.name_at) == std::string::npos ||
                             text_.find('\n', last.name_at) > object.close;
    const std::size_t end = text_.find_last_not_of(" \t\r\n", object.close - 1) + 1;
    const std::string indent = indent_of(last.name_at);
    const bool shares_line = is_one_line && text_.find('\n', object.open) > object.close;
    text_.insert(end, shares_line
                          ? " " + written + (object.has_last_comma ? "," : "")
                          : line_end_ + indent + written + (object.has_last_comma ? "," : ""));
    if (!object.has_last_comma) text_.insert(last.value.end, ",");
}

// Returns the value of path[from - 1]: an object for each further name, and the members inside.
std::string Editor::nested(const std::vector<std::string>& path, std::size_t from,
                           const std::vector<TextMember>& members,
                           const std::string& indent) const {
    if (from < path.size()) {
        const std::string inner = indent + unit_of(indent);
        return fmt::format("{{{0}{1}\"{2}\": {3}{0}{4}}}", line_end_, inner, path[from],
                           nested(path, from + 1, members, inner), indent);
    }
    std::string all;
    for (const TextMember& member : members)
        all += fmt::format("{}\"{}\": {}", all.empty() ? "" : ", ", member.name, member.value);
    return fmt::format("{{ {} }}", all);
}

Result<void> Editor::set(const std::vector<std::string>& path, std::size_t given, Object object,
                         const std::vector<TextMember>& members) {
    for (; given < path.size(); ++given) {
        const Member* const member = TRY(find(object, path[given]));
        if (member == nullptr) {
            const std::string outer = indent_of(object.open);
            const std::string indent = object.members.empty()
                                           ? outer + unit_of(outer)
                                           : indent_of(object.members.back().name_at);
            add(object, path[given], nested(path, given + 1, members, indent));
            return {};
        }
        if (text_[member->value.begin] != '{') return refusal(path[given], "is no object");
        object = TRY(Scanner(text_, file_).object_at(member->value.begin));
    }
    for (const TextMember& wanted : members) {
        object = TRY(Scanner(text_, file_).object_at(object.open)); // as it is by now
        const Member* const member = TRY(find(object, wanted.name));
        if (member == nullptr) {
            add(object, wanted.name, wanted.value);
            continue;
        }
        const std::size_t size = member->value.end - member->value.begin;
        const std::string old = text_.substr(member->value.begin, size);
        if (squeezed(old) != squeezed(wanted.value))
            text_.replace(member->value.begin, size, wanted.value);
    }
    return {};
}

} // namespace

Result<std::string> with_object(const std::string& text, std::string_view file,
                                const std::vector<std::string>& path,
                                const std::vector<TextMember>& members) {
    const bool is_empty = text.find_first_not_of(" \t\r\n") == std::string::npos;
    const std::string begun = is_empty ? "{}\n" : text;
    Object whole = TRY(Scanner(begun, file).whole());
    Editor editor(begun, file);
    TRY(editor.set(path, 0, std::move(whole), members));
    std::string changed = editor.take();
    if (Result<Object> again = Scanner(changed, file).whole(); !again)
        return Error{ErrorKind::config_invalid,
                     fmt::format("{}: this cannot be added without changing more", file)};
    return changed;
}

} // namespace ew::json
