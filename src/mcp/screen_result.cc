#include "mcp/screen_result.h"

#include "core/text/display.h"
#include "json/types.h"
#include "mcp/excerpt.h"
#include "mcp/messages.h"
#include "mcp/outcome.h"

#include <fmt/format.h>

namespace ew::mcp {

namespace {

constexpr std::size_t longest_title = 1'000;

struct Shown {
    std::string id = {};
    std::string text = {};
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint64_t cursor_row = 0;
    std::uint64_t cursor_column = 0;
    bool cursor_visible = true;
    bool alternate = false;
    std::string title = {};
    bool complete = true;
};

template <class Visitor>
void fields(Visitor& visit, Shown& shown) {
    visit.required("id", shown.id);
    visit.required("text", shown.text);
    visit.required("rows", shown.rows);
    visit.required("columns", shown.columns);
    visit.required("cursor_row", shown.cursor_row);
    visit.required("cursor_column", shown.cursor_column);
    visit.required("cursor_visible", shown.cursor_visible);
    visit.required("alternate", shown.alternate);
    visit.required("title", shown.title);
    visit.required("complete", shown.complete);
}

} // namespace

std::string screen_text(const protocol::ScreenResult& screen) {
    std::string text;
    for (const protocol::ScreenRow& row : screen.rows)
        text.append(row.text).append("\n");
    const std::size_t last = text.find_last_not_of('\n');
    text.erase(last == std::string::npos ? 0 : last + 1);
    return text;
}

ToolResult result_of(const protocol::ScreenResult& screen, const std::string& process) {
    Shown shown;
    shown.id = process;
    shown.text = shorten(screen_text(screen), most_output, 0).text;
    shown.rows = screen.size.rows;
    shown.columns = screen.size.cols;
    shown.cursor_row = screen.cursor.row;
    shown.cursor_column = screen.cursor.col;
    shown.cursor_visible = screen.cursor.visible;
    shown.alternate = screen.alternate;
    shown.title = shorten(screen.title, longest_title, 0).text;
    shown.complete = screen.complete;

    std::string text =
        fmt::format("{}\nscreen: {} columns, {} rows; cursor in row {}, column {}{}{}\n",
                    shown.text, shown.columns, shown.rows, shown.cursor_row, shown.cursor_column,
                    shown.cursor_visible ? "" : " (hidden)",
                    shown.alternate ? "; a program has taken the whole screen" : "");
    if (!shown.title.empty()) text += fmt::format("title: {}\n", core::visible(shown.title));
    if (!shown.complete) text += "incomplete: the beginning of its output is not kept any more\n";
    return {text, json_of(shown), false};
}

} // namespace ew::mcp
