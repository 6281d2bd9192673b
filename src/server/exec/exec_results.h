// Answers and events of exec/command, made from the output of a process.
#pragma once

#include "base/error.h"
#include "protocol/exec_events.h"
#include "server/exec/exec_process.h"
#include "server/process/process.h"

#include <cstdint>
#include <string>

namespace ew::server {

// Returns six hexadecimal digits that tell one answer from another.
std::string new_chunk_id();

// Returns the output that `wait` has seen. All of it counts as shown afterwards.
protocol::ExecResult make_result(Process& process, const Wait& wait, TimePoint now);

// For a program that could not start: the same form, with the reason as its output.
protocol::ExecResult make_failure(const std::string& call_id, const Error& error,
                                  const WaitTerms& terms);

// For a call that needed no program: the answer has this output and this exit code.
protocol::ExecResult make_answer(const std::string& call_id, const std::string& output,
                                 std::int64_t exit_code, const WaitTerms& terms);

// Adds the text of format "model". All other members must be complete. `wall` is the duration of
// the call.
void add_model_text(protocol::ExecResult& result, const WaitTerms& terms, TimePoint::duration wall);

protocol::ExecEndEvent make_end(Process& process);

// Returns true if the program exited in time with a code other than 0, and nothing asked it to end.
bool has_failed_by_itself(const Process& process);

// "linuxSeccomp", "linuxSeccomp without netOff", "none".
std::string text_of(const protocol::Confinement& confinement);

// Returns how the process ended, without any output.
protocol::ExecEndEvent outcome_of(const Process& process);

} // namespace ew::server
