#include "core/screen/single_styles.h"

#include <fmt/format.h>

#include <cstddef>

namespace ew::core {

namespace {

constexpr unsigned underline = 4;
constexpr unsigned no_underline = 24;
constexpr unsigned foreground = 38;
constexpr unsigned background = 48;

// Kinds of colors.
constexpr unsigned indexed = 5;
constexpr unsigned rgb = 2;

class Reader {
public:
    explicit Reader(const std::vector<SequenceReader::Number>& numbers) : numbers_(numbers) {}

    std::string read() {
        std::string result;
        while (at_ < numbers_.size())
            result += next();
        return result;
    }

private:
    unsigned number(std::size_t index, unsigned otherwise) const {
        return index < numbers_.size() ? numbers_[index].value.value_or(otherwise) : otherwise;
    }

    std::string next() {
        const std::size_t first = at_;
        const unsigned attribute = number(first, 0);
        const bool has_parts = numbers_[first].has_part;
        while (at_ + 1 < numbers_.size() && numbers_[at_].has_part)
            ++at_;
        const std::size_t parts = at_++ - first;
        if (attribute == foreground || attribute == background) return color(first, parts);
        if (attribute != underline || !has_parts) return fmt::format("\x1b[{}m", attribute);
        constexpr unsigned most = 3; // libvterm knows no other lines
        const unsigned lines = number(first + 1, 1);
        if (lines == 0) return fmt::format("\x1b[{}m", no_underline);
        return fmt::format("\x1b[{}:{}m", underline, lines > most ? 1 : lines);
    }

    // The values follow as parts, after colons, or as the next numbers.
    std::string color(std::size_t first, std::size_t parts) {
        const unsigned kind = number(first + 1, 0);
        const std::size_t count = kind == rgb ? 3 : 1; // of values
        if (kind != rgb && kind != indexed) return {};
        if (parts == 0) at_ += 1 + count;
        // Between colons, there may be a color space before the three values.
        const std::size_t begin = first + (kind == rgb && parts > 1 + count ? 3 : 2);
        if (begin + count > numbers_.size()) return {};
        std::string result = fmt::format("\x1b[{};{}", number(first, 0), kind);
        for (std::size_t i = begin; i < begin + count; ++i)
            result += fmt::format(";{}", number(i, 0) & 0xff);
        return result + 'm';
    }

    const std::vector<SequenceReader::Number>& numbers_;
    std::size_t at_ = 0;
};

} // namespace

std::string single_styles(const std::vector<SequenceReader::Number>& numbers) {
    return Reader(numbers).read();
}

} // namespace ew::core
