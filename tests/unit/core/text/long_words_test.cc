#include "core/text/long_words.h"
#include "support/testing.h"

#include <string>
#include <vector>

using ew::core::longest_word;
using ew::core::shown_words;
using ew::core::without_middle;

TEST_SUITE_BEGIN("core/text/long_words");

TEST_CASE("the middle of a long text is left out and counted") {
    const std::string text = std::string(10, 'a') + std::string(1000, 'b') + std::string(5, 'c');

    CHECK(without_middle(text, 10, 5) == "aaaaaaaaaa … (1000 bytes are not shown here) … ccccc");
    CHECK(without_middle(text, 500, 500) == text);
}

TEST_CASE("no character is cut in two") {
    std::string text;
    for (int i = 0; i < 500; ++i)
        text += "\xe2\x82\xac"; // €

    const std::string shown = without_middle(text, 4, 4);
    CHECK(shown == "\xe2\x82\xac … (1494 bytes are not shown here) … \xe2\x82\xac");
    CHECK(without_middle(std::string(1000, '\x80'), 4, 4) ==
          " … (1000 bytes are not shown here) … ");
}

TEST_CASE("only a word that no command line can have is shown in part") {
    const std::vector<std::string> words = {"bash", "-c", std::string(longest_word, 'x')};
    CHECK(shown_words(words) == words);

    const std::vector<std::string> shown =
        shown_words({"bash", "-c", std::string(longest_word + 1, 'x')});
    CHECK(shown[1] == "-c");
    CHECK(shown[2].size() < 40000);
    CHECK(shown[2].find("(98304 bytes are not shown here)") != std::string::npos);
}
