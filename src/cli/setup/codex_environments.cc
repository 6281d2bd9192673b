#include "cli/setup/codex_environments.h"

#include "base/byte_buffer.h"
#include "json/writer.h"
#include "toml/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace ew::cli {

namespace {

constexpr std::size_t longest_id = 64;

constexpr std::string_view local_comment =
    "# Without this Codex can also run commands itself, beside execward: nothing would confine "
    "them\n"
    "# as execward does, and nothing would be in its audit.\n";

Error refusal(std::string_view file, std::string_view why) {
    return {ErrorKind::config_invalid, fmt::format("{}: {}", file, why)};
}

std::string toml_array(const std::vector<std::string>& texts) {
    std::string array;
    for (const std::string& text : texts)
        array += (array.empty() ? "" : ", ") + toml_string(text);
    return fmt::format("[{}]", array);
}

std::string table_of(const CodexEnvironment& environment) {
    return fmt::format("[[environments]]\nid = {}\nprogram = {}\nargs = {}\n",
                       toml_string(environment.id), toml_string(environment.program),
                       toml_array(environment.args));
}

// A replacement of bytes; of none: an insertion.
struct Change {
    std::size_t at = 0;
    std::size_t size = 0;
    std::string text;
};

std::string changed(std::string text, std::vector<Change> changes) {
    std::sort(changes.begin(), changes.end(),
              [](const Change& a, const Change& b) { return a.at > b.at; });
    for (const Change& change : changes)
        text.replace(change.at, change.size, change.text);
    return text;
}

std::string_view line_end_of(std::string_view text) {
    const std::size_t end = text.find('\n');
    const bool has_return = end != std::string_view::npos && end > 0 && text[end - 1] == '\r';
    return has_return ? "\r\n" : "\n";
}

// The lines with the ends that the file has.
std::string with_ends(std::string_view lines, std::string_view line_end) {
    std::string text;
    for (const char byte : lines)
        text += byte == '\n' ? line_end : std::string_view(&byte, 1);
    return text;
}

std::size_t begin_of_line(std::string_view text, std::size_t at) {
    return at == 0 ? 0 : text.rfind('\n', at - 1) + 1; // npos + 1 is 0
}

std::size_t offset_of(std::string_view text, toml::Position position) {
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

// The position behind a string or an array. Other values are not replaced: 0.
std::size_t end_of_value(std::string_view text, std::size_t at) {
    std::size_t depth = 0;
    while (at < text.size()) {
        const char byte = text[at];
        if (byte == '"' || byte == '\'') {
            at = end_of_string(text, at);
        } else if (byte == '#') {
            at = std::min(text.find('\n', at), text.size());
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

bool is_string(const toml::Member* member, std::string_view text) {
    const auto* found = member ? std::get_if<std::string>(&member->value.is) : nullptr;
    return found && *found == text;
}

bool are_strings(const toml::Member* member, const std::vector<std::string>& texts) {
    const auto* array = member ? std::get_if<toml::Array>(&member->value.is) : nullptr;
    return array && std::equal(array->items.begin(), array->items.end(), texts.begin(), texts.end(),
                               [](const toml::Value& item, const std::string& text) {
                                   const auto* found = std::get_if<std::string>(&item.is);
                                   return found && *found == text;
                               });
}

bool is_equal(const toml::Value& a, const toml::Value& b);

// NOLINTNEXTLINE(misc-no-recursion): values nest at most as deep as the parser lets them
bool is_equal(const toml::Table& a, const toml::Table& b) {
    return a.members.size() == b.members.size() &&
           std::all_of(a.members.begin(), a.members.end(), [&](const toml::Member& member) {
               const toml::Member* other = b.find(member.name);
               return other && is_equal(member.value, other->value);
           });
}

// NOLINTNEXTLINE(misc-no-recursion): as above
bool is_equal(const toml::Array& a, const toml::Array& b) {
    return std::equal(
        a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
        [](const toml::Value& one, const toml::Value& other) { return is_equal(one, other); });
}

bool is_equal(const toml::DateTime& a, const toml::DateTime& b) {
    return a.text == b.text;
}

bool is_equal(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

template <class T>
bool is_equal(const T& a, const T& b) {
    return a == b;
}

// Are they the same, wherever they stand?
// NOLINTNEXTLINE(misc-no-recursion): as above
bool is_equal(const toml::Value& a, const toml::Value& b) {
    return std::visit(
        [&](const auto& one) {
            const auto* other = std::get_if<std::decay_t<decltype(one)>>(&b.is);
            return other && is_equal(one, *other);
        },
        a.is);
}

template <class T>
void set(toml::Table& table, std::string_view name, T value) {
    const auto found =
        std::find_if(table.members.begin(), table.members.end(),
                     [&](const toml::Member& member) { return member.name == name; });
    if (found != table.members.end())
        found->value.is = std::move(value);
    else
        table.members.push_back({std::string(name), toml::Value{std::move(value), {}}, {}});
}

// One file being changed: the text, what it says, and what it shall say.
class Edit {
public:
    Edit(const std::string& text, std::string_view file, toml::Table document)
        : text_(text),
          file_(file),
          document_(std::move(document)),
          wanted_(document_),
          line_end_(line_end_of(text)) {}

    Result<std::string> make(const CodexEnvironment& environment);

private:
    Result<void> set_default(const std::string& id);
    Result<void> set_environment(const CodexEnvironment& environment);
    Result<void> replace(const toml::Member& member, std::string text);
    Result<void> change_table(const toml::Table& table, const CodexEnvironment& environment);
    void begin_file(const CodexEnvironment& environment);
    void append(std::string_view lines);

    const std::string& text_;
    std::string_view file_;
    toml::Table document_;
    toml::Table wanted_;
    std::string_view line_end_;
    std::vector<Change> changes_;
};

toml::Table tree_of(const CodexEnvironment& environment) {
    toml::Array args;
    for (const std::string& arg : environment.args)
        args.items.push_back({arg, {}});
    toml::Table table;
    set(table, "id", environment.id);
    set(table, "program", environment.program);
    set(table, "args", std::move(args));
    return table;
}

void Edit::append(std::string_view lines) {
    std::string text;
    if (!text_.empty() && !text_.ends_with('\n')) text += '\n';
    if (!text_.empty()) text += '\n';
    changes_.push_back({text_.size(), 0, with_ends(text.append(lines), line_end_)});
}

Result<void> Edit::replace(const toml::Member& member, std::string text) {
    const std::size_t begin = offset_of(text_, member.value.position);
    const std::size_t end = end_of_value(text_, begin);
    if (end <= begin)
        return refusal(file_, fmt::format("line {}: '{}' cannot be replaced",
                                          member.value.position.line, member.name));
    changes_.push_back({begin, end - begin, std::move(text)});
    return {};
}

// Before the first thing that the file says, and the comment above that.
Result<void> Edit::set_default(const std::string& id) {
    set(wanted_, "default", id);
    const toml::Member* member = document_.find("default");
    if (is_string(member, id)) return {};
    if (member) return replace(*member, toml_string(id));
    std::size_t at = begin_of_line(text_, offset_of(text_, document_.members.front().position));
    const bool is_key = text_.find_first_not_of(" \t", at) != text_.find('[', at);
    bool has_comment = false;
    while (at > 0) {
        const std::size_t above = begin_of_line(text_, at - 1);
        if (text_[std::min(text_.find_first_not_of(" \t", above), at)] != '#') break;
        at = above;
        has_comment = true;
    }
    const std::string_view gap = is_key && !has_comment ? "" : "\n";
    const std::string line = fmt::format("default = {}\n{}", toml_string(id), gap);
    changes_.push_back({at, 0, with_ends(line, line_end_)});
    return {};
}

Result<void> Edit::change_table(const toml::Table& table, const CodexEnvironment& environment) {
    if (table.find("url"))
        return refusal(file_, fmt::format("environment '{}' has a url; remove the url, or choose "
                                          "another name with --id",
                                          environment.id));
    const toml::Member* id = table.find("id");
    const std::size_t id_at = offset_of(text_, id->value.position);
    const std::size_t line = begin_of_line(text_, id_at);
    const std::string indent = text_.substr(line, text_.find_first_not_of(" \t", line) - line);
    std::string missing;
    const toml::Member* program = table.find("program");
    if (!program)
        missing += fmt::format("\n{}program = {}", indent, toml_string(environment.program));
    else if (!is_string(program, environment.program))
        TRY(replace(*program, toml_string(environment.program)));
    const toml::Member* args = table.find("args");
    if (!args)
        missing += fmt::format("\n{}args = {}", indent, toml_array(environment.args));
    else if (!are_strings(args, environment.args))
        TRY(replace(*args, toml_array(environment.args)));
    if (missing.empty()) return {};
    std::size_t end = std::min(text_.find('\n', id_at), text_.size());
    if (end > 0 && text_[end - 1] == '\r') --end;
    changes_.push_back({end, 0, with_ends(missing, line_end_)});
    return {};
}

Result<void> Edit::set_environment(const CodexEnvironment& environment) {
    const toml::Member* member = document_.find("environments");
    const auto* array = member ? std::get_if<toml::Array>(&member->value.is) : nullptr;
    if (member && !array)
        return refusal(file_, fmt::format("line {}: 'environments' is not [[environments]]",
                                          member->position.line));
    toml::Array wanted = array ? *array : toml::Array();
    const toml::Table* ours = nullptr;
    for (toml::Value& item : wanted.items) {
        auto* table = std::get_if<toml::Table>(&item.is);
        if (!table || !is_string(table->find("id"), environment.id)) continue;
        if (ours)
            return refusal(file_, fmt::format("line {}: there are two environments '{}'",
                                              table->position.line, environment.id));
        const std::size_t index = static_cast<std::size_t>(&item - wanted.items.data());
        ours = std::get_if<toml::Table>(&array->items[index].is);
        for (const toml::Member& value : tree_of(environment).members)
            set(*table, value.name, value.value.is);
    }
    if (!ours) wanted.items.push_back({tree_of(environment), {}});
    set(wanted_, "environments", std::move(wanted));
    if (ours) return change_table(*ours, environment);
    append(table_of(environment));
    return {};
}

void Edit::begin_file(const CodexEnvironment& environment) {
    set(wanted_, "default", environment.id);
    set(wanted_, "include_local", false);
    toml::Array environments;
    environments.items.push_back({tree_of(environment), {}});
    set(wanted_, "environments", std::move(environments));
    append(codex_snippet(environment));
}

Result<std::string> Edit::make(const CodexEnvironment& environment) {
    if (document_.members.empty()) {
        begin_file(environment);
    } else {
        TRY(set_default(environment.id));
        TRY(set_environment(environment));
    }
    std::string text = changed(text_, std::move(changes_));
    toml::Problem problem;
    const std::optional<toml::Table> now = toml::parse(text, file_, problem);
    if (!now || !is_equal(*now, wanted_))
        return refusal(file_, "is written so that this cannot be added without changing more");
    return text;
}

} // namespace

std::string toml_string(std::string_view text) {
    ByteBuffer out;
    json::write_string(out, text); // the escapes of JSON are among those of TOML
    return std::string(out.view());
}

bool is_codex_id(std::string_view id) {
    const auto is_allowed = [](char byte) {
        return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
    };
    return !id.empty() && id.size() <= longest_id && id != "local" && id != "none" &&
           std::all_of(id.begin(), id.end(), is_allowed);
}

std::string codex_snippet(const CodexEnvironment& environment) {
    return fmt::format("default = {}\n{}include_local = false\n\n{}", toml_string(environment.id),
                       local_comment, table_of(environment));
}

Result<std::string> with_environment(const std::string& text, std::string_view file,
                                     const CodexEnvironment& environment) {
    return Edit(text, file, TRY(toml::parse(text, file))).make(environment);
}

bool keeps_local_environment(std::string_view text) {
    toml::Problem problem;
    const std::optional<toml::Table> document = toml::parse(text, "", problem);
    const toml::Member* member = document ? document->find("include_local") : nullptr;
    const bool* flag = member ? std::get_if<bool>(&member->value.is) : nullptr;
    return document && (!flag || *flag);
}

} // namespace ew::cli
