#include "sandbox/aftermath/git_index.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::size_t header_size = 12;
constexpr std::size_t mode_at = 24;        // in an entry
constexpr std::size_t before_id = 40;      // bytes of an entry before its object id
constexpr std::uint16_t has_more = 0x4000; // the flag for two more bytes of flags
constexpr std::uint32_t gitlink = 0160000;
constexpr std::uint32_t directory = 0040000;
constexpr std::size_t longest_told = 0xfff; // length of a path in the flags
constexpr std::size_t longest_path = 1 << 20;

// Reads numbers in network byte order. Reading beyond the end gives zeros and sets is_short().
class Bytes {
public:
    explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

    std::uint32_t number(std::size_t at, std::size_t size) {
        if (at > bytes_.size() || bytes_.size() - at < size) {
            is_short_ = true;
            return 0;
        }
        std::uint32_t value = 0;
        for (const char c : bytes_.substr(at, size))
            value = value << 8 | static_cast<unsigned char>(c);
        return value;
    }

    bool is_short() const { return is_short_; }

private:
    std::string_view bytes_;
    bool is_short_ = false;
};

class Reader {
public:
    Reader(std::string_view bytes, std::size_t id_size)
        : bytes_(bytes), numbers_(bytes), id_size_(id_size) {}

    std::optional<GitIndex> read() {
        version_ = numbers_.number(4, 4);
        const std::uint32_t count = numbers_.number(8, 4);
        if (!bytes_.starts_with("DIRC") || version_ < 2 || version_ > 4) return std::nullopt;
        if (bytes_.size() < header_size + id_size_) return std::nullopt;
        end_ = bytes_.size() - id_size_; // the checksum of the whole
        at_ = header_size;
        for (std::uint32_t left = count; left > 0; --left)
            if (!read_entry()) return std::nullopt;
        while (at_ != end_)
            if (!read_extension()) return std::nullopt;
        return std::move(index_);
    }

private:
    bool read_entry() {
        const std::uint32_t mode = numbers_.number(at_ + mode_at, 4);
        std::size_t here = at_ + before_id + id_size_;
        const auto flags = static_cast<std::uint16_t>(numbers_.number(here, 2));
        here += (flags & has_more) != 0 ? 4 : 2;
        if (version_ == 4 && !strip(here)) return false;
        const std::optional<std::size_t> size = rest_of_path(here, flags);
        if (!size) return false;
        const std::string_view text = bytes_.substr(here, *size);
        if (version_ == 4) {
            path_.append(text);
            keep(mode, path_);
            at_ = here + *size + 1;
        } else {
            keep(mode, text);
            constexpr std::size_t unit = 8; // one to eight zeros fill an entry up
            at_ += ((here + *size - at_) / unit + 1) * unit;
        }
        return at_ <= end_;
    }

    // The flags have the length of the whole path, if it is short. Both ways of finding its end
    // must agree: git counts on the flags.
    std::optional<std::size_t> rest_of_path(std::size_t here, std::uint16_t flags) const {
        const std::size_t zero = bytes_.find('\0', here);
        if (numbers_.is_short() || zero == std::string_view::npos || zero >= end_)
            return std::nullopt;
        const std::size_t whole = path_.size() + (zero - here);
        const std::size_t told = std::min(whole, longest_told);
        if (whole > longest_path || (flags & longest_told) != told) return std::nullopt;
        return zero - here;
    }

    // In version 4 a number comes first: how many bytes of the last path do not count.
    bool strip(std::size_t& here) {
        std::size_t count = 0;
        for (bool is_first = true;; is_first = false) {
            const std::uint32_t byte = numbers_.number(here++, 1);
            if (numbers_.is_short() || count > longest_path) return false;
            count = is_first ? byte & 0x7f : ((count + 1) << 7) + (byte & 0x7f);
            if ((byte & 0x80) == 0) break;
        }
        if (count > path_.size()) return false;
        path_.erase(path_.size() - count);
        return true;
    }

    void keep(std::uint32_t mode, std::string_view path) {
        if (mode == gitlink) index_.gitlinks.emplace_back(path);
        if (mode == directory) index_.sparse_directories.emplace_back(path);
    }

    bool read_extension() {
        constexpr std::size_t head = 8;
        const std::size_t size = numbers_.number(at_ + 4, 4);
        if (numbers_.is_short() || end_ - at_ < head || end_ - at_ - head < size) return false;
        const std::string_view name = bytes_.substr(at_, 4);
        const std::string_view data = bytes_.substr(at_ + head, size);
        at_ += head + size;
        // Git can leave out only extensions with a capital letter.
        if (name.front() >= 'A' && name.front() <= 'Z') return true;
        if (name == "sdir") return true;
        if (name != "link" || data.size() < id_size_) return false;
        constexpr std::string_view digits = "0123456789abcdef";
        for (const char c : data.substr(0, id_size_)) {
            const auto byte = static_cast<unsigned char>(c);
            index_.shared.push_back(digits[byte >> 4]);
            index_.shared.push_back(digits[byte & 15]);
        }
        return true;
    }

    std::string_view bytes_;
    Bytes numbers_;
    std::size_t id_size_;
    std::uint32_t version_ = 0;
    std::size_t at_ = 0;
    std::size_t end_ = 0;
    std::string path_; // of the last entry, for version 4
    GitIndex index_;
};

} // namespace

std::optional<GitIndex> read_git_index(std::string_view bytes, std::size_t id_size) {
    return Reader(bytes, id_size).read();
}

} // namespace ew::sandbox
