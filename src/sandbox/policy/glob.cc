#include "sandbox/policy/glob.h"

#include "core/text/paths.h"
#include "os/directory.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

namespace ew::sandbox {

namespace {

Error bad_glob(std::string_view pattern, std::string_view fault) {
    return {ErrorKind::invalid_params, fmt::format("the pattern '{}' has {}", pattern, fault)};
}

// Returns the position of the ']' that ends the set at `open`, or npos. A ']' that comes first is a
// member (glob(7)).
std::size_t end_of_set(std::string_view text, std::size_t open) {
    std::size_t at = open + 1;
    if (at < text.size() && (text[at] == '!' || text[at] == '^')) ++at;
    return text.find(']', at + 1);
}

// The '}' that belongs to the '{' at `open`, and the commas of its level.
struct Braces {
    std::size_t close = std::string_view::npos;
    std::vector<std::size_t> commas = {};
};

Braces braces_at(std::string_view text, std::size_t open) {
    Braces braces;
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i;
        } else if (text[i] == '{') {
            ++depth;
        } else if (text[i] == ',' && depth == 1) {
            braces.commas.push_back(i);
        } else if (text[i] == '}' && --depth == 0) {
            braces.close = i;
            return braces;
        }
    }
    return braces;
}

std::size_t first_brace(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '{') return i;
        if (text[i] == '\\') ++i;
    }
    return std::string_view::npos;
}

// Replaces the first pair of braces by each of its alternatives, until no pair is left.
Result<std::vector<std::string>> alternatives(std::string_view pattern) {
    std::vector<std::string> done;
    std::deque<std::string> open = {std::string(pattern)};
    while (!open.empty()) {
        if (open.size() + done.size() > most_alternatives)
            return bad_glob(pattern, "too many alternatives");
        const std::string text = std::move(open.front());
        open.pop_front();
        const std::size_t start = first_brace(text);
        if (start == std::string::npos) {
            done.push_back(text);
            continue;
        }
        Braces braces = braces_at(text, start);
        if (braces.close == std::string::npos) return bad_glob(pattern, "a '{' without its '}'");
        braces.commas.push_back(braces.close);
        std::size_t from = start + 1;
        for (const std::size_t to : braces.commas) {
            open.push_back(text.substr(0, start) + text.substr(from, to - from) +
                           text.substr(braces.close + 1));
            from = to + 1;
        }
    }
    return done;
}

bool has_wildcard(std::string_view part) {
    for (std::size_t i = 0; i < part.size(); ++i) {
        if (part[i] == '\\')
            ++i;
        else if (part[i] == '*' || part[i] == '?' || part[i] == '[')
            return true;
    }
    return false;
}

bool has_open_set(std::string_view part) {
    for (std::size_t i = 0; i < part.size(); ++i) {
        if (part[i] == '\\') ++i;
        if (i >= part.size() || part[i] != '[') continue;
        i = end_of_set(part, i);
        if (i == std::string_view::npos) return true;
    }
    return false;
}

std::string without_escapes(std::string_view part) {
    std::string result;
    for (std::size_t i = 0; i < part.size(); ++i) {
        if (part[i] == '\\' && i + 1 < part.size()) ++i;
        result.push_back(part[i]);
    }
    return result;
}

Result<Glob> glob_of(std::string_view pattern, std::string_view text) {
    Glob glob;
    if (text.starts_with('/')) glob.base = "/";
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t to = std::min(text.find('/', from), text.size());
        const std::string_view part = text.substr(from, to - from);
        from = to + 1;
        if (part.empty() || part == ".") continue;
        if (has_open_set(part)) return bad_glob(pattern, "a '[' without its ']'");
        const bool is_plain = glob.parts.empty() && !glob.base.empty() && !has_wildcard(part);
        if (is_plain)
            glob.base = core::joined(glob.base, without_escapes(part));
        else if (part != any_depth || glob.parts.empty() || glob.parts.back() != any_depth)
            glob.parts.emplace_back(part);
    }
    if (glob.parts.empty() && glob.base.empty()) return bad_glob(pattern, "nothing in it");
    return glob;
}

// Does the set ("[a-z]", "[!a]") contain the character?
bool holds(std::string_view set, char character) {
    set = set.substr(1, set.size() - 2);
    const bool is_negated = set.starts_with('!') || set.starts_with('^');
    if (is_negated) set.remove_prefix(1);
    const auto code = [](char c) { return static_cast<unsigned char>(c); };
    bool is_in = false;
    for (std::size_t i = 0; i < set.size(); ++i) {
        const bool is_range = i + 2 < set.size() && set[i + 1] == '-';
        const char last = is_range ? set[i + 2] : set[i];
        is_in = is_in || (code(set[i]) <= code(character) && code(character) <= code(last));
        if (is_range) i += 2;
    }
    return is_in != is_negated;
}

// Returns how many bytes of `part` at `at` match the character, or 0 if they do not match it.
std::size_t step(std::string_view part, std::size_t at, char character) {
    if (part[at] == '?') return 1;
    if (part[at] == '[') {
        const std::size_t end = end_of_set(part, at);
        if (end == std::string_view::npos) return 0;
        return holds(part.substr(at, end - at + 1), character) ? end - at + 1 : 0;
    }
    const bool is_escaped = part[at] == '\\' && at + 1 < part.size();
    const std::size_t size = is_escaped ? 2 : 1;
    return part[at + size - 1] == character ? size : 0;
}

} // namespace

Result<std::vector<Glob>> parse_glob(std::string_view pattern) {
    if (pattern.find('\0') != std::string_view::npos) return bad_glob(pattern, "a NUL in it");
    const std::vector<std::string> texts = TRY(alternatives(pattern));
    std::vector<Glob> result;
    result.reserve(texts.size());
    for (const std::string& text : texts)
        result.push_back(TRY(glob_of(pattern, text)));
    return result;
}

bool matches(std::string_view part, std::string_view name) {
    std::size_t at = 0;
    std::size_t in_name = 0;
    std::size_t star = std::string_view::npos; // the last '*', and its position in the name
    std::size_t reached = 0;
    while (in_name < name.size()) {
        if (at < part.size() && part[at] == '*') {
            star = at++;
            reached = in_name;
            continue;
        }
        const std::size_t size = at < part.size() ? step(part, at, name[in_name]) : 0;
        if (size > 0) {
            at += size;
            ++in_name;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            in_name = ++reached;
        } else {
            return false;
        }
    }
    while (at < part.size() && part[at] == '*')
        ++at;
    return at == part.size();
}

} // namespace ew::sandbox
