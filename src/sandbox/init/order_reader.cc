#include "sandbox/init/order_reader.h"

#include "sandbox/init/wire.h"

#include <linux/bpf_common.h>

#include <cstring>

namespace ew::sandbox::init {

namespace {

using order_format::Header;

static_assert(sizeof(char*) == sizeof(std::uint64_t));

constexpr std::uint64_t slot_size = sizeof(std::uint64_t);

std::uint64_t slots_of(const Header& header) {
    const std::uint64_t texts = std::uint64_t{header.programs} + header.argv + header.environment +
                                header.writable + header.device_writable + header.expected +
                                header.submounts;
    return texts + 7 /* ends */ + 1 /* spare */ + 1 /* directory */ + 1 /* script */;
}

// Offsets of the parts. None overflows: each count has 32 bits.
std::uint64_t expected_of(const Header& header) {
    return sizeof(Header) + header.limits * std::uint64_t{sizeof(order_format::Limit)};
}

std::uint64_t filter_of(const Header& header) {
    return expected_of(header) + header.expected * std::uint64_t{sizeof(order_format::Expected)};
}

std::uint64_t first_slot_of(const Header& header) {
    return filter_of(header) + header.filter * std::uint64_t{sizeof(sock_filter)};
}

std::uint64_t texts_of(const Header& header) {
    return first_slot_of(header) + slots_of(header) * slot_size;
}

bool is_sound(const Header& header, std::size_t size) {
    if (header.magic != order_format::magic || header.version != wire::version) return false;
    if (header.size != size || (header.flags & ~order_format::all_flags) != 0) return false;
    if (header.filter > BPF_MAXINSNS || header.programs == 0 || header.argv == 0) return false;
    if ((header.flags & order_format::has_listener) != 0 && header.filter == 0) return false;
    return texts_of(header) < size;
}

bool are_sound(const order_format::Expected* expected, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
        if (static_cast<std::uint32_t>(expected[i].kind) >= order_format::expected_kinds)
            return false;
    return true;
}

// Turns one list of slots after the other into pointers.
class Slots {
public:
    Slots(unsigned char* order, std::uint64_t first, std::uint64_t texts, std::uint64_t size)
        : order_(order), next_(first), texts_(texts), size_(size) {}

    char* take_text() {
        std::uint64_t place = 0;
        std::memcpy(&place, order_ + next_, sizeof place);
        char* text = nullptr;
        if (place >= texts_ && place < size_)
            text = reinterpret_cast<char*>(order_ + place);
        else
            is_sound_ = false;
        std::memcpy(order_ + next_, &text, sizeof text);
        next_ += slot_size;
        return text;
    }

    char** take_list(std::uint32_t count) {
        char** const list = reinterpret_cast<char**>(order_ + next_);
        for (std::uint32_t i = 0; i < count; ++i)
            take_text();
        skip_empty();
        return list;
    }

    void skip_empty() {
        std::uint64_t place = 0;
        std::memcpy(&place, order_ + next_, sizeof place);
        if (place != 0) is_sound_ = false;
        next_ += slot_size;
    }

    bool is_sound() const { return is_sound_; }

private:
    unsigned char* order_;
    std::uint64_t next_;
    std::uint64_t texts_;
    std::uint64_t size_;
    bool is_sound_ = true;
};

} // namespace

bool read_order(unsigned char* bytes, std::size_t size, Order& order) {
    Header header;
    if (size < sizeof header) return false;
    std::memcpy(&header, bytes, sizeof header);
    // The NUL at the end of the order terminates every text, wherever it begins.
    if (!is_sound(header, size) || bytes[size - 1] != 0) return false;

    order.has_terminal = (header.flags & order_format::has_terminal) != 0;
    order.is_first_process = (header.flags & order_format::is_first_process) != 0;
    order.scopes_sockets_and_signals =
        (header.flags & order_format::scopes_sockets_and_signals) != 0;
    order.has_listener = (header.flags & order_format::has_listener) != 0;
    order.checks_mounts = (header.flags & order_format::checks_mounts) != 0;
    order.may_lack_proc = (header.flags & order_format::may_lack_proc) != 0;
    order.landlock = header.landlock;
    order.limits = reinterpret_cast<const order_format::Limit*>(bytes + sizeof header);
    order.limit_count = header.limits;
    order.expected = reinterpret_cast<order_format::Expected*>(bytes + expected_of(header));
    order.expected_count = header.expected;
    order.filter = reinterpret_cast<sock_filter*>(bytes + filter_of(header));
    order.filter_length = static_cast<std::uint16_t>(header.filter);

    if (!are_sound(order.expected, order.expected_count)) return false;

    Slots lists(bytes, first_slot_of(header), texts_of(header), size);
    order.programs = lists.take_list(header.programs);
    lists.skip_empty();
    order.argv = lists.take_list(header.argv);
    order.environment = lists.take_list(header.environment);
    order.writable = lists.take_list(header.writable);
    order.device_writable = lists.take_list(header.device_writable);
    order.expected_paths = lists.take_list(header.expected);
    order.submounts = lists.take_list(header.submounts);
    order.directory = lists.take_text();
    order.script = lists.take_text();
    return lists.is_sound();
}

} // namespace ew::sandbox::init
