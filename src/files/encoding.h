// Encodes values as consecutive bytes, for the socket of a file process and for journals. Numbers
// use the machine's own format, because both sides run on the same machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ew::files {

template <class Number>
void put(std::string& out, Number number) {
    static_assert(std::is_trivially_copyable_v<Number>);
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    out.append(bytes, sizeof number);
}

inline void put(std::string& out, const std::string& text) {
    put(out, static_cast<std::uint32_t>(text.size()));
    out.append(text);
}

inline void put(std::string& out, const std::vector<std::string>& texts) {
    put(out, static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts)
        put(out, text);
}

inline void put_flag(std::string& out, bool flag) {
    put(out, static_cast<std::uint8_t>(flag));
}

// Takes values from the front. After the first missing value, all further values are missing.
class Taker {
public:
    explicit Taker(std::string_view text) : text_(text) {}

    template <class Number>
    Number number() {
        Number value = {};
        if (text_.size() < sizeof value) {
            is_good_ = false;
            return value;
        }
        std::memcpy(&value, text_.data(), sizeof value);
        text_.remove_prefix(sizeof value);
        return value;
    }

    bool flag() { return number<std::uint8_t>() != 0; }

    std::string text() {
        const auto size = number<std::uint32_t>();
        if (!is_good_ || text_.size() < size) {
            is_good_ = false;
            return {};
        }
        std::string value(text_.substr(0, size));
        text_.remove_prefix(size);
        return value;
    }

    std::vector<std::string> texts() {
        std::vector<std::string> list;
        const auto count = number<std::uint32_t>();
        for (std::uint32_t i = 0; i < count && is_good_; ++i)
            list.push_back(text());
        return list;
    }

    bool is_good() const { return is_good_; }

    bool is_at_end() const { return is_good_ && text_.empty(); }

    std::string_view rest() const { return text_; }

private:
    std::string_view text_;
    bool is_good_ = true;
};

} // namespace ew::files
