// While somebody exchanges a directory for a link to another, again and again, what lies in that
// other directory is never touched.
#include "files/wire.h"
#include "support/temp_directory.h"
#include "support/testing.h"
#include "unit/files/verbs/carried_out.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

using namespace ew;
using namespace ew::files;
using test::carried_out;
using test::Outcome;
using test::request_for;

namespace {

// "place" is by turns a directory of the tree and a link to "outside".
class Exchange {
public:
    explicit Exchange(const test::TempDirectory& directory) : directory_(directory) {
        directory.make("place");
        directory.make("outside");
        REQUIRE(::symlink("outside", directory.path("link").c_str()) == 0);
        other_ = std::thread([this] { exchange(); });
    }

    ~Exchange() {
        is_over_ = true;
        other_.join();
    }

    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

private:
    void exchange() const {
        const std::string place = directory_.path("place");
        const std::string link = directory_.path("link");
        while (!is_over_)
            (void)::renameat2(AT_FDCWD, place.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
    }

    const test::TempDirectory& directory_;
    std::atomic<bool> is_over_ = false;
    std::thread other_;
};

// Until each has happened: it has worked, it was refused. Often, or as often as a slow machine gets
// to; not for ever.
void until_both(const std::function<Outcome()>& attempt) {
    using namespace std::chrono_literals;
    const auto begin = std::chrono::steady_clock::now();
    int worked = 0;
    int refused = 0;
    while (worked < 200 || refused < 200) {
        if (attempt().message().empty())
            ++worked;
        else
            ++refused;
        const auto taken = std::chrono::steady_clock::now() - begin;
        if (taken > (worked > 0 && refused > 0 ? 10s : 120s)) break;
    }
    CHECK(worked > 0);
    CHECK(refused > 0);
}

bool is_empty(const std::string& path) {
    return std::filesystem::is_empty(path);
}

// Whichever of the two names is the directory "outside" was never renamed.
bool is_untouched(const test::TempDirectory& directory) {
    return is_empty(directory.path("outside"));
}

} // namespace

TEST_CASE("nothing is written outside while names are exchanged") {
    const test::TempDirectory directory;
    {
        const Exchange exchange(directory);
        Request request = request_for(Verb::write_file, directory.path("place/file"));
        request.follows_links = false;
        request.data = "text";
        until_both([&request] { return carried_out(request); });
    }
    CHECK(is_untouched(directory));
}

TEST_CASE("no directory is made outside while names are exchanged") {
    const test::TempDirectory directory;
    {
        const Exchange exchange(directory);
        Request request = request_for(Verb::create_directory, directory.path("place/a/b"));
        request.follows_links = false;
        request.recursive = true;
        until_both([&request] { return carried_out(request); });
    }
    CHECK(is_untouched(directory));
}

TEST_CASE("nothing outside is removed while the way to it is exchanged") {
    const test::TempDirectory directory;
    directory.write("outside/tree/file", "kept");
    {
        const Exchange exchange(directory);
        Request request = request_for(Verb::remove, directory.path("place/tree"));
        request.follows_links = false;
        request.recursive = true;
        request.force = true;
        until_both([&request] { return carried_out(request); });
    }
    CHECK(directory.read("outside/tree/file") == "kept");
}

// Here it is a directory in the tree that is exchanged, as it is being copied.
TEST_CASE("nothing outside is copied while directories are exchanged") {
    const test::TempDirectory directory;
    directory.write("outside/secret", "secret");
    std::filesystem::create_directories(directory.path("tree"));
    for (int i = 0; i < 5; ++i)
        directory.write("tree/" + std::to_string(i), "");
    std::filesystem::create_directory(directory.path("tree/place"));
    REQUIRE(::symlink("../outside", directory.path("tree/way").c_str()) == 0);
    std::atomic<bool> is_over = false;
    std::thread other([&] {
        const std::string place = directory.path("tree/place");
        const std::string way = directory.path("tree/way");
        while (!is_over)
            (void)::renameat2(AT_FDCWD, place.c_str(), AT_FDCWD, way.c_str(), RENAME_EXCHANGE);
    });
    for (int i = 0; i < 40; ++i) {
        Request request = request_for(Verb::copy, directory.path("tree"));
        request.other_path = directory.path("copy" + std::to_string(i % 2));
        request.recursive = true;
        (void)carried_out(request); // may fail: what is there changes its kind
        if (i % 2 == 1)
            for (const char* const name : {"copy0", "copy1"})
                std::filesystem::remove_all(directory.path(name));
    }
    is_over = true;
    other.join();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path()))
        if (entry.path().filename() == "secret")
            CHECK(entry.path().parent_path().filename() == "outside");
}

TEST_CASE("a walk without links tells nothing of outside while directories are exchanged") {
    const test::TempDirectory directory;
    {
        const Exchange exchange(directory);
        directory.write("outside/secret", "secret");
        Request request = request_for(Verb::walk, directory.path());
        request.walk = {deepest_walk, most_walk_directories, most_walk_entries, false, false};
        for (int i = 0; i < 500; ++i)
            for (const Entry& entry : carried_out(request).entries)
                if (entry.name.ends_with("/secret"))
                    CHECK(entry.name == directory.path("outside/secret"));
    }
}

TEST_CASE("whoever reads sees the old content or the new, as long as the file is written") {
    const test::TempDirectory directory;
    constexpr std::size_t size = 300'000;
    directory.write("file", std::string(size, 'a'));
    std::atomic<bool> is_over = false;
    std::atomic<int> torn = 0;
    std::atomic<int> reads = 0;
    std::thread reader([&] {
        while (!is_over) {
            const std::string text = directory.read("file");
            const bool is_whole =
                text.size() == size && text.find_first_not_of(text.front()) == std::string::npos;
            torn += is_whole ? 0 : 1;
            ++reads;
        }
    });
    Request request = request_for(Verb::write_file, directory.path("file"));
    for (int i = 0; i < 200 || reads < 50; ++i) {
        request.data = std::string(size, static_cast<char>('a' + i % 26));
        REQUIRE(carried_out(request).message().empty());
    }
    is_over = true;
    reader.join();
    CHECK(torn == 0);
}
