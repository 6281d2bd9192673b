// Screens against what tmux has shown for the same output. scripts/generate/screens.py has recorded
// both. A file with lines "differs" says why we do not show what tmux shows in these rows.
#include "core/screen/row_text.h"
#include "core/screen/screen.h"
#include "support/testing.h"
#include "test_places.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace ew;
using core::Screen;
using core::ScreenSize;

namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(EXECWARD_SOURCE_DIR) / "tests/screens";

// Takes back what escaped() of the script has done.
std::string unescaped(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            bytes += text[i];
            continue;
        }
        switch (text[++i]) {
        case 'e': bytes += '\x1b'; break;
        case 'n': bytes += '\n'; break;
        case 'r': bytes += '\r'; break;
        case 't': bytes += '\t'; break;
        case 'x': {
            int value = 0;
            std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
            bytes += static_cast<char>(value);
            i += 2;
            break;
        }
        default: bytes += text[i];
        }
    }
    return bytes;
}

void remove_empty_end(std::vector<std::string>& rows) {
    while (!rows.empty() && rows.back().empty())
        rows.pop_back();
}

struct Shown {
    std::vector<std::string> rows; // without empty ones at the end
    std::size_t row = 0;
    std::size_t col = 0;
};

struct Scene {
    explicit Scene(const fs::path& path) {
        std::ifstream file(path);
        for (std::string line; std::getline(file, line);)
            add(line);
        remove_empty_end(expected.rows);
    }

    void add(const std::string& line) {
        std::istringstream words(line);
        std::string word;
        std::size_t first = 0;
        std::size_t second = 0;
        words >> word;
        const std::string rest = line.size() > 4 ? line.substr(4) : "";
        if (word == "out")
            steps.push_back({unescaped(rest), {}});
        else if (word == "row")
            expected.rows.push_back(rest);
        else
            words >> first;
        if (word == "differs") {
            expected.rows[first] = line.substr(line.find(' ', 8) + 1);
            differs = true;
            return;
        }
        words >> second;
        if (word == "size") size = {first, second};
        if (word == "resize") steps.push_back({"", {first, second}});
        if (word == "cursor") {
            expected.row = first;
            expected.col = second;
        }
    }

    struct Step {
        std::string bytes;
        ScreenSize size; // counts if there are no bytes
    };

    ScreenSize size;
    std::vector<Step> steps;
    Shown expected;
    bool differs = false;
};

// `piece`: how many bytes the screen gets at once.
Shown played(const Scene& scene, std::size_t piece) {
    Result<Screen> screen = Screen::of(scene.size, 1);
    REQUIRE(screen);
    for (const Scene::Step& step : scene.steps) {
        if (step.bytes.empty()) screen->resize(step.size);
        for (std::string_view rest = step.bytes; !rest.empty();) {
            const std::string_view now = rest.substr(0, piece);
            REQUIRE(screen->feed(now) == now.size());
            rest.remove_prefix(now.size());
        }
    }
    Shown shown;
    for (std::size_t i = 0; i < screen->size().rows; ++i)
        shown.rows.push_back(core::text_of(screen->grid().row(i)));
    remove_empty_end(shown.rows);
    shown.row = screen->cursor().row;
    shown.col = screen->cursor().col;
    return shown;
}

} // namespace

TEST_CASE("a screen shows what tmux shows") {
    if (!Screen::is_available()) return;
    int same = 0;
    int different = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const Scene scene(entry.path());
        CAPTURE(entry.path().filename().string());
        const Shown whole = played(scene, 64 << 10);
        // tmux has a column behind the last one, where the cursor waits for the next character.
        std::size_t last_col = scene.size.cols - 1;
        for (const Scene::Step& step : scene.steps)
            if (step.bytes.empty()) last_col = step.size.cols - 1;
        REQUIRE(whole.rows.size() == scene.expected.rows.size());
        for (std::size_t i = 0; i < whole.rows.size(); ++i)
            CHECK(whole.rows[i] == scene.expected.rows[i]);
        CHECK(whole.row == scene.expected.row);
        CHECK(whole.col == std::min(scene.expected.col, last_col));
        const Shown single = played(scene, 1);
        CHECK((single.rows == whole.rows));
        CHECK(single.row == whole.row);
        CHECK(single.col == whole.col);
        ++(scene.differs ? different : same);
    }
    CHECK(same >= 60);
    CHECK(different <= 5);
}
