#include "sandbox/plan/init_order.h"

#include "base/check.h"
#include "sandbox/init/wire.h"

#include <cstring>
#include <string_view>

namespace ew::sandbox {

namespace {

using order_format::Header;

std::uint32_t count_of(std::size_t size) {
    return static_cast<std::uint32_t>(size);
}

template <class T>
void append(std::string& bytes, const T& value) {
    const std::size_t end = bytes.size();
    bytes.resize(end + sizeof value);
    std::memcpy(bytes.data() + end, &value, sizeof value);
}

// Slots and their texts, side by side until the offsets of the texts are known.
class Texts {
public:
    void add(std::string_view text) {
        CHECK(text.find('\0') == std::string_view::npos); // callers refuse a NUL
        slots_.push_back(texts_.size());
        texts_ += text;
        texts_ += '\0';
    }

    void add_empty() { slots_.push_back(nowhere); }

    void add(const std::vector<std::string>& list) {
        for (const std::string& text : list)
            add(text);
        add_empty();
    }

    void append_to(std::string& bytes) const {
        const std::uint64_t begin = bytes.size() + slots_.size() * sizeof(std::uint64_t);
        for (const std::uint64_t slot : slots_)
            append(bytes, slot == nowhere ? std::uint64_t{0} : begin + slot);
        bytes += texts_;
    }

private:
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

    std::vector<std::uint64_t> slots_;
    std::string texts_;
};

std::uint32_t flags_of(const InitOrder& order) {
    std::uint32_t flags = 0;
    if (order.has_terminal) flags |= order_format::has_terminal;
    if (order.is_first_process) flags |= order_format::is_first_process;
    if (order.scopes_sockets_and_signals) flags |= order_format::scopes_sockets_and_signals;
    if (order.has_listener) flags |= order_format::has_listener;
    if (order.checks_mounts) flags |= order_format::checks_mounts;
    if (order.may_lack_proc) flags |= order_format::may_lack_proc;
    return flags;
}

Header header_of(const InitOrder& order) {
    Header header;
    header.magic = order_format::magic;
    header.version = wire::version;
    header.flags = flags_of(order);
    header.landlock = static_cast<std::uint32_t>(order.landlock);
    header.limits = count_of(order.limits.size());
    header.filter = count_of(order.filter.size());
    header.programs = count_of(order.programs.size());
    header.argv = count_of(order.argv.size());
    header.environment = count_of(order.environment.size());
    header.writable = count_of(order.writable.size());
    header.device_writable = count_of(order.device_writable.size());
    header.expected = count_of(order.expected.size());
    header.submounts = count_of(order.submounts.size());
    return header;
}

} // namespace

std::string encode(const InitOrder& order) {
    Header header = header_of(order);
    std::string bytes;
    append(bytes, header);
    for (const InitOrder::Limit& limit : order.limits) {
        append(bytes, order_format::Limit{static_cast<std::uint64_t>(limit.resource),
                                          limit.limit.rlim_cur, limit.limit.rlim_max});
    }
    for (const InitOrder::Expected& expected : order.expected)
        append(bytes, order_format::Expected{expected.device, expected.inode, 0, expected.kind, 0});
    for (const sock_filter& instruction : order.filter)
        append(bytes, instruction);

    Texts texts;
    texts.add(order.programs);
    texts.add_empty();
    texts.add(order.argv);
    texts.add(order.environment);
    texts.add(order.writable);
    texts.add(order.device_writable);
    for (const InitOrder::Expected& expected : order.expected)
        texts.add(expected.path);
    texts.add_empty();
    texts.add(order.submounts);
    texts.add(order.directory);
    texts.add(order.script);
    texts.append_to(bytes);

    header.size = bytes.size();
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

} // namespace ew::sandbox
