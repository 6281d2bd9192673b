#include "server/patch/journal_keeper.h"

#include "files/patch/patch_journal.h"
#include "files/patch/patching.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ew::server {

namespace event = core::patch_call::event;
using core::patch_call::Event;
using core::patch_call::Settlement;

namespace {

constexpr Millis writing_time{15'000};
constexpr Millis settling_time{60'000}; // how long an errand may undo or finish a patch
constexpr std::string_view good = "done";
constexpr std::string_view undone = "undone";

event::NoteFailed no_journal(const std::string& reason) {
    return {{ErrorKind::store_unavailable,
             fmt::format("the patch was not applied: no journal can be kept: {}", reason),
             "make room in the state directory, and let it be written; see execward doctor"}};
}

Event of_writing(const std::string& result) {
    if (result == good) return event::Noted{};
    return no_journal(result);
}

Event of_settling(const std::string& result) {
    if (result == good) return event::Settled{Settlement::applied, {}};
    if (result == undone) return event::Settled{Settlement::undone, {}};
    return event::Settled{Settlement::unclear, result};
}

Event of_removal(const std::string&) {
    return event::Tidied{};
}

// Runs in a process of its own. Returns `good` if all files are as after the patch, and `undone` if
// they are as before it. Otherwise returns the error.
std::string undo_or_finish(const files::HeldJournal& journal, const std::string& text) {
    files::RecoveryReport report;
    if (files::Failure failure = files::recover_patch(text, report)) return failure->message;
    journal.remove();
    bool is_finished = true;
    for (const files::RecoveredFile& file : report.files) {
        if (file.outcome == files::Recovery::left_alone)
            return fmt::format("'{}' was changed by somebody else and is left as it is", file.path);
        is_finished = is_finished && file.outcome == files::Recovery::finished;
    }
    return std::string(is_finished && !report.files.empty() ? good : undone);
}

} // namespace

JournalKeeper::JournalKeeper(std::string state_directory, os::Poller& poller, os::Token token)
    : state_directory_(std::move(state_directory)), poller_(poller), token_(token) {}

JournalKeeper::News JournalKeeper::write(const files::PatchReport& report, TimePoint now) {
    patch_token_ = files::new_token();
    text_ = encode(files::journal_of(report, patch_token_));
    Result<files::HeldJournal> journal = files::HeldJournal::begin(state_directory_, patch_token_);
    if (!journal) return no_journal(journal.error().message);
    journal_ = std::move(*journal);
    const auto body = [this] {
        Result<void> written = journal_->finish(text_);
        return written ? std::string(good) : written.error().message;
    };
    if (Result<void> begun = begin(body, of_writing, now + writing_time); !begun)
        return no_journal(begun.error().message);
    return std::nullopt;
}

JournalKeeper::News JournalKeeper::settle(TimePoint now) {
    const auto body = [this] { return undo_or_finish(*journal_, text_); };
    if (begin(body, of_settling, now + settling_time)) return std::nullopt;
    return event::Settled{Settlement::unclear, "no process could be started"};
}

JournalKeeper::News JournalKeeper::remove(TimePoint now) {
    if (!journal_) return event::Tidied{};
    const auto body = [this] {
        journal_->remove();
        return std::string(good);
    };
    if (begin(body, of_removal, now + settling_time)) return std::nullopt;
    journal_->remove();
    return event::Tidied{};
}

Result<void> JournalKeeper::begin(const std::function<std::string()>& body, Meaning meaning,
                                  TimePoint deadline) {
    os::Errand errand = TRY(os::Errand::begin(body, journal_->descriptors(), deadline));
    errand_.emplace(std::move(errand), poller_, token_);
    meaning_ = meaning;
    return {};
}

JournalKeeper::News JournalKeeper::take_news(TimePoint now) {
    if (!errand_) return std::nullopt;
    const std::optional<std::string> result = errand_->take_result(now);
    if (!result) return std::nullopt;
    errand_.reset();
    return meaning_(*result);
}

} // namespace ew::server
