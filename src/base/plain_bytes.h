// Values as bytes for another process of the same build on the same machine: plain values as they
// are in memory, texts and lists after their size.
//
// One list of members serves both directions: a template whose `way` is a PlainWriter or a
// PlainReader, and whose value is Like its type.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ew {

template <class T, class Of>
concept Like = std::same_as<std::remove_const_t<T>, Of>;

class PlainWriter {
public:
    template <class T>
    requires std::is_trivially_copyable_v<T>

    void plain(const T& value) {
        const std::size_t end = bytes_.size();
        bytes_.resize(end + sizeof value);
        std::memcpy(bytes_.data() + end, &value, sizeof value);
    }

    void text(const std::string& value) {
        plain(value.size());
        bytes_ += value;
    }

    template <class T, class Each>
    void list(const std::vector<T>& values, const Each& each) {
        plain(values.size());
        for (const T& value : values)
            each(value);
    }

    void texts(const std::vector<std::string>& values) {
        list(values, [this](const std::string& value) { text(value); });
    }

    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

// What is missing at the end leaves values as they are; then is_over() returns false.
class PlainReader {
public:
    // `bytes` must outlive the object.
    explicit PlainReader(std::string_view bytes) : rest_(bytes) {}

    template <class T>
    requires std::is_trivially_copyable_v<T>

    void plain(T& value) {
        const std::string_view bytes = take(sizeof value);
        if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    }

    void text(std::string& value) {
        std::size_t size = 0;
        plain(size);
        value = take(size);
    }

    template <class T, class Each>
    void list(std::vector<T>& values, const Each& each) {
        std::size_t count = 0;
        plain(count);
        for (; count > 0 && is_good_; --count)
            each(values.emplace_back());
    }

    void texts(std::vector<std::string>& values) {
        list(values, [this](std::string& value) { text(value); });
    }

    bool is_over() const { return is_good_ && rest_.empty(); }

private:
    std::string_view take(std::size_t size) {
        is_good_ = is_good_ && size <= rest_.size();
        const std::string_view taken = rest_.substr(0, is_good_ ? size : 0);
        rest_.remove_prefix(taken.size());
        return taken;
    }

    std::string_view rest_;
    bool is_good_ = true;
};

} // namespace ew
