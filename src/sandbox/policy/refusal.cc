#include "sandbox/policy/refusal.h"

#include <fmt/format.h>

namespace ew::sandbox {

Error refusal(const Machine& machine, GuaranteeSet missing) {
    std::string message = "the command was not run: this machine cannot guarantee ";
    bool is_first = true;
    for (const Guarantee guarantee : missing.list()) {
        message += fmt::format("{}{} ({})", is_first ? "" : ", ", name_of(guarantee),
                               meaning_of(guarantee));
        is_first = false;
    }
    std::string hint;
    for (const Trouble& trouble : machine.troubles) {
        message += fmt::format("; {}: {}", trouble.mechanism, trouble.step);
        if (hint.empty()) hint = trouble.advice;
    }
    if (!hint.empty()) hint += ". ";
    hint += "execward doctor tells more; enforcement best-effort (--best-effort) runs it with what "
            "there is";
    return {ErrorKind::sandbox_unavailable, std::move(message), std::move(hint)};
}

} // namespace ew::sandbox
