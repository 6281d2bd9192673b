#include "peer/peer_messages.h"

#include "core/output/utf8.h"
#include "core/text/display.h"
#include "core/text/text.h"
#include "json/reader.h"
#include "protocol/methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace ew::peer {

namespace {

struct PeerErrorData {
    std::optional<std::string> kind = {};
    std::optional<std::string> hint = {};
    std::optional<std::string> path = {};
};

template <class Visitor>
void fields(Visitor& visit, PeerErrorData& data) {
    visit.optional("kind", data.kind);
    visit.optional("hint", data.hint);
    visit.optional("path", data.path);
}

struct PeerError {
    std::string message = {};
    std::optional<PeerErrorData> data = {};
};

template <class Visitor>
void fields(Visitor& visit, PeerError& error) {
    visit.required("message", error.message);
    visit.optional("data", error.data);
}

ErrorKind kind_named(std::string_view name, ErrorKind otherwise) {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(ErrorKind::internal); ++i)
        if (protocol::name_of(static_cast<ErrorKind>(i)) == name) return static_cast<ErrorKind>(i);
    return otherwise;
}

constexpr std::size_t longest_shown = 2000; // bytes

// The number of list items that are kept.
constexpr std::size_t most_names = 64;
constexpr std::size_t most_survivors = 64;
constexpr std::size_t most_denials = 256;

void bound(std::string& text) {
    if (text.size() > longest_shown) text = text.substr(0, longest_shown);
}

void bound(std::optional<std::string>& text) {
    if (text) bound(*text);
}

// Limits a list of names; the last entry then says how many names are missing.
void bound(std::vector<std::string>& names) {
    const std::size_t count = names.size();
    if (count > most_names) names.resize(most_names - 1);
    for (std::string& name : names)
        name = core::shortened(name);
    if (count > names.size()) names.push_back(fmt::format("and {} more", count - names.size()));
    names.shrink_to_fit();
}

void bound(PeerEnd& end) {
    bound(end.signal);
    bound(end.sandbox_hint);
    bound(end.limit_hits);
    if (!end.denial_count) end.denial_count = end.denials.size();
    end.denials.resize(std::min(end.denials.size(), most_denials));
    end.denials.shrink_to_fit();
    for (protocol::Denial& denial : end.denials) {
        bound(denial.kind);
        for (std::optional<std::string>* text :
             {&denial.operation, &denial.target, &denial.program, &denial.rule, &denial.allow})
            bound(*text);
    }
}

// The other messages have no members that are kept, except output.
template <class Struct>
void bound_message(Struct& /*message*/) {}

void bound_message(PeerStarted& started) {
    bound(started.missing);
}

void bound_message(PeerExited& exited) {
    bound(exited.end);
}

void bound_message(PeerReadResult& result) {
    bound(result.end);
}

void bound_message(PeerTerminated& ended) {
    const auto is_no_pid = [](std::int64_t pid) {
        return pid < 1 || pid > std::numeric_limits<std::int32_t>::max();
    };
    std::erase_if(ended.survivors, is_no_pid);
    ended.survivors.resize(std::min(ended.survivors.size(), most_survivors));
}

} // namespace

template <class Struct>
Result<Struct> read_message(const json::Value* value) {
    Struct message;
    std::optional<json::Mismatch> wrong = json::Mismatch{"", "an object"};
    if (value != nullptr) wrong = json::read_value(value->element, message, {});
    if (wrong)
        return Error{ErrorKind::invalid_params,
                     fmt::format("{}: expected {}", wrong->path, wrong->expected)};
    bound_message(message);
    return message;
}

template Result<PeerStarted> read_message(const json::Value*);
template Result<PeerOutput> read_message(const json::Value*);
template Result<PeerExited> read_message(const json::Value*);
template Result<protocol::ClosedEvent> read_message(const json::Value*);
template Result<PeerReadResult> read_message(const json::Value*);
template Result<PeerWritten> read_message(const json::Value*);
template Result<PeerTerminated> read_message(const json::Value*);

std::string shown(std::string_view text) {
    return core::visible(core::lossy(text.substr(0, longest_shown)));
}

void make_fit_to_show(PeerEnd& end) {
    const auto clean = [](std::optional<std::string>& text) {
        if (text) text = shown(*text);
    };
    for (protocol::Denial& denial : end.denials) {
        denial.kind = shown(denial.kind);
        for (std::optional<std::string>* text :
             {&denial.operation, &denial.target, &denial.program, &denial.rule, &denial.allow})
            clean(*text);
    }
    clean(end.sandbox_hint);
    for (std::string& limit : end.limit_hits)
        limit = shown(limit);
}

Error error_of(const json::Value* value, ErrorKind otherwise) {
    Result<PeerError> read = read_message<PeerError>(value);
    if (!read) return {otherwise, "it answered with an error that cannot be read"};
    Error error = {otherwise, shown(read->message)};
    if (!read->data) return error;
    error.kind = kind_named(read->data->kind.value_or(""), otherwise);
    error.hint = shown(read->data->hint.value_or(""));
    error.path = shown(read->data->path.value_or(""));
    return error;
}

} // namespace ew::peer
