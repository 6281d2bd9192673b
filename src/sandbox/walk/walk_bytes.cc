#include "sandbox/walk/walk_bytes.h"

#include "base/plain_bytes.h"

namespace ew::sandbox {

namespace {

template <class Way>
void pass(Way& way, Like<WalkPattern> auto& pattern) {
    way.text(pattern.base);
    way.texts(pattern.parts);
    way.plain(pattern.depth);
}

template <class Way>
void pass(Way& way, Like<WalkOrder> auto& order) {
    way.texts(order.roots);
    way.list(order.patterns, [&way](auto& pattern) { pass(way, pattern); });
    way.texts(order.closed);
}

template <class Way>
void pass(Way& way, Like<LeftOut> auto& left) {
    way.text(left.path);
    way.plain(left.is_in_root);
    way.list(left.patterns, [&way](auto& pattern) { way.plain(pattern); });
}

template <class Way>
void pass(Way& way, Like<WalkFindings> auto& found) {
    way.texts(found.work_trees);
    way.list(found.matches, [&way](auto& paths) { way.texts(paths); });
    way.list(found.unreadable, [&way](auto& left) { pass(way, left); });
    way.list(found.unsearched, [&way](auto& left) { pass(way, left); });
    way.plain(found.is_late);
}

std::string encoded(const auto& value) {
    PlainWriter writer;
    pass(writer, value);
    return writer.take();
}

template <class Value>
std::optional<Value> decoded(std::string_view bytes) {
    PlainReader reader(bytes);
    Value value;
    pass(reader, value);
    if (!reader.is_over()) return std::nullopt;
    return value;
}

} // namespace

std::string encode(const WalkOrder& order) {
    return encoded(order);
}

std::string encode(const WalkFindings& findings) {
    return encoded(findings);
}

std::optional<WalkOrder> decode_walk_order(std::string_view bytes) {
    return decoded<WalkOrder>(bytes);
}

std::optional<WalkFindings> decode_walk_findings(std::string_view bytes) {
    return decoded<WalkFindings>(bytes);
}

} // namespace ew::sandbox
