// The output of `execward patch`.
#pragma once

#include "cli/shared/printing.h"
#include "files/patch/held_journal.h"
#include "files/patch/patch_report.h"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

// Escapes the file names in a message.
std::string shown_safely(std::string_view message);

// Prints a line for each file: the kind of change, and its name.
void print_summary(const files::PatchReport& report);

// Prints the same with the diff of each file, and with the lines that do not fit exactly.
void print_check(const files::PatchReport& report);

void print_json(const files::PatchReport& report);

// Prints a line for each file at which a patch was interrupted. Returns status_failure if anything
// is left to be recovered, else status_ok.
int print_recovered(const std::vector<files::LeftOver>& all, std::FILE* out);

} // namespace ew::cli
