// Plans a patch on this disk: the real path of each file, its present content, and its new content.
// Changes nothing.
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
    std::string shown = {};                    // the path as written in the patch
    std::optional<struct stat> before = {};    // nullopt: there is no file
    std::string old_bytes = {};                // the bytes that were read
    std::string moved_from = {};               // canonical; its mode and attributes are kept
    std::optional<std::string> new_bytes = {}; // nullopt: there must be no file
};

struct PatchPlan {
    PatchReport report = {};
    std::map<std::string, PlannedFile> files = {}; // keyed by canonical path
};

Failure plan_patch(const PatchOrder& order, PatchPlan& plan);

// Reads at most patch::largest_file bytes of an open file.
Failure read_bounded(const std::string& path, int file, std::string& bytes);

} // namespace ew::files
