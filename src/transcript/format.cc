#include "transcript/format.h"

#include "json/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ew::transcript {

namespace {

constexpr std::string_view dots = "...";
constexpr std::string_view stand_in = "\x01..."; // replaces "..."; occurs nowhere else
constexpr std::string_view stand_in_json = "\"\\u0001...\"";

Error format_error(int line, std::string_view what) {
    return {ErrorKind::parse, fmt::format("{}: {}", line, what)};
}

// Returns the position behind the string that begins at `begin`.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
    std::size_t at = begin + 1;
    while (at < text.size() && text[at] != '"')
        at += text[at] == '\\' ? 2 : 1;
    return std::min(at + 1, text.size());
}

// Turns a line with "..." into valid JSON: each "..." becomes a member or an element.
std::string spell_out_dots(std::string_view text) {
    std::string json;
    std::string inside; // the open brackets
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '"') {
            const std::size_t end = end_of_string(text, at);
            json += text.substr(at, end - at);
            at = end;
        } else if (text.substr(at, dots.size()) == dots && !inside.empty()) {
            json += stand_in_json;
            if (inside.back() == '{') json += ":null";
            at += dots.size();
        } else {
            if (text[at] == '{' || text[at] == '[') inside += text[at];
            if ((text[at] == '}' || text[at] == ']') && !inside.empty()) inside.pop_back();
            json += text[at++];
        }
    }
    return json;
}

// Turns a member "name~" with text into "name" with its base64.
Result<void> encode_text_member(std::string& name, Node& value) {
    if (!name.ends_with('~')) return {};
    if (!value.is_text())
        return Error{ErrorKind::parse, fmt::format("the member \"{}\" must hold text", name)};
    name.pop_back();
    ByteBuffer base64;
    json::write_base64(base64, value.text);
    value.text = base64.view().substr(1, base64.size() - 2);
    return {};
}

// Marks the text of a member "name*" as partial, and removes the * from the name.
Result<void> open_part(std::string& name, Node& value) {
    if (!name.ends_with('*')) return {};
    if (!value.is_text())
        return Error{ErrorKind::parse, fmt::format("the member \"{}\" must hold text", name)};
    name.pop_back();
    value.is_open = true;
    return {};
}

// Only for expected messages: sent messages are complete.
Result<void> open_parts(Node& node) {
    for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (i < node.names.size()) TRY(open_part(node.names[i], node.items[i]));
        TRY(open_parts(node.items[i]));
    }
    return {};
}

Result<void> take_out_dots(Node& node) {
    const auto is_dots = [](const Node& item) { return item.is_text() && item.text == stand_in; };
    if (node.kind == Node::Kind::object) {
        const auto found = std::find(node.names.begin(), node.names.end(), stand_in);
        node.is_open = found != node.names.end();
        if (node.is_open) node.remove(static_cast<std::size_t>(found - node.names.begin()));
    } else if (node.kind == Node::Kind::array) {
        const auto found = std::find_if(node.items.begin(), node.items.end(), is_dots);
        node.is_open = found != node.items.end();
        if (node.is_open && found + 1 != node.items.end())
            return Error{ErrorKind::parse, "... must be the last element of its array"};
        if (node.is_open) node.items.pop_back();
    }
    return {};
}

// Interprets "..." and members with ~, recursively.
Result<void> interpret(Node& node) {
    TRY(take_out_dots(node));
    for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (i < node.names.size()) TRY(encode_text_member(node.names[i], node.items[i]));
        TRY(interpret(node.items[i]));
    }
    return {};
}

Result<Node> read_expected(std::string_view text) {
    Node node = TRY(parse_node(spell_out_dots(text)));
    if (node.kind != Node::Kind::object)
        return Error{ErrorKind::parse, "a message is a JSON object"};
    TRY(interpret(node));
    TRY(open_parts(node));
    return node;
}

// Returns true if a message must be rewritten before it is sent. Other messages are sent unchanged.
bool has_something_to_expand(const Node& node) {
    if (node.is_text()) return node.text.starts_with('$');
    for (const std::string& name : node.names)
        if (name.ends_with('~')) return true;
    return std::any_of(node.items.begin(), node.items.end(), has_something_to_expand);
}

std::optional<int> number_in(std::string_view text) {
    int number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    return is_whole && number >= 0 ? std::optional(number) : std::nullopt;
}

std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
    if (!text.starts_with(before) || !text.ends_with(after)) return {};
    if (text.size() < before.size() + after.size()) return {};
    return text.substr(before.size(), text.size() - before.size() - after.size());
}

Result<Step> read_directive(std::string_view text, int line) {
    Step step{Step::Kind::end_of_input, line, std::string(text)};
    if (text == "eof") return step;
    if (const auto status = number_in(between(text, "exit ", ""))) {
        step.kind = Step::Kind::exit_status;
        step.number = *status;
        return step;
    }
    if (const auto millis = number_in(between(text, "nothing within ", " ms"))) {
        step.kind = Step::Kind::nothing;
        step.number = *millis;
        return step;
    }
    if (text == "kill" || text == "restart") {
        step.kind = text == "kill" ? Step::Kind::kill : Step::Kind::restart;
        return step;
    }
    if (text.starts_with("options ")) {
        step.kind = Step::Kind::options;
        return step;
    }
    if (text.starts_with("setting ")) {
        step.kind = Step::Kind::setting;
        return step;
    }
    return format_error(line, "a directive is '! eof', '! kill', '! exit N', '! restart', "
                              "'! nothing within N ms', '! options OPTION…' or '! setting LINE'");
}

Result<Step> read_send(std::string_view text, int line) {
    Step step{Step::Kind::send, line, std::string(text)};
    Result<Node> message = parse_node(text);
    if (!message) return step; // deliberately invalid
    step.message = std::move(*message);
    step.is_verbatim = !has_something_to_expand(*step.message);
    if (Result<void> done = interpret(*step.message); !done)
        return format_error(line, done.error().message);
    return step;
}

Result<Step> read_expect(std::string_view text, int line) {
    Step step{Step::Kind::expect, line, std::string(text)};
    Result<Node> message = read_expected(text);
    if (!message) return format_error(line, message.error().message);
    step.message = std::move(*message);
    return step;
}

Result<Step> read_line(std::string_view text, int line) {
    const std::string_view rest = text.substr(std::min<std::size_t>(2, text.size()));
    if (text.starts_with("> ")) return read_send(rest, line);
    if (text.starts_with("< ")) return read_expect(rest, line);
    if (text.starts_with("! ")) return read_directive(rest, line);
    return format_error(line, "a line begins with '> ', '< ', '! ' or '#'");
}

// Refuses impossible orders: sending after the end, anything but a new server after the exit, and
// options or settings for a running server.
Result<void> check_order(const std::vector<Step>& steps) {
    bool has_begun = false;
    bool has_ended = false;
    bool has_exited = false;
    for (const Step& step : steps) {
        const bool is_restart = step.kind == Step::Kind::restart;
        if (is_restart != has_exited)
            return format_error(step.line, is_restart ? "'! restart' must follow '! exit N'"
                                                      : "only '! restart' can follow '! exit'");
        const bool needs_input =
            step.kind == Step::Kind::send || step.kind == Step::Kind::end_of_input;
        if (has_ended && needs_input)
            return format_error(step.line, "the client's end was closed, or the server killed");
        if (step.kind == Step::Kind::options && &step != steps.data())
            return format_error(step.line, "'! options' must be the first line");
        const bool is_before_start =
            step.kind == Step::Kind::options || step.kind == Step::Kind::setting;
        if (step.kind == Step::Kind::setting && has_begun)
            return format_error(step.line, "'! setting' must come before all messages");
        has_begun = has_begun || !is_before_start;
        if (is_restart) has_ended = false;
        has_ended =
            has_ended || step.kind == Step::Kind::end_of_input || step.kind == Step::Kind::kill;
        has_exited = step.kind == Step::Kind::exit_status;
    }
    return {};
}

} // namespace

std::string_view Step::rest() const {
    return std::string_view(text).substr(std::min(text.find(' '), text.size()));
}

std::vector<std::string> Step::words() const {
    std::vector<std::string> words;
    const std::string_view written = rest();
    for (std::size_t at = 0; at < written.size();) {
        const std::size_t begin = std::min(written.find_first_not_of(' ', at), written.size());
        at = std::min(written.find(' ', begin), written.size());
        if (begin < at) words.emplace_back(written.substr(begin, at - begin));
    }
    return words;
}

bool is_name(std::string_view text) {
    if (text.size() < 2 || text.front() != '$') return false;
    const std::string_view word = text.substr(1);
    const auto is_letter = [](char c) {
        return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return is_letter(word.front()) && std::all_of(word.begin(), word.end(), [&](char c) {
               return is_letter(c) || is_digit(c);
           });
}

Result<std::vector<Step>> parse_transcript(std::string_view text) {
    std::vector<Step> steps;
    for (int line = 1; !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view content = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const bool is_blank = content.find_first_not_of(" \t\r") == std::string_view::npos;
        if (is_blank || content.starts_with('#')) continue;
        steps.push_back(TRY(read_line(content, line)));
    }
    TRY(check_order(steps));
    return steps;
}

} // namespace ew::transcript
