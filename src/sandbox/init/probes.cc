#include "sandbox/init/probes.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ew::sandbox::init {

namespace {

constexpr unsigned patience = 10; // seconds for all probes together; then SIGALRM ends the process

// The result of one attempt.
struct ProbeResult {
    bool went_through = false;
    int error = 0; // errno of the refusal

    static ProbeResult ok() { return {true, 0}; }

    static ProbeResult held(int error) { return {false, error}; }

    static ProbeResult of(long result) { return result < 0 ? held(errno) : ok(); }
};

class Arguments {
public:
    explicit Arguments(const char* const* arguments) : arguments_(arguments) {}

    // Returns null if the key is not given.
    const char* value(const char* key) const {
        const std::size_t length = std::strlen(key);
        for (const char* const* argument = arguments_; *argument != nullptr; ++argument)
            if (std::strncmp(*argument, key, length) == 0 && (*argument)[length] == '=')
                return *argument + length + 1;
        return nullptr;
    }

private:
    const char* const* arguments_;
};

// Builds a text without the C library's streams, which would be most of the program. Text that does
// not fit is dropped.
class Text {
public:
    Text& operator<<(const char* text) {
        for (; *text != 0 && length_ < sizeof text_ - 1; ++text)
            text_[length_++] = *text;
        return *this;
    }

    Text& operator<<(unsigned number) {
        char digits[12] = {};
        std::size_t first = sizeof digits - 1;
        do {
            digits[--first] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
        return *this << digits + first;
    }

    const char* text() const { return text_; }

    bool print() const {
        return ::write(STDOUT_FILENO, text_, length_) == static_cast<ssize_t>(length_);
    }

private:
    char text_[256] = {};
    std::size_t length_ = 0;
};

// Digits only. Pids, ports and start times are far below the point of saturation. Returns 0 for a
// null pointer.
std::uint64_t number_of(const char* text) {
    std::uint64_t number = 0;
    for (; text != nullptr && *text >= '0' && *text <= '9'; ++text)
        number = number * 10 + static_cast<std::uint64_t>(*text - '0');
    return number;
}

ProbeResult make_file_in(const char* directory) {
    const int place = ::open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place < 0) return ProbeResult::held(errno);
    static constexpr char name[] = ".execward-probe";
    const int file = ::openat(place, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ProbeResult result = ProbeResult::of(file);
    if (file >= 0) {
        if (::write(file, "x", 1) != 1) result = ProbeResult::held(errno);
        ::unlinkat(place, name, 0);
        ::close(file);
    }
    ::close(place);
    return result;
}

// Changes nothing if it goes through: it sets the same mode again.
ProbeResult change_mode(const char* path) {
    struct stat status = {};
    if (::stat(path, &status) != 0) return ProbeResult::held(errno);
    return ProbeResult::of(::chmod(path, status.st_mode & 07777));
}

ProbeResult open_for_writing(const char* path) {
    const int file = ::open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const ProbeResult result = ProbeResult::of(file);
    if (file >= 0) ::close(file);
    return result;
}

ProbeResult write_to(const char* path) {
    const ProbeResult result = open_for_writing(path);
    return result.error == EISDIR ? make_file_in(path) : result;
}

// Entries other than "." and ".." (getdents64(2)).
bool has_entries(int directory) {
    struct Entry {
        std::uint64_t inode;
        std::int64_t offset;
        std::uint16_t length;
        std::uint8_t type;
        char name[1];
    };

    alignas(Entry) char entries[1024];
    const long size = ::syscall(SYS_getdents64, directory, entries, sizeof entries);
    for (long at = 0; at < size;) {
        const Entry* const entry = reinterpret_cast<const Entry*>(entries + at);
        const char* const name = entries + at + offsetof(Entry, name);
        if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) return true;
        at += entry->length;
    }
    return false;
}

// A file that can be opened but is empty proves nothing.
ProbeResult read_from(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) return ProbeResult::held(errno);
    char byte = 0;
    const long count = ::read(file, &byte, 1);
    const int error = count < 0 ? errno : 0;
    const bool tells = count > 0 || (error == EISDIR && has_entries(file));
    ::close(file);
    if (tells) return ProbeResult::ok();
    return ProbeResult::held(error == EISDIR ? 0 : error);
}

ProbeResult see(const char* path) {
    struct stat status = {};
    return ProbeResult::of(::lstat(path, &status));
}

// Returns the start time in /proc/PID/stat (proc(5), field 22) in clock ticks since boot, or 0 if
// it is unknown; then errno says why.
std::uint64_t start_time_of(const char* pid) {
    Text path;
    path << "/proc/" << pid << "/stat";
    const int file = ::open(path.text(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    char text[1024] = {};
    const long count = ::read(file, text, sizeof text - 1);
    ::close(file);
    errno = 0;
    const char* at = count > 0 ? std::strrchr(text, ')') : nullptr; // the end of field 2
    for (int field = 2; at != nullptr && field < 22; ++field) {
        at = std::strchr(at, ' ');
        if (at != nullptr) ++at;
    }
    return number_of(at);
}

// Is the process with that pid inside the sandbox another one than the process outside?
bool is_another(const char* pid, const char* start) {
    if (start == nullptr) return false;
    const std::uint64_t found = start_time_of(pid);
    return found != 0 && found != number_of(start);
}

ProbeResult see_process(const char* pid, const char* start) {
    if (start_time_of(pid) == 0) return ProbeResult::held(errno);
    return is_another(pid, start) ? ProbeResult::held(0) : ProbeResult::ok();
}

ProbeResult signal_process(const char* pid, const char* start) {
    const ProbeResult result = ProbeResult::of(::kill(static_cast<pid_t>(number_of(pid)), 0));
    return result.went_through && is_another(pid, start) ? ProbeResult::held(0) : result;
}

ProbeResult connect_to(const sockaddr* address, socklen_t size) {
    const int socket = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return ProbeResult::held(errno);
    const ProbeResult result = ProbeResult::of(::connect(socket, address, size));
    ::close(socket);
    return result;
}

ProbeResult connect_to_loopback(const char* port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(number_of(port)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect_to(reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// `first` is the position of the name in the address; the name of an abstract socket follows a NUL
// (unix(7)).
ProbeResult connect_to_name(const char* name, std::size_t first) {
    sockaddr_un address = {};
    const std::size_t length = std::strlen(name);
    if (length + first >= sizeof address.sun_path) return ProbeResult::held(ENAMETOOLONG);
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + first, name, length);
    return connect_to(reinterpret_cast<const sockaddr*>(&address),
                      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + first + length));
}

// Calls that only a filter refuses. The terminal's call names no descriptor, so it has no effect
// even if it is let through: it then fails with EBADF.
ProbeResult make_rare_calls() {
    char byte = 0;
    (void)::ioctl(-1, TIOCSTI, &byte);
    if (errno == EBADF) return ProbeResult::ok();
    return ProbeResult::of(::unshare(CLONE_NEWUSER));
}

ProbeResult use_null() {
    const int file = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (file < 0) return ProbeResult::held(errno);
    const bool works = ::write(file, "x", 1) == 1;
    const ProbeResult result = works ? ProbeResult::ok() : ProbeResult::held(errno);
    ::close(file);
    return result;
}

bool tell(const char* name, ProbeResult result) {
    Text line;
    line << name << (result.went_through ? " ok " : " held ") << static_cast<unsigned>(result.error)
         << "\n";
    return line.print();
}

struct PathProbe {
    const char* name;
    const char* key;
    ProbeResult (*attempt)(const char* value);
};

constexpr PathProbe path_probes[] = {
    {"works_write", "inside", make_file_in},
    {"fs_write", "outside", make_file_in},
    {"fs_metadata", "file", change_mode},
    {"protected_paths", "protected", write_to},
    {"deny_read", "denied", read_from},
    {"private_tmp", "tmp", see},
    {"net_off", "tcp", connect_to_loopback},
    {"abstract_sockets", "abstract", [](const char* value) { return connect_to_name(value, 1); }},
    {"named_pipes", "pipe", open_for_writing},
    {"socket_files", "socket", [](const char* value) { return connect_to_name(value, 0); }},
};

} // namespace

int probe(const char* const* arguments) {
    ::alarm(patience);
    const Arguments given(arguments);
    bool is_told = tell("works_null", use_null());
    for (const PathProbe& one : path_probes) {
        const char* const value = given.value(one.key);
        if (value != nullptr) is_told = tell(one.name, one.attempt(value)) && is_told;
    }
    if (const char* const pid = given.value("pid"); pid != nullptr) {
        const char* const start = given.value("start");
        is_told = tell("proc_hidden", see_process(pid, start)) && is_told;
        is_told = tell("signals", signal_process(pid, start)) && is_told;
    }
    is_told = tell("kernel_settings", open_for_writing("/proc/sys/kernel/core_pattern")) && is_told;
    // This probe is the last one: if it goes through, this process is in another user namespace.
    is_told = tell("system_calls", make_rare_calls()) && is_told;
    return is_told ? 0 : 1;
}

} // namespace ew::sandbox::init
