// Answers and events of the exec layer, made from what a process has put out.
#pragma once

#include "base/error.h"
#include "server/exec/exec_process.h"
#include "server/process/process.h"

#include <cstdint>
#include <string>

namespace ew::server {

// Six hexadecimal digits that tell one answer from another.
std::string new_chunk_id();

// What `wait` has seen of the process. All of it counts as shown afterwards.
protocol::ExecResult make_result(Process& process, const Wait& wait, TimePoint now);

// For a program that could not be started: the same shape, with the reason as its output.
protocol::ExecResult make_failure(const std::string& call_id, const Error& error,
                                  const WaitTerms& terms);

// For what was done without a program: it has ended with this code, and this is its output.
protocol::ExecResult make_answer(const std::string& call_id, const std::string& output,
                                 std::int64_t exit_code, const WaitTerms& terms);

// Adds what format "model" wants, once all else is there. `wall`: as long as the call took.
void add_model_text(protocol::ExecResult& result, const WaitTerms& terms, TimePoint::duration wall);

protocol::ExecEndEvent make_end(Process& process);

// It exited with a code that is not 0, in its time, and not because it was told to end.
bool has_failed_by_itself(const Process& process);

// "linuxSeccomp", "linuxSeccomp without netOff", "none".
std::string text_of(const protocol::Confinement& confinement);

// How it ended, without any output.
protocol::ExecEndEvent outcome_of(const Process& process);

} // namespace ew::server
