#include "core/judgement/program_options.h"

#include <algorithm>

namespace ew::core {

namespace {

enum class Takes : std::uint8_t { unknown, nothing, value, attached_value };

Takes short_option(const KnownOptions& known, char letter) {
    const std::size_t place = known.shorts.find(letter);
    if (letter == ':' || place == std::string_view::npos) return Takes::unknown;
    const std::string_view rest = known.shorts.substr(place + 1);
    if (rest.starts_with("::")) return Takes::attached_value;
    return rest.starts_with(":") ? Takes::value : Takes::nothing;
}

Takes long_option(const KnownOptions& known, std::string_view name) {
    if (name.empty() || name.find_first_of("=? ") != std::string_view::npos) return Takes::unknown;
    if (is_listed(known.longs, name)) return Takes::nothing;
    if (is_listed(known.longs, std::string(name) + "=")) return Takes::value;
    if (is_listed(known.longs, std::string(name) + "?")) return Takes::attached_value;
    return Takes::unknown;
}

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

class Reader {
public:
    Reader(const ShellCommand& command, std::size_t first, const KnownOptions& known)
        : command_(command), known_(known), at_(first) {}

    std::optional<ReadWords> read() {
        while (at_ < command_.words.size())
            if (!read_word()) return std::nullopt;
        return std::move(result_);
    }

private:
    bool read_word() {
        const std::string_view word = command_.words[at_];
        const bool is_option = !only_operands_ && word.size() > 1 && word.front() == '-';
        if (!only_operands_ && !known_.is_complete && !is_clear_of_options(command_, at_))
            return false;
        if (!is_option) {
            result_.operands.push_back(at_++);
            only_operands_ = only_operands_ || known_.stops_at_operand;
            return true;
        }
        ++at_;
        if (word == "--") {
            only_operands_ = true;
            return true;
        }
        return word[1] == '-' ? read_long(word.substr(2)) : read_shorts(word.substr(1));
    }

    bool read_long(std::string_view text) {
        const std::size_t equals = text.find('=');
        const std::string_view name = text.substr(0, equals);
        const Takes takes = long_option(known_, name);
        if (takes == Takes::unknown) return false;
        if (equals != std::string_view::npos) {
            result_.options.push_back({name, text.substr(equals + 1)});
            return takes != Takes::nothing;
        }
        if (takes == Takes::value) return read_value(name);
        result_.options.push_back({name, {}});
        return true;
    }

    bool read_shorts(std::string_view letters) {
        if (known_.takes_number && is_number(letters)) {
            result_.options.push_back({"number", letters});
            return true;
        }
        for (std::size_t i = 0; i < letters.size(); ++i) {
            const std::string_view name = letters.substr(i, 1);
            const std::string_view rest = letters.substr(i + 1);
            const Takes takes = short_option(known_, letters[i]);
            if (takes == Takes::unknown) return false;
            if (takes == Takes::value && rest.empty()) return read_value(name);
            result_.options.push_back({name, takes == Takes::nothing ? std::string_view() : rest});
            if (takes != Takes::nothing) break;
        }
        return true;
    }

    // If a separate value looks like an option, the table of options may be wrong. If it is a
    // pattern, the shell may expand it to several words. Both are accepted only if no option does
    // harm.
    bool read_value(std::string_view name) {
        if (at_ >= command_.words.size()) return false;
        const std::string_view value = command_.words[at_];
        const bool looks_like_option = value.size() > 1 && value.front() == '-';
        if (!known_.is_complete && (looks_like_option || command_.has_glob[at_])) return false;
        result_.options.push_back({name, value});
        ++at_;
        return true;
    }

    const ShellCommand& command_;
    const KnownOptions& known_;
    std::size_t at_;
    bool only_operands_ = false; // after --
    ReadWords result_;
};

} // namespace

bool ReadWords::has(std::string_view name) const {
    return std::any_of(options.begin(), options.end(),
                       [&](const Option& option) { return option.name == name; });
}

std::optional<ReadWords> read_words(const ShellCommand& command, std::size_t first,
                                    const KnownOptions& known) {
    return Reader(command, first, known).read();
}

bool is_clear_of_options(const ShellCommand& command, std::size_t index) {
    if (!command.has_glob[index]) return true;
    const std::string_view start = literal_start(command.words[index]);
    return !start.empty() && start.front() != '-';
}

bool is_listed(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        if (list.substr(0, end) == name) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

} // namespace ew::core
