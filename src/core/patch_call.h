// One patch/check or patch/apply as a state machine: check, ask, note, apply, settle, tidy. Pure:
// an event comes in, the next state and what has to be done come out. PatchService carries the
// effects out.
//
//           may be applied        journal is on disk            done, or undone by itself
//   begin ─▶ Checking ─────────▶ Noting ─────────────▶ Applying ─────────────────▶ Tidying
//               │ must ask         ▲    │                 │ interrupted              │
//               ▼        approved  │    │ not written,    ▼                          ▼
//             Asking ──────────────┘    │ or cancelled   Settling ────────────▶ Answered
//                                       └──────────────▶ Tidying
//
// Every way through ends in Answered, and on it exactly one effect is an answer. Files are changed
// between Apply and the event that follows it. If that event does not say that all files are as
// before or as after the patch, the journal decides (Settle) before the call is answered.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ew::core::patch_call {

enum class Purpose : std::uint8_t { check, apply };

// What the policy and remembered approvals say about a patch that was checked.
struct Verdict {
    enum class Kind : std::uint8_t { apply, ask, refuse };

    Kind kind = Kind::refuse;
    Error refusal = {};
};

// The state in which a journal left the files of an interrupted patch.
enum class Settlement : std::uint8_t {
    applied, // all files are as after the patch
    undone,  // all files are as before it
    unclear,
};

namespace state {

struct Checking {
    Purpose purpose = Purpose::apply;
    std::optional<Error> cancelled = {};
    std::optional<Error> ending = {}; // set when the session ends: files are no longer changed
};

struct Asking {};

// The journal is being written.
struct Noting {
    std::optional<Error> cancelled = {};
};

struct Applying {
    std::optional<Error> cancelled = {};
};

// The journal decides what becomes of the files.
struct Settling {
    Error failure = {}; // of the process that changed them
};

// The outcome is known, and the journal is being removed.
struct Tidying {
    std::optional<Error> failure = {}; // nullopt: the patch was applied
    bool was_begun = false;            // Apply was an effect
};

struct Answered {};

} // namespace state

using State = std::variant<state::Checking, state::Asking, state::Noting, state::Applying,
                           state::Settling, state::Tidying, state::Answered>;

namespace event {

struct Checked {
    Verdict verdict = {};
};

struct CheckFailed {
    Error error = {};
};

struct Approved {};

// A person refused, or the question found no answer.
struct Refused {
    Error error = {};
};

// The journal is on the disk.
struct Noted {};

struct NoteFailed {
    Error error = {};
};

// All files are as after the patch.
struct Applied {};

struct ApplyFailed {
    Error error = {};
    bool is_undone = false; // all files are as before the patch; false: that is not known
};

struct Settled {
    Settlement settlement = Settlement::unclear;
    std::string reason = {}; // why it is unclear
};

// The journal is removed, or its removal has failed. A known outcome stays the same.
struct Tidied {};

struct Cancelled {};

// The session ends: no question is sent, and no other patch is begun.
struct Ending {
    Error error = {};
};

// The session has ended: no events follow.
struct Abandoned {
    Error error = {};
};

} // namespace event

using Event =
    std::variant<event::Checked, event::CheckFailed, event::Approved, event::Refused, event::Noted,
                 event::NoteFailed, event::Applied, event::ApplyFailed, event::Settled,
                 event::Tidied, event::Cancelled, event::Ending, event::Abandoned>;

namespace effect {

struct Check {};

// Ends the file process that checks or applies the patch. It reports its end as a failure.
struct CallOff {};

struct Ask {};

struct WithdrawQuestion {};

struct Note {};

struct Apply {};

// Lets the journal undo or finish the patch. A journal that has done so is removed.
struct Settle {};

struct RemoveJournal {};

struct AnswerChecked {};

struct AnswerApplied {};

struct AnswerFailed {
    Error error = {};
    bool was_begun = false; // Apply was an effect
};

} // namespace effect

using Effect = std::variant<effect::Check, effect::CallOff, effect::Ask, effect::WithdrawQuestion,
                            effect::Note, effect::Apply, effect::Settle, effect::RemoveJournal,
                            effect::AnswerChecked, effect::AnswerApplied, effect::AnswerFailed>;

struct Step {
    State next;
    std::vector<Effect> effects;
};

Step begin(Purpose purpose);

Step on(const State& now, const Event& event);

} // namespace ew::core::patch_call
