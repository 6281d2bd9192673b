#include "patch/indentation.h"

#include <algorithm>

namespace ew::patch {

namespace {

constexpr std::size_t widest_tab = 8;

std::string_view without_end(std::string_view text, std::size_t count) {
    return text.substr(0, text.size() - std::min(count, text.size()));
}

} // namespace

std::string_view indent_of(std::string_view line) {
    return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

std::optional<Reindent> Reindent::of(const std::vector<IndentPair>& pairs) {
    std::vector<Reindent> rules = {Reindent(Kind::same)};
    if (!pairs.empty()) {
        const auto& [patch, file] = pairs.front();
        rules.push_back(Reindent(Kind::more, without_end(file, patch.size())));
        rules.push_back(Reindent(Kind::less, without_end(patch, file.size())));
    }
    for (std::size_t width = 1; width <= widest_tab; ++width)
        for (const Kind kind : {Kind::tabs, Kind::blanks})
            rules.push_back(Reindent(kind, "", width));
    Reindent& last = rules.emplace_back(Reindent(Kind::as_paired));
    for (const IndentPair& pair : pairs)
        last.paired_.emplace(pair.patch, pair.file);
    for (const Reindent& rule : rules)
        if (rule.holds_for(pairs)) return rule;
    return std::nullopt;
}

std::optional<std::string> Reindent::apply(std::string_view line) const {
    const std::string_view blanks = indent_of(line);
    if (blanks.size() == line.size()) return std::string(line);
    std::optional<std::string> result = indent(blanks);
    if (result) result->append(line.substr(blanks.size()));
    return result;
}

std::optional<std::string> Reindent::indent(std::string_view patch) const {
    switch (kind_) {
    case Kind::same: return std::string(patch);
    case Kind::more: return prefix_ + std::string(patch);
    case Kind::less:
        if (!patch.starts_with(prefix_)) return std::nullopt;
        return std::string(patch.substr(prefix_.size()));
    case Kind::tabs:
        if (patch.find('\t') != std::string_view::npos) return std::nullopt;
        return std::string(patch.size() / width_, '\t') + std::string(patch.size() % width_, ' ');
    case Kind::blanks: {
        const std::size_t tabs = std::min(patch.find_first_not_of('\t'), patch.size());
        if (patch.find('\t', tabs) != std::string_view::npos) return std::nullopt;
        return std::string(tabs * width_ + patch.size() - tabs, ' ');
    }
    case Kind::as_paired: {
        const auto found = paired_.find(patch);
        return found == paired_.end() ? std::nullopt : std::optional(found->second);
    }
    }
    return std::nullopt;
}

bool Reindent::holds_for(const std::vector<IndentPair>& pairs) const {
    return std::ranges::all_of(
        pairs, [&](const IndentPair& pair) { return indent(pair.patch) == pair.file; });
}

} // namespace ew::patch
