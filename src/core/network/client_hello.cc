#include "core/network/client_hello.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ew::core {

namespace {

using State = ClientHello::State;

constexpr unsigned char change_of_ciphers = 20;
constexpr unsigned char handshake = 22;
constexpr unsigned char data_of_application = 23;
constexpr unsigned char client_hello = 1;
constexpr unsigned char major_version = 3;
constexpr std::uint16_t server_name_extension = 0;
constexpr unsigned char host_name = 0;
constexpr std::size_t record_header = 5;
constexpr std::size_t message_header = 4;
constexpr std::size_t longest_record = (16 << 10) + 256;

// Reads numbers and parts from the front. After a failure everything is empty.
class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    bool is_broken() const { return is_broken_; }

    bool is_done() const { return rest_.empty() || is_broken_; }

    std::string_view part(std::size_t size) {
        if (rest_.size() < size) {
            is_broken_ = true;
            return {};
        }
        const std::string_view part = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return part;
    }

    std::size_t number(std::size_t bytes) {
        std::size_t number = 0;
        for (const char byte : part(bytes))
            number = number << 8U | static_cast<unsigned char>(byte);
        return number;
    }

    std::string_view counted(std::size_t bytes_of_count) { return part(number(bytes_of_count)); }

private:
    std::string_view rest_;
    bool is_broken_ = false;
};

// Returns nullopt if it is broken. A second name would let the client mean another one than we do.
std::optional<std::string> name_in(std::string_view extension) {
    Reader list_reader(extension);
    Reader list(list_reader.counted(2));
    std::string name;
    while (!list.is_done()) {
        const std::size_t type = list.number(1);
        const std::string_view text = list.counted(2);
        if (type != host_name || text.empty() || !name.empty()) return std::nullopt;
        name = text;
    }
    if (list_reader.is_broken() || !list_reader.is_done() || list.is_broken() || name.empty())
        return std::nullopt;
    return name;
}

ClientHello read_message(std::string_view message) {
    constexpr std::size_t version = 2;
    constexpr std::size_t random = 32;
    Reader reader(message);
    (void)reader.part(version);
    (void)reader.part(random);
    (void)reader.counted(1); // session
    (void)reader.counted(2); // ciphers
    (void)reader.counted(1); // compressions
    if (reader.is_broken()) return {State::broken};
    ClientHello hello = {State::whole};
    if (reader.is_done()) return hello; // without extensions
    Reader extensions(reader.counted(2));
    if (!reader.is_done()) return {State::broken};
    bool has_name = false;
    while (!extensions.is_done()) {
        const std::size_t type = extensions.number(2);
        const std::string_view content = extensions.counted(2);
        if (extensions.is_broken() || type != server_name_extension) continue;
        std::optional<std::string> name = name_in(content);
        if (!name || has_name) return {State::broken};
        has_name = true;
        hello.server_name = std::move(*name);
    }
    if (extensions.is_broken() || reader.is_broken()) return {State::broken};
    return hello;
}

unsigned char at(std::string_view bytes, std::size_t place) {
    return static_cast<unsigned char>(bytes[place]);
}

// Of the record whose header stands at `place`.
std::size_t size_of_record(std::string_view bytes, std::size_t place) {
    return std::size_t{at(bytes, place + 3)} << 8U | std::size_t{at(bytes, place + 4)};
}

} // namespace

// Servers may take a warning, a change of ciphers or an empty record before the greeting, and any
// version in a record (RFC 8446, 5.1). Nothing else that we know begins like these.
ClientHello read_client_hello(std::string_view bytes) {
    if (bytes.empty()) return {};
    if (at(bytes, 0) < change_of_ciphers || at(bytes, 0) > data_of_application)
        return {State::other};
    if (bytes.size() < record_header) return {State::incomplete};
    const std::size_t first_size = size_of_record(bytes, 0);
    const bool has_version = at(bytes, 1) == major_version;
    if (at(bytes, 0) != handshake) {
        constexpr std::size_t longest_alert = 2;
        return {has_version || first_size <= longest_alert ? State::broken : State::other};
    }
    if (!has_version && (first_size == 0 || first_size > longest_record)) return {State::other};
    if (!has_version && bytes.size() > record_header && at(bytes, record_header) != client_hello)
        return {State::other};
    std::string message;
    for (std::size_t from = 0; bytes.size() - from >= record_header;) {
        if (at(bytes, from) != handshake) return {State::broken};
        const std::size_t size = size_of_record(bytes, from);
        if (size == 0 || size > longest_record) return {State::broken};
        message += bytes.substr(from + record_header, size);
        from += record_header + std::min(size, bytes.size() - from - record_header);
        if (message.empty()) break;
        if (at(message, 0) != client_hello) return {State::broken};
        if (message.size() < message_header) continue;
        Reader header(std::string_view(message).substr(1));
        const std::size_t length = header.number(3);
        if (length > longest_client_hello) return {State::broken};
        if (message.size() - message_header >= length)
            return read_message(std::string_view(message).substr(message_header, length));
    }
    return {bytes.size() > longest_client_hello ? State::broken : State::incomplete};
}

} // namespace ew::core
