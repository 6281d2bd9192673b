#include "sandbox/plan/host_files.h"

#include "core/network/hosts.h"
#include "os/io.h"
#include "os/proc.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::string_view resolver = "# execward: names have addresses that stand for them\n"
                                      "nameserver 127.0.0.1\n";
constexpr std::string_view services = "hosts: files dns\n";

std::string known_hosts() {
    std::string text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
    std::array<char, 256> name = {};
    if (::gethostname(name.data(), name.size() - 1) != 0) return text;
    if (const std::optional<std::string> host = core::host_name(name.data()))
        text += fmt::format("127.0.0.1 {}\n", *host);
    return text;
}

} // namespace

std::string name_services(std::string_view text) {
    std::string kept;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
        if (!line.substr(begin).starts_with("hosts")) kept.append(line).append("\n");
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return kept.append(services);
}

std::vector<PlaceholderFile> host_files() {
    std::vector<PlaceholderFile> files;
    const auto add = [&files](const std::string& path, std::string content) {
        if (std::optional<std::string> real = os::real_path(path))
            files.push_back({std::move(*real), std::move(content)});
    };
    add("/etc/resolv.conf", std::string(resolver));
    add("/etc/hosts", known_hosts());
    add("/etc/nsswitch.conf", name_services(os::read_proc_file("/etc/nsswitch.conf")));
    return files;
}

} // namespace ew::sandbox
