#include "sandbox/trial/trial_memory.h"
// The result of a trial as text: lines of a name and a value, the last of which is "end". A
// truncated or changed file is invalid.
#include "base/unique_fd.h"
#include "os/io.h"
#include "os/proc.h"
#include "sandbox/launch/bubblewrap.h"
#include "version.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace ew::sandbox {

namespace {

constexpr std::string_view file_name = "sandbox-trial";
constexpr std::size_t longest_file = 64 << 10;
constexpr int highest_landlock = 1000; // far above any existing version

struct Flag {
    std::string_view name;
    bool Machine::*value;
};

constexpr std::array flags = {
    Flag{"mounts", &Machine::has_mounts},
    Flag{"proc", &Machine::has_proc},
    Flag{"shared", &Machine::shares_namespaces},
    Flag{"network-namespace", &Machine::has_network_namespace},
    Flag{"filter", &Machine::has_filter},
    Flag{"notify", &Machine::has_notify},
    Flag{"size", &Machine::takes_size},
    Flag{"root", &Machine::is_root},
};

void add_line(std::string& text, std::string_view name, std::string_view value) {
    text += name;
    text += ' ';
    for (const char c : value) {
        if (c == '\\')
            text += "\\\\";
        else if (c == '\n')
            text += "\\n";
        else
            text += c;
    }
    text += '\n';
}

class Lines {
public:
    explicit Lines(std::string_view text) : rest_(text) {}

    bool is_at(std::string_view name) const {
        return rest_.starts_with(name) && rest_.substr(name.size(), 1) == " ";
    }

    // Returns the value of the next line, which must have that name. Any other line makes the whole
    // text invalid.
    std::string take(std::string_view name) {
        const std::size_t end = rest_.find('\n');
        if (!is_at(name) || end == std::string_view::npos) {
            is_good_ = false;
            return {};
        }
        const std::string_view line = rest_.substr(name.size() + 1, end - name.size() - 1);
        rest_.remove_prefix(end + 1);
        return plain(line);
    }

    bool is_good() const { return is_good_; }

    bool is_over() const { return rest_.empty(); }

private:
    static std::string plain(std::string_view line) {
        std::string value;
        for (std::size_t i = 0; i < line.size(); ++i) {
            const bool is_escaped = line[i] == '\\' && i + 1 < line.size();
            if (is_escaped) ++i;
            value += is_escaped && line[i] == 'n' ? '\n' : line[i];
        }
        return value;
    }

    std::string_view rest_;
    bool is_good_ = true;
};

std::optional<int> number_in(std::string_view text, int most) {
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if (number < 0 || number > most) return std::nullopt;
    return number;
}

std::optional<Guarantee> guarantee_named(std::string_view name) {
    for (std::size_t i = 0; i < guarantee_count; ++i)
        if (name_of(static_cast<Guarantee>(i)) == name) return static_cast<Guarantee>(i);
    return std::nullopt;
}

bool is_possible(const Machine& machine) {
    if (machine.has_mounts && machine.bubblewrap.empty()) return false;
    const bool has_any =
        machine.has_mounts || machine.landlock > 0 || machine.has_filter || machine.has_notify;
    return !has_any || !machine.init.empty();
}

std::string identity_text(const TrustedProgram& program) {
    const FileIdentity& file = program.identity;
    return fmt::format("{} {} {} {} {} {}", file.device, file.inode, file.size, file.modified,
                       file.changed, program.path);
}

// Besides the boot, these decide about namespaces and filters: a server in a container, or below a
// filter, counts as on another machine.
std::string surroundings() {
    std::string text;
    const std::string status = os::read_proc_file("/proc/self/status");
    for (const std::string_view name :
         {"\nNoNewPrivs:", "\nSeccomp:", "\nSeccomp_filters:", "\nCapEff:", "\nCapBnd:"}) {
        const std::size_t at = status.find(name);
        if (at == std::string::npos) continue;
        text += status.substr(at + 1, status.find('\n', at + 1) - at - 1) + ' ';
    }
    for (const char* const name : {"user", "mnt", "pid", "net"}) {
        struct stat info = {};
        const std::string path = fmt::format("/proc/self/ns/{}", name);
        if (::stat(path.c_str(), &info) == 0) text += fmt::format("{}:{} ", name, info.st_ino);
    }
    for (const char* const path :
         {"/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone",
          "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "/proc/self/attr/current"})
        text += os::read_proc_file(path) + ' ';
    return text;
}

struct Key {
    std::string text; // lines that must be the same for a kept result to count
    TrustedProgram bubblewrap;
    TrustedProgram init;
};

// Returns nullopt if no result can be kept.
std::optional<Key> key_of(const TrialPlaces& places) {
    Result<TrustedProgram> bubblewrap = find_bubblewrap();
    Result<TrustedProgram> init = find_init(places.init);
    const std::string boot = os::read_proc_file("/proc/sys/kernel/random/boot_id");
    if (!bubblewrap || !init || boot.empty() || places.state_directory.empty()) return std::nullopt;
    std::string text;
    add_line(text, "execward", fmt::format("{} {}", program_version, init_digest));
    add_line(text, "boot", boot);
    add_line(text, "uid", std::to_string(::geteuid()));
    add_line(text, "bubblewrap", identity_text(*bubblewrap));
    add_line(text, "init", identity_text(*init));
    add_line(text, "surroundings", surroundings());
    return Key{std::move(text), std::move(*bubblewrap), std::move(*init)};
}

bool is_ours(int fd, mode_t kind) {
    struct stat info = {};
    return ::fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == kind &&
           info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Makes the directories for this user alone; existing ones stay as they are.
void make_directories(const std::string& path) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1))
        (void)::mkdir(path.substr(0, slash).c_str(), 0700);
    (void)::mkdir(path.c_str(), 0700);
}

UniqueFd open_state_directory(const TrialPlaces& places) {
    UniqueFd directory(::open(places.state_directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory && !is_ours(directory.get(), S_IFDIR)) directory.reset();
    return directory;
}

std::string read_all(int fd) {
    std::string text(longest_file + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t count = ::read(fd, text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        size += static_cast<std::size_t>(count);
    }
    text.resize(size > longest_file ? 0 : size);
    return text;
}

} // namespace

std::string encode(const Machine& machine) {
    std::string text;
    add_line(text, "bubblewrap", machine.bubblewrap);
    add_line(text, "execward-init", machine.init);
    for (const Flag& flag : flags)
        add_line(text, flag.name, machine.*flag.value ? "1" : "0");
    add_line(text, "landlock", std::to_string(machine.landlock));
    for (const Guarantee guarantee : machine.broken.list())
        add_line(text, "broken", name_of(guarantee));
    for (const Trouble& trouble : machine.troubles) {
        add_line(text, "trouble", trouble.mechanism);
        add_line(text, "step", trouble.step);
        add_line(text, "advice", trouble.advice);
    }
    add_line(text, "end", "");
    return text;
}

Result<Machine> decode_machine(std::string_view text) {
    Lines lines(text);
    Machine machine;
    bool is_good = true;
    machine.bubblewrap = lines.take("bubblewrap");
    machine.init = lines.take("execward-init");
    for (const Flag& flag : flags) {
        const std::optional<int> value = number_in(lines.take(flag.name), 1);
        is_good = is_good && value;
        machine.*flag.value = value.value_or(0) == 1;
    }
    const std::optional<int> landlock = number_in(lines.take("landlock"), highest_landlock);
    machine.landlock = landlock.value_or(0);
    while (lines.is_at("broken")) {
        const std::optional<Guarantee> guarantee = guarantee_named(lines.take("broken"));
        is_good = is_good && guarantee;
        if (guarantee) machine.broken.add(*guarantee);
    }
    while (lines.is_good() && lines.is_at("trouble")) {
        Trouble trouble;
        trouble.mechanism = lines.take("trouble");
        trouble.step = lines.take("step");
        trouble.advice = lines.take("advice");
        machine.troubles.push_back(std::move(trouble));
    }
    (void)lines.take("end");
    if (!is_good || !landlock || !lines.is_good() || !lines.is_over() || !is_possible(machine))
        return Error{ErrorKind::internal, "what a trial of the sandbox found is not whole"};
    return machine;
}

std::optional<Machine> remembered_trial(const TrialPlaces& places) {
    std::optional<Key> key = key_of(places);
    if (!key) return std::nullopt;
    const UniqueFd directory = open_state_directory(places);
    if (!directory) return std::nullopt;
    const UniqueFd file(::openat(directory.get(), file_name.data(),
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file || !is_ours(file.get(), S_IFREG)) return std::nullopt;
    const std::string text = read_all(file.get());
    if (!text.starts_with(key->text)) return std::nullopt;
    Result<Machine> machine = decode_machine(std::string_view(text).substr(key->text.size()));
    if (!machine || !machine->troubles.empty()) return std::nullopt;
    // These programs are executed, so their paths are never taken from the file.
    machine->bubblewrap = std::move(key->bubblewrap.path);
    machine->init = std::move(key->init.path);
    return std::move(*machine);
}

void remember_trial(const TrialPlaces& places, const Machine& machine) {
    const std::optional<Key> key = key_of(places);
    const bool is_kept_in_mind = key && machine.troubles.empty();
    if (is_kept_in_mind) make_directories(places.state_directory);
    const UniqueFd directory = open_state_directory(places);
    if (!directory) return;
    if (!is_kept_in_mind) {
        (void)::unlinkat(directory.get(), file_name.data(), 0);
        return;
    }
    const std::string name = fmt::format("{}.{}", file_name, ::getpid());
    (void)::unlinkat(directory.get(), name.c_str(), 0); // of a process that died, with our pid
    const UniqueFd file(::openat(directory.get(), name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return;
    const bool is_kept =
        os::write_all(file.get(), key->text + encode(machine)) &&
        ::renameat(directory.get(), name.c_str(), directory.get(), file_name.data()) == 0;
    if (!is_kept) (void)::unlinkat(directory.get(), name.c_str(), 0);
}

} // namespace ew::sandbox
