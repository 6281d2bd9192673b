#include "toml/edit.h"

#include "base/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

namespace ew::toml {

namespace {

std::string_view line_end_of(std::string_view text) {
    const std::size_t end = text.find('\n');
    const bool has_return = end != std::string_view::npos && end > 0 && text[end - 1] == '\r';
    return has_return ? "\r\n" : "\n";
}

std::size_t begin_of_line(std::string_view text, std::size_t at) {
    return at == 0 ? 0 : text.rfind('\n', at - 1) + 1; // npos + 1 is 0
}

// The position behind the line, or where its end begins.
std::size_t end_of_line(std::string_view text, std::size_t at) {
    return std::min(text.find('\n', at), text.size());
}

std::string_view line_at(std::string_view text, std::size_t begin) {
    std::string_view line = text.substr(begin, end_of_line(text, begin) - begin);
    const std::size_t first = std::min(line.find_first_not_of(" \t\r"), line.size());
    return line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
}

bool is_remark(std::string_view line) {
    return line.empty() || line.starts_with('#');
}

std::size_t offset_of(std::string_view text, Position position) {
    std::size_t at = 0;
    for (std::uint32_t line = 1; line < position.line && at < text.size(); ++line)
        at = std::min(text.find('\n', at), text.size() - 1) + 1;
    for (std::uint32_t column = 1; column < position.column && at < text.size(); ++column)
        do
            ++at;
        while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80);
    return at;
}

// The position behind the string whose opening quote is at `at`, in a text without mistakes.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    const char quote = text[at];
    const std::string triple(3, quote);
    const bool is_long = text.substr(at, 3) == triple;
    for (at += is_long ? 3 : 1; at < text.size(); ++at) {
        if (quote == '"' && text[at] == '\\')
            ++at;
        else if (!is_long && text[at] == quote)
            return at + 1;
        else if (is_long && text.substr(at, 3) == triple) // up to two more may belong to it
            return std::min({text.find_first_not_of(quote, at), at + 5, text.size()});
    }
    return text.size();
}

// The position behind a string or an array. Returns 0 for other values, which are not replaced.
std::size_t end_of_value(std::string_view text, std::size_t at) {
    std::size_t depth = 0;
    while (at < text.size()) {
        const char byte = text[at];
        if (byte == '"' || byte == '\'') {
            at = end_of_string(text, at);
        } else if (byte == '#') {
            at = end_of_line(text, at);
        } else {
            if (byte == '[') ++depth;
            if (byte == ']') --depth;
            ++at;
        }
        const bool is_at_the_end = byte == '"' || byte == '\'' || byte == ']';
        if (depth == 0) return is_at_the_end ? at : 0;
    }
    return 0;
}

// NOLINTNEXTLINE(misc-no-recursion): values nest at most as deep as the parser lets them
bool is_equal(const Table& a, const Table& b) {
    return a.members.size() == b.members.size() &&
           std::all_of(a.members.begin(), a.members.end(), [&](const Member& member) {
               const Member* other = b.find(member.name);
               return other && toml::is_equal(member.value, other->value);
           });
}

// NOLINTNEXTLINE(misc-no-recursion): as above
bool is_equal(const Array& a, const Array& b) {
    return std::equal(
        a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
        [](const Value& one, const Value& other) { return toml::is_equal(one, other); });
}

bool is_equal(const DateTime& a, const DateTime& b) {
    return a.text == b.text;
}

bool is_equal(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

template <class T>
bool is_equal(const T& a, const T& b) {
    return a == b;
}

void put(Table& table, const Member& wanted) {
    const auto found = std::ranges::find(table.members, wanted.name, &Member::name);
    if (found != table.members.end())
        found->value = wanted.value;
    else
        table.members.push_back(wanted);
}

Array* array_in(Table& table, std::string_view name) {
    const auto found = std::ranges::find(table.members, name, &Member::name);
    return found == table.members.end() ? nullptr : std::get_if<Array>(&found->value.is);
}

// Where the next block of any array of tables begins, or the end of the text.
std::size_t next_block(const Table& document, std::string_view text, Position position) {
    Position next = {std::numeric_limits<std::uint32_t>::max(), 1};
    for (const Member& member : document.members)
        if (const auto* array = std::get_if<Array>(&member.value.is))
            for (const Value& item : array->items)
                if (position < item.position) next = std::min(next, item.position);
    return offset_of(text, next);
}

} // namespace

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char byte : text) {
        if (byte == '"' || byte == '\\')
            out += fmt::format("\\{}", byte);
        else if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f)
            out += fmt::format("\\u{:04x}", byte);
        else
            out += byte;
    }
    return out + '"';
}

// NOLINTNEXTLINE(misc-no-recursion): arrays nest at most as deep as the parser lets them
std::string written(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value.is)) return quoted(*text);
    const auto* array = std::get_if<Array>(&value.is);
    CHECK(array != nullptr);
    std::string items;
    for (const Value& item : array->items)
        items += (items.empty() ? "" : ", ") + written(item);
    return fmt::format("[{}]", items);
}

// NOLINTNEXTLINE(misc-no-recursion): as above
bool is_equal(const Value& a, const Value& b) {
    return std::visit(
        [&](const auto& one) {
            const auto* other = std::get_if<std::decay_t<decltype(one)>>(&b.is);
            return other && is_equal(one, *other);
        },
        a.is);
}

Edit::Edit(const std::string& text, std::string_view file, Table document)
    : text_(text), file_(file), document_(std::move(document)), wanted_(document_) {}

Result<Edit> Edit::open(const std::string& text, std::string_view file) {
    return Edit(text, file, TRY(parse(text, file)));
}

void Edit::append(std::string_view lines) {
    std::string text;
    if (!text_.empty() && !text_.ends_with('\n')) text += '\n';
    if (!text_.empty()) text += '\n';
    change(text_.size(), 0, text.append(lines));
    Problem problem;
    std::optional<Table> added = parse(lines, file_, problem);
    if (!added) return; // then result() fails to parse them too
    for (Member& member : added->members) {
        Array* const there = array_in(wanted_, member.name);
        auto* const items = std::get_if<Array>(&member.value.is);
        const auto old = std::ranges::find(wanted_.members, member.name, &Member::name);
        Table* const table =
            old == wanted_.members.end() ? nullptr : std::get_if<Table>(&old->value.is);
        auto* const more = std::get_if<Table>(&member.value.is);
        if (there && items)
            there->items.insert(there->items.end(), items->items.begin(), items->items.end());
        else if (table != nullptr && more != nullptr)
            table->members.insert(table->members.end(), more->members.begin(), more->members.end());
        else
            wanted_.members.push_back(std::move(member));
    }
}

Result<void> Edit::set(const Member& wanted) {
    put(wanted_, wanted);
    const Member* const member = document_.find(wanted.name);
    if (member) return replace(*member, wanted.value);
    insert_first(fmt::format("{} = {}\n", wanted.name, written(wanted.value)));
    return {};
}

Result<void> Edit::set(std::string_view array, std::size_t index, const Member& wanted,
                       std::string_view neighbour) {
    auto* const changed = std::get_if<Table>(&array_in(wanted_, array)->items[index].is);
    const auto* const table = std::get_if<Table>(&array_in(document_, array)->items[index].is);
    CHECK(changed && table);
    put(*changed, wanted);
    const Member* const member = table->find(wanted.name);
    if (member) return replace(*member, wanted.value);
    const std::size_t at = offset_of(text_, table->find(neighbour)->value.position);
    const std::size_t line = begin_of_line(text_, at);
    const std::string indent = text_.substr(line, text_.find_first_not_of(" \t", line) - line);
    std::size_t end = end_of_line(text_, at);
    if (end > 0 && text_[end - 1] == '\r') --end;
    change(end, 0, fmt::format("\n{}{} = {}", indent, wanted.name, written(wanted.value)));
    return {};
}

Result<void> Edit::replace(const Member& member, const Value& value) {
    if (is_equal(member.value, value)) return {};
    const std::size_t begin = offset_of(text_, member.value.position);
    const std::size_t end = end_of_value(text_, begin);
    if (end <= begin)
        return Error{ErrorKind::config_invalid,
                     fmt::format("{}: line {}: '{}' cannot be replaced", file_,
                                 member.value.position.line, member.name)};
    change(begin, end - begin, written(value));
    return {};
}

// Before the first thing that the file says, and the comment above that.
void Edit::insert_first(std::string_view line) {
    std::size_t at = begin_of_line(text_, offset_of(text_, document_.members.front().position));
    const bool is_key = text_.find_first_not_of(" \t", at) != text_.find('[', at);
    bool has_comment = false;
    while (at > 0) {
        const std::size_t above = begin_of_line(text_, at - 1);
        if (!line_at(text_, above).starts_with('#')) break;
        at = above;
        has_comment = true;
    }
    change(at, 0, fmt::format("{}{}", line, is_key && !has_comment ? "" : "\n"));
}

void Edit::change(std::size_t at, std::size_t size, std::string_view lines) {
    std::string text;
    for (const char byte : lines)
        text += byte == '\n' ? line_end_of(text_) : std::string_view(&byte, 1);
    changes_.push_back({at, size, std::move(text)});
}

bool Edit::remove(std::string_view array, std::size_t index, std::string_view comment) {
    Array* const wanted = array_in(wanted_, array);
    const Value item = wanted->items[index];
    std::size_t begin = begin_of_line(text_, offset_of(text_, item.position));
    if (!line_at(text_, begin).starts_with(fmt::format("[[{}]]", array))) return false;
    std::size_t end = begin_of_line(text_, next_block(document_, text_, item.position));
    while (is_remark(line_at(text_, begin_of_line(text_, end - 1))))
        end = begin_of_line(text_, end - 1);
    if (begin > 0 && text_.substr(begin_of_line(text_, begin - 1)).starts_with(comment)) {
        begin = begin_of_line(text_, begin - 1);
        if (begin > 0 && line_at(text_, begin_of_line(text_, begin - 1)).empty())
            begin = begin_of_line(text_, begin - 1);
    }
    // What is cut out must be this table alone.
    Problem problem;
    const std::optional<Table> cut = parse(text_.substr(begin, end - begin), file_, problem);
    const auto* const items =
        cut && cut->members.size() == 1 ? std::get_if<Array>(&cut->members[0].value.is) : nullptr;
    if (!items || items->items.size() != 1 || !is_equal(items->items[0], item)) return false;
    wanted->items.erase(wanted->items.begin() + static_cast<std::ptrdiff_t>(index));
    if (wanted->items.empty())
        std::erase_if(wanted_.members, [&](const Member& member) { return member.name == array; });
    changes_.push_back({begin, end - begin, {}});
    return true;
}

std::optional<std::string> Edit::result() const {
    // From the end, so that positions stay; of several at one place, the last one first.
    std::vector<Change> changes(changes_.rbegin(), changes_.rend());
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.at > b.at; });
    std::string text = text_;
    for (const Change& change : changes)
        text.replace(change.at, change.size, change.text);
    Problem problem;
    const std::optional<Table> now = parse(text, file_, problem);
    if (!now || !is_equal(*now, wanted_)) return std::nullopt;
    return text;
}

} // namespace ew::toml
