// Plays the kept inputs of all fuzz targets. A failing one ends a child process, not the run.
#include "fuzz/scenes.h"
#include "test_places.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

struct Target {
    const char* name;
    void (*play)(std::string_view input);
};

constexpr std::array<Target, 10> targets = {{
    {"client_hello", ew::fuzz::client_hello},
    {"dispatch", ew::fuzz::dispatch},
    {"dns", ew::fuzz::dns},
    {"framing", ew::fuzz::framing},
    {"patch", ew::fuzz::patch},
    {"proxy_answer", ew::fuzz::proxy_answer},
    {"rules", ew::fuzz::rules},
    {"screen", ew::fuzz::screen},
    {"shell_words", ew::fuzz::shell_words},
    {"utf8", ew::fuzz::utf8},
}};

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

bool survives(const Target& target, const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string input(std::istreambuf_iterator<char>(file), {});
    const pid_t pid = ::fork();
    if (pid == 0) {
        target.play(input);
        ::_exit(0);
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    return status == 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::filesystem::path corpus = argc > 1 ? argv[1] : EXECWARD_CORPUS;
    int passed = 0;
    int failed = 0;
    for (const Target& target : targets) {
        for (const std::filesystem::path& path : files_in(corpus / target.name)) {
            const bool good = survives(target, path);
            ++(good ? passed : failed);
            if (!good) std::printf("FAIL %s\n", path.c_str());
            std::fflush(stdout); // before the next fork
        }
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
