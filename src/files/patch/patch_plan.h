// What a patch comes to on this disk: where each of its files really is, what is there now, and
// what is to be there. Nothing is changed.
#pragma once

#include "files/outcome.h"
#include "files/patch/patch_report.h"
#include "files/patch/patching.h"

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>

namespace ew::files {

struct PlannedFile {
    std::string shown = {};                    // as the patch has it
    std::optional<struct stat> before = {};    // absent: no file is there
    std::string old_bytes = {};                // as they were read
    std::string moved_from = {};               // canonical; its mode and the like come along
    std::optional<std::string> new_bytes = {}; // absent: none is to be there
};

struct PatchPlan {
    PatchReport report = {};
    std::map<std::string, PlannedFile> files = {}; // by canonical path
};

Failure plan_patch(const PatchOrder& order, PatchPlan& plan);

// At most patch::largest_file bytes of an open file.
Failure read_bounded(const std::string& path, int file, std::string& bytes);

} // namespace ew::files
