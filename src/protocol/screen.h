// The messages of process/screen and exec/screen: what the terminal of a process shows.
#pragma once

#include "json/types.h"
#include "protocol/process_start.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ew::protocol {

enum class ScreenFormat : std::uint8_t { text, cells, svg };

struct ScreenParams {
    static constexpr bool refuses_others = true;
    std::string process_id = {};
    ScreenFormat format = ScreenFormat::text;
    std::optional<std::uint64_t> since_version = {};
    std::optional<std::uint64_t> after_seq = {}; // at most one of these two
    std::optional<std::uint64_t> at_offset = {}; // bytes of output before it
};

template <class Visitor>
void fields(Visitor& visit, ScreenParams& params) {
    visit.required("processId", params.process_id);
    visit.optional("format", params.format);
    visit.optional("sinceVersion", params.since_version);
    visit.optional("afterSeq", params.after_seq);
    visit.optional("atOffset", params.at_offset);
}

struct ScreenCursor {
    std::uint64_t row = 0; // both counted from 0
    std::uint64_t col = 0;
    bool visible = true;
};

template <class Visitor>
void fields(Visitor& visit, ScreenCursor& cursor) {
    visit.required("row", cursor.row);
    visit.required("col", cursor.col);
    visit.required("visible", cursor.visible);
}

// Neighbouring cells of one style.
struct ScreenRun {
    std::uint64_t col = 0;
    std::uint64_t width = 0; // cells
    std::string text = {};
    std::optional<std::string> foreground = {}; // absent: the default color
    std::optional<std::string> background = {};
    std::uint64_t underline = 0;
    bool bold = false;
    bool italic = false;
    bool blink = false;
    bool reverse = false;
    bool strike = false;
};

template <class Visitor>
void fields(Visitor& visit, ScreenRun& run) {
    visit.required("col", run.col);
    visit.required("width", run.width);
    visit.required("text", run.text);
    visit.optional("foreground", run.foreground);
    visit.optional("background", run.background);
    visit.optional("underline", run.underline);
    visit.optional("bold", run.bold);
    visit.optional("italic", run.italic);
    visit.optional("blink", run.blink);
    visit.optional("reverse", run.reverse);
    visit.optional("strike", run.strike);
}

struct ScreenRow {
    std::uint64_t row = 0; // counted from 0
    std::string text = {};
    std::optional<std::vector<ScreenRun>> cells = {}; // for format "cells"
};

template <class Visitor>
void fields(Visitor& visit, ScreenRow& row) {
    visit.required("row", row.row);
    visit.required("text", row.text);
    visit.optional("cells", row.cells);
}

struct ScreenResult {
    WindowSize size = {};
    ScreenCursor cursor = {};
    std::string title = {};
    bool alternate = false;
    std::uint64_t version = 0;
    std::uint64_t offset = 0; // bytes of output that it shows
    bool complete = true;     // false: the beginning of the output is not kept any more
    std::vector<ScreenRow> rows = {};
    std::optional<std::string> svg = {}; // for format "svg"
};

template <class Visitor>
void fields(Visitor& visit, ScreenResult& result) {
    visit.required("size", result.size);
    visit.required("cursor", result.cursor);
    visit.required("title", result.title);
    visit.required("alternate", result.alternate);
    visit.required("version", result.version);
    visit.required("offset", result.offset);
    visit.required("complete", result.complete);
    visit.required("rows", result.rows);
    visit.optional("svg", result.svg);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::ScreenFormat> {
    static constexpr std::array<std::string_view, 3> list = {"text", "cells", "svg"};
};

} // namespace ew::json
