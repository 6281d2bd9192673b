#include "os/listeners.h"

#include "base/unique_fd.h"
#include "os/proc.h"
#include "os/proc_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace ew::os {

namespace {

// At most so many bytes of a table are read: about 3000 listeners.
constexpr std::size_t most_read = 512 << 10;

// Returns nullopt if the line is of no listener.
std::optional<Listener> listener_in(std::string_view line) {
    constexpr std::string_view listens = "0A"; // TCP_LISTEN
    (void)next_word(line);
    const std::string_view local = next_word(line);
    (void)next_word(line);
    if (next_word(line) != listens || local.find(':') == std::string_view::npos)
        return std::nullopt;
    for (int skipped = 0; skipped < 5; ++skipped)
        (void)next_word(line);
    const auto port = number_in<std::uint16_t>(local.substr(local.find(':') + 1), 16);
    const auto inode = number_in<std::uint64_t>(next_word(line), 10);
    if (!port || !inode) return std::nullopt;
    return Listener{*inode, *port};
}

void add_listeners(const std::string& path, std::vector<Listener>& listeners) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return;
    std::string table;
    std::array<char, 16 << 10> block;
    std::vector<Listener> found;
    for (;;) {
        const ssize_t count = ::read(file.get(), block.data(), block.size());
        if (count <= 0) break;
        table.append(block.data(), static_cast<std::size_t>(count));
        const std::size_t before = found.size();
        found = listeners_in(table);
        if (found.size() == before || table.size() > most_read) break;
    }
    listeners.insert(listeners.end(), found.begin(), found.end());
}

} // namespace

std::vector<Listener> listeners_in(std::string_view table) {
    std::vector<Listener> listeners;
    table.remove_prefix(std::min(table.find('\n'), table.size())); // the names of the columns
    while (table.size() > 1) {
        table.remove_prefix(1);
        const std::size_t end = table.find('\n');
        if (end == std::string_view::npos) break;
        const std::optional<Listener> listener = listener_in(table.substr(0, end));
        if (!listener) break;
        listeners.push_back(*listener);
        table.remove_prefix(end);
    }
    return listeners;
}

std::vector<std::uint16_t> listening_ports(const std::vector<pid_t>& processes) {
    std::vector<Listener> listeners;
    std::vector<ino_t> networks;
    for (const pid_t process : processes) {
        struct stat network = {};
        const std::string place = fmt::format("/proc/{}/", process);
        if (::stat((place + "ns/net").c_str(), &network) != 0) continue;
        if (std::ranges::find(networks, network.st_ino) != networks.end()) continue;
        networks.push_back(network.st_ino);
        add_listeners(place + "net/tcp", listeners);
        add_listeners(place + "net/tcp6", listeners);
    }
    std::vector<std::uint16_t> ports;
    if (listeners.empty()) return ports;
    for (const pid_t process : processes)
        for (const std::string& file : open_files_of(process))
            for (const Listener& listener : listeners)
                if (file == fmt::format("socket:[{}]", listener.inode))
                    ports.push_back(listener.port);
    std::ranges::sort(ports);
    ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
    return ports;
}

} // namespace ew::os
