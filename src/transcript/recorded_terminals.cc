#include "transcript/recorded_terminals.h"

#include "core/text/display.h"
#include "json/base64.h"
#include "transcript/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace ew::transcript {

namespace {

using Event = RecordedTerminal::Event;

template <class Number>
Number number_of(const Node* node, Number fallback) {
    Number number = 0;
    if (node == nullptr || node->kind != Node::Kind::number) return fallback;
    const char* const end = node->text.data() + node->text.size();
    return std::from_chars(node->text.data(), end, number).ec == std::errc() ? number : fallback;
}

core::ScreenSize size_of(const Node* size) {
    const core::ScreenSize usual;
    if (size == nullptr) return usual;
    return {number_of(size->find("rows"), usual.rows), number_of(size->find("cols"), usual.cols)};
}

// Returns nullopt if the params do not ask for a terminal.
std::optional<RecordedTerminal> terminal_of(const Node& params, Millis now) {
    const Node* const tty = params.find("tty");
    if (tty == nullptr || tty->text != "true") return std::nullopt;
    RecordedTerminal terminal;
    terminal.size = size_of(params.find("size"));
    terminal.command = params.text_of("command");
    if (const Node* const argv = params.find("argv"); argv != nullptr && !argv->items.empty()) {
        std::vector<std::string> words;
        for (const Node& word : argv->items)
            words.push_back(word.text);
        terminal.command = core::shell_quoted(words);
    }
    terminal.began = now;
    return terminal;
}

// Reads the messages of a session, in their order.
class Session {
public:
    void take(const Step& step, Millis now);

    std::vector<RecordedTerminal>& terminals() { return terminals_; }

private:
    void take_from_client(const Node& message, const Node& params, Millis now);
    void take_from_server(std::string_view method, const Node& params, Millis now);
    void add(RecordedTerminal terminal, std::string_view process);
    void add(const Node& params, Event event);

    std::vector<RecordedTerminal> terminals_;
    std::map<std::string, RecordedTerminal, std::less<>>
        called_; // not begun, by the ids of their calls
};

void Session::take(const Step& step, Millis now) {
    const bool is_message = step.kind == Step::Kind::send || step.kind == Step::Kind::expect;
    const Node* const params = is_message && step.message ? step.message->find("params") : nullptr;
    if (params == nullptr) return;
    if (step.kind == Step::Kind::send)
        take_from_client(*step.message, *params, now);
    else
        take_from_server(step.message->text_of("method"), *params, now);
}

void Session::take_from_client(const Node& message, const Node& params, Millis now) {
    const std::string_view method = message.text_of("method");
    if (method == "process/start") {
        if (std::optional<RecordedTerminal> terminal = terminal_of(params, now))
            add(std::move(*terminal), params.text_of("processId"));
    } else if (method == "exec/command") {
        const Node* const id = message.find("id");
        std::string call(params.text_of("callId"));
        if (call.empty() && id != nullptr) call = id->text;
        if (std::optional<RecordedTerminal> terminal = terminal_of(params, now))
            called_.insert_or_assign(std::move(call), std::move(*terminal));
    } else if (method == "process/resize" || method == "exec/resize") {
        add(params, {Event::Kind::resize, now, {}, size_of(params.find("size"))});
    }
}

void Session::take_from_server(std::string_view method, const Node& params, Millis now) {
    if (method == "exec/begin") {
        const auto called = called_.find(params.text_of("callId"));
        if (called == called_.end()) return;
        called->second.began = now;
        add(called->second, params.text_of("processId"));
    } else if (method == "process/output") {
        const std::optional<std::string> bytes = json::decode_base64(params.text_of("chunk"));
        add(params, {Event::Kind::output, now, bytes.value_or("")});
    } else if (method == "exec/outputDelta") {
        add(params, {Event::Kind::output, now, std::string(params.text_of("delta"))});
    } else if (method == "process/exited" || method == "exec/end") {
        add(params,
            {Event::Kind::exit, now, {}, {}, number_of<std::int64_t>(params.find("exitCode"), -1)});
    }
}

// An id can be that of a new process when the one before has ended.
void Session::add(RecordedTerminal terminal, std::string_view process) {
    std::erase_if(terminals_, [&](const RecordedTerminal& old) { return old.process == process; });
    terminal.process = process;
    terminals_.push_back(std::move(terminal));
}

void Session::add(const Node& params, Event event) {
    const std::string_view process = params.text_of("processId");
    const auto at = std::ranges::find(terminals_, process, &RecordedTerminal::process);
    if (at != terminals_.end()) at->events.push_back(std::move(event));
}

std::string names_of(const std::vector<RecordedTerminal>& terminals) {
    std::vector<std::string> names;
    names.reserve(terminals.size());
    for (const RecordedTerminal& terminal : terminals)
        names.push_back(core::visible(terminal.process));
    return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

Recorded recorded_terminals(std::string_view text, const std::vector<Step>& steps) {
    Session session;
    std::optional<Millis> now;
    auto step = steps.begin();
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (const std::optional<Millis> at = time_in_comment(line)) now = at;
        if (step == steps.end() || step->line != number) continue;
        session.take(*step++, now.value_or(Millis(0)));
    }
    return {std::move(session.terminals()), now.has_value()};
}

Result<const RecordedTerminal*> chosen_terminal(const std::vector<RecordedTerminal>& terminals,
                                                const std::string& process) {
    if (terminals.empty())
        return Error{ErrorKind::invalid_params, "no process of this session has a terminal",
                     "only a process that was started with tty has one"};
    if (process.empty() && terminals.size() == 1) return &terminals.front();
    if (process.empty())
        return Error{ErrorKind::invalid_params,
                     fmt::format("{} processes of this session have a terminal: {}",
                                 terminals.size(), names_of(terminals)),
                     "choose one with --process=ID"};
    const auto at = std::ranges::find(terminals, process, &RecordedTerminal::process);
    if (at != terminals.end()) return &*at;
    return Error{
        ErrorKind::invalid_params,
        fmt::format("no process '{}' of this session has a terminal", core::visible(process)),
        fmt::format("these have one: {}", names_of(terminals))};
}

} // namespace ew::transcript
