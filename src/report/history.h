// The commands that rows of the audit tell about: what was asked, decided, started and refused, and
// how it ended.
#pragma once

#include "store/types.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ew::report {

using store::AuditRow;
using store::UnixMs;

struct Answer {
    UnixMs at = 0;
    std::string decision = {}; // "approved", "denied", …
    std::string detail = {};   // scope, reason, the other command
};

struct Question {
    UnixMs at = 0;
    std::string kind = {}; // "command", "retry", "network", …
    std::string host = {}; // of kind network: host and port
    std::string asked_by = {};
    std::string rule = {}; // that asked, if one did
    std::optional<Answer> answer = {};
};

struct End {
    UnixMs at = 0;
    std::optional<std::int64_t> code = {}; // a patch has none
    std::optional<std::int64_t> wall_ms = {};
    std::optional<std::int64_t> peak_memory = {}; // bytes
    std::string bounds = {};                      // the sandbox that was in force
    std::string detail = {};                      // of a patch
};

// A program that was started, or a patch.
struct Attempt {
    UnixMs at = 0;
    std::string process = {};     // a patch has none
    std::string environment = {}; // where it runs, if not on this machine
    std::string bounds = {};      // its sandbox, and what it may do there
    std::string detail = {};      // of a patch
    std::string argv = {};        // a JSON array, like AuditRow::argv
    std::string decided_by = {};  // who or what allowed it
    std::string rule = {};
    std::optional<End> end = {};
};

// Denials of the sandbox, or a host that was reached.
struct Event {
    UnixMs at = 0;
    std::string what = {}; // the number of denials; the host and port
    std::string decided_by = {};
    std::string rule = {};
    std::string detail = {};
};

struct Stop {
    UnixMs at = 0;
    std::string decided_by = {};
    std::string rule = {};
    std::string detail = {};
};

// What became of a command. Each command has one outcome.
enum class Outcome : std::uint8_t {
    waiting,   // a question has no answer
    by_rule,   // done; no person was asked
    by_person, // done; a person allowed it
    denied,    // by a person, a rule or the policy
    refused,   // the sandbox refused something, and the command failed
    failed,    // it did not start, or ended with another status than 0
    killed,    // see is_status_of_kill()
    running,   // no end is recorded
};

// Returns true for the exit status of a program that a signal or its time limit has ended. The
// audit has no signals, and programs use 129 and the like on their own, so only the usual ones
// count.
bool is_status_of_kill(std::int64_t code);

struct Command {
    std::string session = {};
    std::string call = {};
    std::string argv = {}; // of its first row
    std::string directory = {};
    UnixMs begin = 0;
    UnixMs last = 0; // the time of its last row
    std::vector<Question> questions = {};
    std::vector<Attempt> attempts = {};
    std::vector<Event> denials = {};
    std::vector<Event> hosts = {};
    std::optional<Stop> refusal = {};
    std::optional<Stop> failure = {};
};

Outcome outcome_of(const Command& command);

// Returns true if a person allowed it by an answer; answers about hosts do not count.
bool was_allowed_by_person(const Command& command);
bool is_approval(const Answer& answer);

// Returns how long it waited for the answers of a person.
UnixMs waited_ms(const Command& command);

// Returns the words of a JSON array. A text that was cut to be kept is returned as one word.
std::vector<std::string> words_of(const std::string& argv);

class History {
public:
    // Rows come in the order of the audit.
    void take(const AuditRow& row);

    const std::vector<Command>& commands() const { return commands_; } // by their first rows

    const std::set<std::string>& rules() const { return rules_; } // that some row names

    // Rows about lost rows of the audit.
    const std::vector<std::string>& gaps() const { return gaps_; }

private:
    Command& command_of(const AuditRow& row);

    std::vector<Command> commands_;
    std::map<std::string, std::size_t> open_; // the last command of each call
    std::vector<std::string> gaps_;
    std::set<std::string> rules_;
};

} // namespace ew::report
