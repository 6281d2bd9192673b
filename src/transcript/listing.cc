#include "transcript/listing.h"

#include "core/text/display.h"
#include "core/text/text.h"
#include "json/base64.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>

namespace ew::transcript {

namespace {

constexpr std::size_t longest_value = 160;   // bytes of one member
constexpr std::size_t longest_summary = 300; // bytes of all members of a message

// These members are shown before all others.
constexpr std::array<std::string_view, 12> first_members = {
    "command", "argv",  "decision", "scope",   "processId", "callId",
    "stream",  "chunk", "delta",    "message", "exitCode",  "reason"};

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most) return core::visible(text);
    std::string_view start = text.substr(0, most);
    // A cut character would be shown as invalid bytes.
    while (!start.empty() && (static_cast<unsigned char>(text[start.size()]) & 0xc0) == 0x80)
        start.remove_suffix(1);
    return fmt::format("{} … ({} bytes)", core::visible(start), text.size());
}

bool is_list_of_texts(const Node& node) {
    return node.kind == Node::Kind::array &&
           std::all_of(node.items.begin(), node.items.end(),
                       [](const Node& item) { return item.is_text(); });
}

std::string shown_value(std::string_view name, const Node& value) {
    if (value.is_text()) {
        const bool may_be_bytes = name == "chunk";
        const std::optional<std::string> bytes =
            may_be_bytes ? json::decode_base64(value.text) : std::nullopt;
        return shortened(bytes ? *bytes : value.text, longest_value);
    }
    if (!is_list_of_texts(value)) return shortened(to_json(value), longest_value);
    std::vector<std::string> words;
    for (const Node& item : value.items)
        words.push_back(item.text);
    const std::string quoted = core::shell_quoted(words); // visible already
    return quoted.size() <= longest_value
               ? quoted
               : shortened(fmt::format("{}", fmt::join(words, " ")), longest_value);
}

std::size_t rank_of(std::string_view name) {
    const auto* const at = std::find(first_members.begin(), first_members.end(), name);
    return static_cast<std::size_t>(at - first_members.begin());
}

// Returns the members as "name: value, name: value".
std::string shown_members(const Node* node) {
    if (node == nullptr) return {};
    if (node->kind != Node::Kind::object) return shown_value("", *node);
    std::vector<std::size_t> order(node->names.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return rank_of(node->names[a]) < rank_of(node->names[b]);
    });
    std::string text;
    for (std::size_t shown = 0; shown < order.size(); ++shown) {
        const std::string& name = node->names[order[shown]];
        const std::string member =
            fmt::format("{}{}: {}", text.empty() ? "" : ", ", shortened(name, longest_value),
                        shown_value(name, node->items[order[shown]]));
        if (!text.empty() && text.size() + member.size() > longest_summary)
            return fmt::format("{}, {} more", text, order.size() - shown);
        text += member;
    }
    return text;
}

class Summaries {
public:
    std::string of(const Step& step);

private:
    std::string of_message(const Node& message, bool is_from_client);

    // The methods of the requests of each side, by the JSON of their ids.
    std::map<std::string, std::string, std::less<>> of_client_;
    std::map<std::string, std::string, std::less<>> of_server_;
};

std::string Summaries::of_message(const Node& message, bool is_from_client) {
    const Node* const id = message.find("id");
    const std::string id_json = id == nullptr ? "" : to_json(*id);
    const std::string number = id == nullptr ? "" : fmt::format(" ({})", core::visible(id_json));
    if (const Node* const method = message.find("method")) {
        if (id != nullptr) (is_from_client ? of_client_ : of_server_)[id_json] = method->text;
        const std::string members = shown_members(message.find("params"));
        return fmt::format("{}{}{}{}", shortened(method->text, longest_value), number,
                           members.empty() ? "" : ": ", members);
    }
    const auto& asked = is_from_client ? of_server_ : of_client_;
    const auto question = asked.find(id_json);
    const std::string method =
        question == asked.end() ? "" : " to " + shortened(question->second, longest_value);
    const Node* const error = message.find("error");
    const std::string members = shown_members(error != nullptr ? error : message.find("result"));
    return fmt::format("{}{}{}{}{}", error != nullptr ? "error" : "answer", method, number,
                       members.empty() ? "" : ": ", members);
}

std::string Summaries::of(const Step& step) {
    switch (step.kind) {
    case Step::Kind::send:
    case Step::Kind::expect: {
        const bool is_from_client = step.kind == Step::Kind::send;
        const bool is_message = step.message && step.message->kind == Node::Kind::object;
        return fmt::format("{}  {}", is_from_client ? "client" : "server",
                           is_message ? of_message(*step.message, is_from_client)
                                      : shortened(step.text, longest_value));
    }
    case Step::Kind::end_of_input:
    case Step::Kind::exit_status:
    case Step::Kind::nothing:
    case Step::Kind::options:
    case Step::Kind::setting:
    case Step::Kind::kill:
    case Step::Kind::restart: return "player  " + shortened(step.text, longest_summary);
    }
    return {};
}

// Returns "+12.3 ms" if a recorder wrote this comment.
std::string_view time_in(std::string_view comment) {
    constexpr std::string_view before = "# ";
    if (!comment.starts_with("# +") || !comment.ends_with(" ms") || comment.size() > 24) return {};
    return comment.substr(before.size());
}

} // namespace

std::optional<Millis> time_in_comment(std::string_view comment) {
    const std::string_view time = time_in(comment);
    std::int64_t count = 0;
    if (time.empty()) return std::nullopt;
    const char* const digits = time.data() + 1;
    if (std::from_chars(digits, time.data() + time.size(), count).ec != std::errc())
        return std::nullopt;
    return Millis(count);
}

std::string listing(std::string_view text, const std::vector<Step>& steps) {
    constexpr std::size_t time_width = 14;
    std::string lines;
    std::string time;
    Summaries summaries;
    auto step = steps.begin();
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (step != steps.end() && step->line == number) {
            lines += fmt::format("{:>{}}  {}\n", time, time_width, summaries.of(*step++));
            time.clear();
        } else if (!time_in(line).empty()) {
            time = core::visible(time_in(line));
        } else if (line.starts_with('#')) {
            lines += core::visible(line) + '\n';
        }
    }
    return lines;
}

} // namespace ew::transcript
