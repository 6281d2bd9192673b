// Times, durations and outcomes as words for a person.
#pragma once

#include "report/history.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace ew::report {

std::string day_text(UnixMs time);    // 2026-01-31, in UTC
std::string clock_text(UnixMs time);  // 09:30:00, in UTC
std::string minute_text(UnixMs time); // 2026-01-31 09:30, in UTC
std::string second_text(UnixMs time); // 2026-01-31 09:30:00, in UTC

// "85 ms", "3.2 s", "4 min 10 s", "2 h 5 min".
std::string duration_text(UnixMs ms);

// "640 KiB", "11.3 MiB", "2.0 GiB".
std::string memory_text(std::int64_t bytes);

// "1 question", "2 questions".
std::string counted(std::uint64_t count, std::string_view noun);

// The outcomes in the order in which they are shown.
inline constexpr std::array all_outcomes = {Outcome::by_rule, Outcome::by_person, Outcome::waiting,
                                            Outcome::running, Outcome::denied,    Outcome::refused,
                                            Outcome::failed,  Outcome::killed};

std::string_view label_of(Outcome outcome); // for a person
std::string_view name_of(Outcome outcome);  // in the style sheet

// Returns what the decision of an audit row came from: "a person", "a rule", …
std::string author_text(std::string_view decided_by);

// Returns what a question of this kind was about: "the command", "a second attempt", …
std::string subject_text(std::string_view kind);

// Returns a command as it was typed: the script of a shell, or the words with quotes.
std::string typed_text(const std::vector<std::string>& argv);

// Returns what ended a program with the status of a kill: "SIGKILL". Else an empty text.
std::string signal_text(std::int64_t code);

} // namespace ew::report
