#include "report/page.h"

#include "core/sha256.h"
#include "core/text/display.h"
#include "json/base64.h"
#include "report/command_row.h"
#include "report/markup.h"
#include "report/page_text.h"
#include "report/time_scale.h"
#include "report/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

namespace ew::report {

namespace {

constexpr std::size_t most_listed = 12; // lines of a box
constexpr std::size_t longest_listed = 240;
constexpr std::size_t rows_together = 50;

std::string base64_of(std::string_view bytes) {
    std::string out(json::base64_size(bytes.size()) + 4, '\0');
    json::encode_base64(bytes, out.data());
    out.resize(json::base64_size(bytes.size()));
    return out;
}

// ---------------------------------------------------------------- the template

// Returns "sha256-…", which a content security policy takes as the source of a script or a style.
std::string source_of(std::string_view text) {
    const std::string hex = core::sha256(text);
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        unsigned byte = 0;
        (void)std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16); // hex by construction
        bytes += static_cast<char>(byte);
    }
    return "sha256-" + base64_of(bytes);
}

// Nothing may be loaded or run but what the program itself wrote.
std::string policy() {
    return fmt::format("default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; "
                       "base-uri 'none'; form-action 'none'",
                       source_of(page_js), source_of(page_css));
}

// Returns the template with values in the place of {{names}}. Values are not looked at again.
std::string filled(std::string_view text, const std::map<std::string_view, std::string_view>& by) {
    std::string page;
    for (;;) {
        const std::size_t begin = text.find("{{");
        const std::size_t end = text.find("}}", begin);
        if (begin == std::string_view::npos || end == std::string_view::npos) break;
        page += text.substr(0, begin);
        const auto value = by.find(text.substr(begin + 2, end - begin - 2));
        if (value != by.end()) page += value->second;
        text.remove_prefix(end + 2);
    }
    return page += text;
}

// ---------------------------------------------------------------- the head

void append_head(Markup& page, const Report& report) {
    page << "<header><h1>";
    page.text(report.title) << "</h1><p class=\"soft\">";
    if (!report.commands.empty()) {
        const auto last = std::ranges::max_element(report.commands, {}, &Command::last);
        page.text(minute_text(report.commands.front().begin)) << " to ";
        page.text(minute_text(last->last)) << ", ";
    }
    page.text(counted(report.commands.size(), "command")) << "; ";
    UnixMs waited = 0;
    for (const Command& command : report.commands)
        waited += waited_ms(command);
    if (waited > 0) {
        page << "people took ";
        page.text(duration_text(waited)) << " to answer; ";
    }
    page << "times are in UTC; made ";
    page.text(minute_text(report.made_at)) << " by execward.</p>";
    for (const std::string& gap : report.gaps) {
        page << "<p><b>The audit has a gap:</b> ";
        page.text(gap, longest_listed) << "</p>";
    }
    page << "</header>\n";
}

// The numbers of each outcome are the legend and the filter. The boxes stand before the commands,
// so that the style sheet alone can hide commands by them.
void append_tiles(Markup& page, const Report& report) {
    std::map<Outcome, std::size_t> counts;
    for (const Command& command : report.commands)
        ++counts[outcome_of(command)];
    for (const auto& [outcome, count] : counts) {
        page << "<input class=\"f\" type=\"checkbox\" checked id=\"f-";
        page.text(name_of(outcome)) << "\">";
    }
    page << "\n<div class=\"tiles\"><p>What became of the commands; choose one to hide or show "
            "it</p>";
    for (const Outcome outcome : all_outcomes) {
        if (!counts.contains(outcome)) continue;
        page << "<label for=\"f-";
        page.text(name_of(outcome)) << "\" class=\"tile ";
        page.text(name_of(outcome)) << "\"><b>";
        page.number(static_cast<long long>(counts[outcome])) << "</b> ";
        page.text(label_of(outcome)) << "</label>";
    }
    page << "</div>\n<form class=\"search\" role=\"search\" hidden><input type=\"search\" "
            "aria-label=\"Search in commands and details\" placeholder=\"Search: words of "
            "commands, rules, paths, hosts\"><output></output></form>\n";
}

// ---------------------------------------------------------------- the boxes

template <class Items, class Append>
void append_list(Markup& page, const Items& items, Append append) {
    page << "<ul>";
    for (std::size_t i = 0; i < std::min(items.size(), most_listed); ++i) {
        page << "<li>";
        append(items[i]);
        page << "</li>";
    }
    page << "</ul>";
    if (items.size() <= most_listed) return;
    page << "<p class=\"soft\">and ";
    page.number(static_cast<long long>(items.size() - most_listed)) << " more</p>";
}

void append_words(Markup& page, const core::Words& words) {
    page << "<code>";
    page.text(typed_text(words), longest_listed) << "</code>";
}

void append_suggestions(Markup& page, const Suggestions& suggestions) {
    if (suggestions.rules.empty() && suggestions.unsolved.empty()) return;
    page << "<section class=\"box\"><h2>Rules that would have saved questions</h2>";
    append_list(page, suggestions.rules, [&](const Suggestion& rule) {
        append_words(page, rule.prefix);
        page << ": ";
        page.text(counted(rule.saved, "question")) << ", ";
        page.text(counted(rule.commands.size(), "command line"));
    });
    if (suggestions.rules.empty()) page << "<p>None that execward can suggest.</p>";
    page << "<p class=\"soft\">execward policy suggest shows what each of them would allow.</p>";
    if (!suggestions.unsolved.empty()) {
        page << "<h2>Allowed again and again, without such a rule</h2>";
        append_list(page, suggestions.unsolved, [&](const Unsolved& one) {
            append_words(page, one.argv);
            page << ": ";
            page.text(counted(one.asked, "question"));
        });
    }
    page << "</section>";
}

void append_unused(Markup& page, const std::vector<Unused>& unused) {
    if (unused.empty()) return;
    page << "<section class=\"box\"><h2>Rules and approvals that nothing used</h2>";
    append_list(page, unused, [&](const Unused& one) {
        page << "<code>";
        page.text(one.what, longest_listed) << "</code> <span class=\"soft\">";
        page.text(one.where, longest_listed) << "</span>";
    });
    page << "<p class=\"soft\">As far as the audit goes back. A rule is known by its file and "
            "line.</p></section>";
}

void append_boxes(Markup& page, const Report& report) {
    page << "<div class=\"boxes\">";
    append_suggestions(page, report.suggestions);
    append_unused(page, report.unused);
    page << "</div>\n";
}

// The picture is an image: no script in it could run.
void append_pictures(Markup& page, const std::vector<Picture>& pictures) {
    for (const Picture& picture : pictures) {
        page << "<figure><img alt=\"\" src=\"data:image/svg+xml;base64,";
        page.text(base64_of(picture.svg)) << "\"><figcaption>";
        page.text(picture.caption, longest_listed) << "<details><summary>as text</summary><pre>";
        page.lines(picture.text, std::string_view::npos)
            << "</pre></details></figcaption></figure>";
    }
}

// ---------------------------------------------------------------- the sessions

// Commands that are shown below one heading, on one time line.
struct Group {
    std::string session = {};
    bool is_runs = false; // of execward run, where each command is a session
    std::vector<const Command*> commands = {};
};

bool is_run(const Command& command) {
    return command.call == "run";
}

// By the first command of each.
std::vector<Group> groups_of(const std::vector<Command>& commands) {
    std::vector<Group> groups;
    std::map<std::string, std::size_t> known;
    for (const Command& command : commands) {
        const std::string name = is_run(command) ? std::string() : command.session;
        const auto [at, is_new] = known.try_emplace(name, groups.size());
        if (is_new) groups.push_back({command.session, is_run(command), {}});
        groups[at->second].commands.push_back(&command);
    }
    return groups;
}

TimeScale scale_of(const Group& group, UnixMs now) {
    std::vector<Span> spans;
    for (const Command* command : group.commands)
        spans.push_back({command->begin, end_of_lane(*command, now)});
    return TimeScale(std::move(spans));
}

void append_heading(Markup& page, const Group& group, const TimeScale& scale) {
    page << "<section class=\"session\"><header><h2>";
    if (group.is_runs) {
        page << "execward run";
    } else {
        page << "Session ";
        page.text(group.session, longest_listed);
    }
    UnixMs last = 0;
    for (const Command* command : group.commands)
        last = std::max(last, command->last);
    page << "</h2><p class=\"soft\">";
    page.text(counted(group.commands.size(), "command"));
    if (group.is_runs) page << ", each a session of its own";
    page << "; where no other directory is named, in <code>";
    page.text(group.commands.front()->directory, longest_listed) << "</code>";
    page << "</p></header><div class=\"axis\"><span>";
    page.text(second_text(group.commands.front()->begin)) << "</span>";
    if (scale.is_shortened()) page << "<span>pauses are shortened</span>";
    page << "<span>";
    page.text(second_text(last)) << "</span></div>\n";
}

// Appends the commands of a group as far as there is room, and counts those that it left out.
void append_group(Markup& page, const Report& report, const Group& group,
                  const core::ProgramTrust& trust, std::size_t& left_out) {
    const TimeScale scale = scale_of(group, report.made_at);
    append_heading(page, group, scale);
    const RowSetting setting = {scale, trust, report.home, group.commands.front()->directory,
                                report.made_at};
    std::size_t i = 0;
    while (i < group.commands.size() && page.size() < most_page_bytes) {
        page << "<div class=\"rows\">\n"; // a browser lays out only those in view
        const std::size_t end = std::min(i + rows_together, group.commands.size());
        for (; i < end; ++i)
            append_row(page, *group.commands[i], setting);
        page << "</div>\n";
    }
    left_out += group.commands.size() - i;
    page << "</section>\n";
}

} // namespace

std::string html_of(const Report& report, const core::ProgramTrust& trust) {
    Markup sessions;
    std::size_t left_out = 0;
    for (const Group& group : groups_of(report.commands))
        append_group(sessions, report, group, trust, left_out);
    Markup page;
    append_head(page, report);
    append_tiles(page, report);
    append_boxes(page, report);
    append_pictures(page, report.pictures);
    if (report.commands.empty()) page << "<p>The audit has no command for this.</p>";
    page << "<main>";
    page.part(sessions);
    if (left_out > 0) {
        page << "<p><b>The page is full: ";
        page.text(counted(left_out, "command")) << " of the end are left out.</b> A later --since "
                                                   "shows them.</p>";
    }
    page << "</main>";
    return filled(page_html, {{"policy", policy()},
                              {"title", escaped(report.title)},
                              {"style", page_css},
                              {"body", page.page()},
                              {"script", page_js}});
}

} // namespace ew::report
