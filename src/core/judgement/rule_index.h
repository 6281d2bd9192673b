// Rules by the program that they are about. A judgement compares a bounded number of words with
// them, however many rules there are.
#pragma once

#include "core/judgement/rules.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ew::core {

class RuleIndex {
public:
    using Found = std::vector<const PrefixRule*>;

    // Refers to the rules.
    explicit RuleIndex(const RuleSet& rules);

    const RuleSet& rules() const { return rules_; }

    // The rules that allow, or that ask or forbid, for programs with this base name.
    const Found& allowing(std::string_view program) const;
    const Found& stricter(std::string_view program) const;

    // The names for which stricter() has rules.
    const std::vector<std::string_view>& stricter_names() const { return names_; }

    // Notes that this number of words are compared with a rule. Returns false if there were too
    // many.
    bool spend(std::size_t words) {
        spent_ += std::min(words, most_compared);
        return spent_ < most_compared;
    }

private:
    static constexpr std::size_t most_compared = 1 << 22; // takes about a tenth of a second

    using ByName = std::unordered_map<std::string_view, Found>;

    const RuleSet& rules_;
    ByName allowing_;
    ByName stricter_;
    std::vector<std::string_view> names_;
    Found none_;
    std::size_t spent_ = 0;
};

} // namespace ew::core
