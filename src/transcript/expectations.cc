#include "transcript/expectations.h"

#include "json/base64.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ew::transcript {

namespace {

constexpr std::size_t shown_bytes = 400; // bytes of output shown in a difference

bool is_call(const Node& message) {
    return message.find("method") != nullptr;
}

// The members of an output event that hold the output: as base64, or as text.
constexpr std::string_view bytes_member = "chunk";
constexpr std::string_view text_member = "delta";

bool is_output(const Node& message) {
    const std::string_view method = message.text_of("method");
    return method == "process/output" || method == "exec/outputDelta";
}

// Returns true for messages about a call of exec/command, including its questions.
bool is_about_call(const Node& message) {
    const std::string_view method = message.text_of("method");
    return method.starts_with("exec/") || method == "approval/request";
}

std::string_view text_in_params(const Node& message, std::string_view name) {
    const Node* const params = message.find("params");
    return params == nullptr ? std::string_view() : params->text_of(name);
}

std::string lane_of(const Node& message) {
    const Node* const process = message.find("params", "processId");
    const std::string_view method = message.text_of("method");
    if (method.starts_with("process/") && process != nullptr) return "process " + to_json(*process);
    const Node* const call = message.find("params", "callId");
    if (is_about_call(message) && call != nullptr) return "call " + to_json(*call);
    if (is_call(message)) return fmt::format("method {}", method);
    const Node* const id = message.find("id");
    return "reply " + (id == nullptr ? "" : to_json(*id));
}

std::string shown(std::string_view bytes) {
    if (bytes.empty()) return "nothing";
    const std::size_t left_out = bytes.size() - std::min(bytes.size(), shown_bytes);
    std::string text;
    if (is_utf8(bytes) && left_out == 0)
        text = to_json(Node::of_text(std::string(bytes)));
    else
        for (const char c : bytes.substr(0, shown_bytes))
            text += c >= 0x20 && c < 0x7f ? std::string(1, c)
                                          : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    return left_out == 0 ? text : fmt::format("{} and {} bytes more", text, left_out);
}

bool is_printed(std::string_view member) {
    return member == bytes_member || member == text_member;
}

Node without_output(Node message) {
    Node* const params = message.find("params");
    if (params == nullptr) return message;
    const auto found = std::find_if(params->names.begin(), params->names.end(), is_printed);
    if (found != params->names.end())
        params->remove(static_cast<std::size_t>(found - params->names.begin()));
    return message;
}

// Returns the output in an output event. Returns null if there is none.
const Node* output_in(const Node& message) {
    const Node* const chunk = message.find("params", bytes_member);
    return chunk != nullptr ? chunk : message.find("params", text_member);
}

// Returns the bytes of the output. Returns nullopt if the value has the wrong kind.
std::optional<std::string> bytes_of_output(const Node& message) {
    const Node* const printed = output_in(message);
    if (printed == nullptr || !printed->is_text() || printed->is_open) return {};
    if (printed == message.find("params", text_member)) return printed->text;
    return json::decode_base64(printed->text);
}

std::optional<std::uint64_t> number_in(const Node& node) {
    std::uint64_t number = 0;
    const char* const end = node.text.data() + node.text.size();
    const auto parsed = std::from_chars(node.text.data(), end, number);
    return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

} // namespace

std::size_t Expectations::Stream::step_at_hand() const {
    for (const auto& [end, step] : ends)
        if (received < end) return step;
    return open_step.value_or(ends.empty() ? 0 : ends.back().second);
}

Expectations::Stream* Expectations::Entry::find(std::string_view stream) {
    const auto found = std::find_if(streams.begin(), streams.end(),
                                    [stream](const Stream& each) { return each.name == stream; });
    return found == streams.end() ? nullptr : &*found;
}

Result<Expectations> Expectations::make(const std::vector<Step>& steps, const Shapes& shapes,
                                        Matcher& matcher) {
    Expectations expectations(steps, shapes, matcher);
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i].kind == Step::Kind::expect) TRY(expectations.add(i));
    return expectations;
}

Result<void> Expectations::add(std::size_t step) {
    const Node& message = *(*steps_)[step].message;
    const std::string_view call = text_in_params(message, "callId");
    if (is_about_call(message) && (call.empty() || is_name(call)))
        return Error{ErrorKind::parse,
                     fmt::format("{}: a message about a call must spell out its callId, which "
                                 "tells what it comes after",
                                 (*steps_)[step].line)};
    std::vector<Entry>& entries = lanes_[lane_of(message)].entries;
    if (!is_output(message)) {
        entries.push_back({step, {}});
        return {};
    }
    if (entries.empty() || entries.back().streams.empty()) entries.push_back({});
    Entry& joined = entries.back();
    const std::string_view name = text_in_params(message, "stream");
    Stream* stream = joined.find(name);
    if (stream == nullptr) stream = &joined.streams.emplace_back(Stream{std::string(name)});
    return add_output(*stream, step);
}

Result<void> Expectations::add_output(Stream& stream, std::size_t step) const {
    const Step& written = (*steps_)[step];
    if (stream.open_step)
        return Error{ErrorKind::parse,
                     fmt::format("{}: output of this stream is left open above, so what is part of "
                                 "this line cannot be told",
                                 written.line)};
    if (output_in(*written.message) == nullptr) {
        stream.open_step = step;
        return {};
    }
    const std::optional<std::string> bytes = bytes_of_output(*written.message);
    if (!bytes || bytes->empty())
        return Error{ErrorKind::parse,
                     fmt::format("{}: a chunk must be base64 of at least one byte, and a delta a "
                                 "text that is not empty and whole",
                                 written.line)};
    stream.bytes += *bytes;
    stream.ends.emplace_back(stream.bytes.size(), step);
    return {};
}

void Expectations::note_sent(const Node& message) {
    const bool is_answer = !is_call(message) && (message.find("result") || message.find("error"));
    if (message.find("id") != nullptr && !is_answer)
        unanswered_["reply " + to_json(*message.find("id"))].push_back(message);
}

void Expectations::note_restart() {
    unanswered_.clear();
    seqs_.clear();
    shown_.clear();
}

const Node* Expectations::type_of(const Node& message) const {
    if (is_call(message)) return shapes_->call(message.text_of("method"));
    const auto found = unanswered_.find(lane_of(message));
    if (found == unanswered_.end() || found->second.empty()) return shapes_->reply("");
    return shapes_->reply(found->second.front().text_of("method"));
}

Discord Expectations::discord(std::size_t step, std::string what, const Node& message) const {
    const Step& written = (*steps_)[step];
    return {written.line, std::move(what), {}, written.text, to_json(message)};
}

bool Expectations::answers_nothing(const Node& message) const {
    const Node* const id = message.find("id");
    if (is_call(message) || id == nullptr || id->kind == Node::Kind::null) return false;
    const auto asked = unanswered_.find(lane_of(message));
    return asked == unanswered_.end() || asked->second.empty();
}

// Checks rules that every server must keep, whatever the transcript says: a process sends messages
// only after it was started, and they are numbered from 1 without gaps.
std::optional<Discord> Expectations::check_seq(const Node& message) {
    const Node* const seq = message.find("params", "seq");
    const Node* const process = message.find("params", "processId");
    if (is_about_call(message)) return check_delta(message);
    if (!is_call(message) || seq == nullptr || process == nullptr) return {};
    const auto last = seqs_.find(process->text);
    if (last == seqs_.end())
        return Discord{0, "this came before the process was started", {}, {}, to_json(message)};
    const std::string due = fmt::format("{}", ++last->second);
    if (seq->text == due) return {};
    return Discord{
        0, "seq must count without gaps", {"params.seq", due, seq->text}, {}, to_json(message)};
}

// The same for commands: text comes after the begin. Numbers increase, but may have gaps, because
// the exit and the chunks that are not shown have numbers too.
std::optional<Discord> Expectations::check_delta(const Node& message) {
    const std::string process(text_in_params(message, "processId"));
    if (message.text_of("method") == "exec/begin") shown_[process] = 0;
    if (!is_output(message)) return {};
    const auto last = shown_.find(process);
    if (last == shown_.end())
        return Discord{0, "this came before the command began", {}, {}, to_json(message)};
    const Node* const seq = message.find("params", "seq");
    const std::optional<std::uint64_t> number = seq == nullptr ? std::nullopt : number_in(*seq);
    if (number && *number > last->second) {
        last->second = *number;
        return {};
    }
    Difference difference = {"params.seq", fmt::format("more than {}", last->second),
                             seq == nullptr ? "no such member" : to_json(*seq)};
    return Discord{0, "seq must grow", std::move(difference), {}, to_json(message)};
}

std::optional<Discord> Expectations::take(const Node& message) {
    if (std::optional<Discord> found = check_seq(message)) return found;
    if (answers_nothing(message))
        return Discord{0, "this answers nothing that was asked", {}, {}, to_json(message)};
    const auto found = lanes_.find(lane_of(message));
    if (found == lanes_.end() || found->second.next == found->second.entries.size())
        return Discord{0, "this message is not expected", {}, {}, to_json(message)};
    Lane& lane = found->second;
    Entry* entry = &lane.entries[lane.next];
    const auto unfinished =
        std::find_if(entry->streams.begin(), entry->streams.end(),
                     [](const Stream& stream) { return !stream.is_complete(); });
    const bool is_joined = !entry->streams.empty();
    if (is_joined && is_output(message)) {
        Stream* const stream = entry->find(text_in_params(message, "stream"));
        if (stream != nullptr) return take_output(*stream, message);
    }
    if (is_joined && unfinished != entry->streams.end()) {
        Discord missing = discord(unfinished->step_at_hand(), "output is missing", message);
        missing.difference = {"", progress_of(unfinished->step_at_hand()), "another message"};
        return missing;
    }
    if (is_joined && ++lane.next == lane.entries.size())
        return Discord{0, "this message is not expected", {}, {}, to_json(message)};
    return take_single(lane.entries[lane.next++].step, message);
}

std::optional<Discord> Expectations::take_single(std::size_t step, const Node& message) {
    const Node& expected = *(*steps_)[step].message;
    if (std::optional<Difference> found = matcher_->compare(expected, message, type_of(message))) {
        Discord result = discord(step, "the server says something else", message);
        result.difference = std::move(*found);
        return result;
    }
    met_[step] = true;
    if (!is_call(message)) note_reply(message);
    return {};
}

void Expectations::note_reply(const Node& message) {
    const auto found = unanswered_.find(lane_of(message));
    if (found == unanswered_.end() || found->second.empty()) return;
    const Node request = std::move(found->second.front());
    found->second.pop_front();
    const bool has_started =
        request.text_of("method") == "process/start" && message.find("result") != nullptr;
    const Node* const process = request.find("params", "processId");
    if (has_started && process != nullptr) seqs_[process->text] = 0;
}

std::optional<Discord> Expectations::take_output(Stream& stream, const Node& message) {
    const std::size_t step = stream.step_at_hand();
    const Node expected = without_output(*(*steps_)[step].message);
    const Node rest = without_output(message);
    if (std::optional<Difference> found = matcher_->compare(expected, rest, type_of(message))) {
        Discord result = discord(step, "the server says something else", message);
        result.difference = std::move(*found);
        return result;
    }
    const std::optional<std::string> bytes = bytes_of_output(message);
    if (!bytes) return discord(step, "the output is not base64, or no text", message);
    return take_bytes(stream, *bytes, message);
}

std::optional<Discord> Expectations::take_bytes(Stream& stream, std::string_view bytes,
                                                const Node& message) {
    const std::size_t begin = std::min(stream.received, stream.bytes.size());
    const std::string_view due = std::string_view(stream.bytes).substr(begin);
    const bool fits = due.size() <= bytes.size() ? bytes.starts_with(due) : due.starts_with(bytes);
    const bool is_too_much = bytes.size() > due.size() && !stream.open_step;
    if (!fits || is_too_much) {
        Discord result = discord(stream.step_at_hand(), "the output differs", message);
        result.difference = {"", shown(due), shown(bytes)};
        return result;
    }
    stream.received += bytes.size();
    for (const auto& [end, step] : stream.ends)
        if (end <= stream.received) met_[step] = true;
    if (stream.open_step && stream.is_complete()) met_[*stream.open_step] = true;
    return {};
}

bool Expectations::is_extra(const Node& message) const {
    const auto found = lanes_.find(lane_of(message));
    if (found == lanes_.end()) return true;
    const Lane& lane = found->second;
    if (lane.next == lane.entries.size()) return true;
    const bool is_last = lane.next + 1 == lane.entries.size();
    const std::vector<Stream>& streams = lane.entries[lane.next].streams;
    return is_last && !streams.empty() &&
           std::all_of(streams.begin(), streams.end(),
                       [](const Stream& stream) { return stream.is_complete(); });
}

std::string Expectations::progress_of(std::size_t step) const {
    for (const auto& [name, lane] : lanes_)
        for (const Entry& entry : lane.entries)
            for (const Stream& stream : entry.streams) {
                if (stream.step_at_hand() != step || stream.is_complete()) continue;
                const std::string_view bytes = stream.bytes;
                return "still to come: " + (stream.received >= bytes.size()
                                                ? "some output"
                                                : shown(bytes.substr(stream.received)));
            }
    return {};
}

} // namespace ew::transcript
