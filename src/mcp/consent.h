// Asks the person at an MCP host: from a question of the server to a form, and from the answer to
// the form to an answer for the server. Pure.
#pragma once

#include "json/types.h"
#include "protocol/approval.h"

#include <optional>
#include <string>
#include <string_view>

namespace ew::mcp {

// How the person answered a form.
struct FormAnswer {
    enum class Kind : std::uint8_t { chosen, declined, dismissed, failed };

    Kind kind = Kind::failed;
    std::string choice = {}; // of chosen
};

// Returns the JSON text of the params of elicitation/create. `with_titles`: in the form of the
// versions since 2025-11-25, in which each value of an enum has its title.
std::string form_of(const protocol::ApprovalRequest& question, bool with_titles);

// Returns the JSON text of the answer for the server. Everything but one of the offered choices is
// a denial.
std::string answer_of(const protocol::ApprovalRequest& question, const FormAnswer& answer);

// Returns the answer for a client that cannot ask a person.
std::string answer_of_nobody();

// Returns what a person can type to allow what nobody could be asked about: it is in the hint of
// the error. Returns an empty text if nothing is.
std::string human_command(std::string_view hint);

} // namespace ew::mcp
