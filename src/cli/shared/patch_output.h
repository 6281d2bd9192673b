// What `execward patch` prints.
#pragma once

#include "cli/shared/printing.h"
#include "files/patch/held_journal.h"
#include "files/patch/patch_report.h"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace ew::cli {

// A message with names of files in it.
std::string shown_safely(std::string_view message);

// A line for each file: what is done, and its name.
void print_summary(const files::PatchReport& report);

// The same, each with its diff, and with the lines that do not fit exactly.
void print_check(const files::PatchReport& report);

void print_json(const files::PatchReport& report);

// A line for each file that a patch was interrupted at. Returns status_failure if anything is left
// to be recovered, else status_ok.
int print_recovered(const std::vector<files::LeftOver>& all, std::FILE* out);

} // namespace ew::cli
