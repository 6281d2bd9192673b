#include "core/output/denial_hint.h"
#include "support/testing.h"

#include <array>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

using ew::core::denial_hint;

namespace {

constexpr bool sandboxed = true;

std::string hint(std::int64_t exit_code, std::string_view text) {
    const auto found = denial_hint(exit_code, sandboxed, text);
    return found ? std::string(*found) : "none";
}

} // namespace

TEST_SUITE_BEGIN("core/denial_hint");

TEST_CASE("each of the words is a hint, in any case, anywhere in the text") {
    for (const std::string_view word :
         {"operation not permitted", "permission denied", "read-only file system", "seccomp",
          "sandbox", "landlock", "failed to write file"}) {
        CHECK(hint(1, word) == word);
        CHECK(hint(1, "x: " + std::string(word) + "\n") == word);
    }
    CHECK(hint(1, "sh: 1: cannot create /x: Read-only file system\n") == "read-only file system");
    CHECK(hint(1, "PERMISSION DENIED") == "permission denied");
    CHECK(hint(1, "unsandboxed") == "sandbox");
}

TEST_CASE("text without a word is no hint") {
    for (const std::string_view text :
         {"", "no such file or directory", "permission  denied", "permission denie", "sand box",
          "operation not\npermitted", "ermission denied"})
        CHECK(hint(1, text) == "none");
}

TEST_CASE("a program that succeeded, and one without a sandbox, give no hint") {
    CHECK(hint(0, "permission denied") == "none");
    CHECK_FALSE(denial_hint(1, false, "permission denied").has_value());
    CHECK_FALSE(denial_hint(159, false, "").has_value());
}

TEST_CASE("words count before exit codes") {
    for (const std::int64_t code : {2, 126, 127}) {
        CHECK(hint(code, "permission denied") == "permission denied");
        CHECK(hint(code, "not found") == "none");
    }
    CHECK(hint(159, "landlock") == "landlock");
}

TEST_CASE("an end by SIGSYS is a hint without any word") {
    CHECK(hint(159, "") == "exit 159");
    CHECK(hint(158, "") == "none");
    CHECK(hint(160, "") == "none");
}

TEST_CASE("a word that begins like itself is found behind its own beginning") {
    CHECK(hint(1, "permissiopermission denied") == "permission denied");
    CHECK(hint(1, "seseccomp") == "seccomp");
    CHECK(hint(1, "lanlandlandlock") == "landlock");
    CHECK(hint(1, "failed to failed to write file") == "failed to write file");
    CHECK(hint(1, "operation not operation not permitted") == "operation not permitted");
}

TEST_CASE("of several words the one that ends first is named") {
    CHECK(hint(1, "sandbox: permission denied") == "sandbox");
    CHECK(hint(1, "permission denied (sandbox)") == "permission denied");
}

TEST_CASE("a word is found however the text is cut into pieces") {
    const std::string text = "x\nbash: line 1: /etc/f: Read-only file system\n";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        const std::array<std::string_view, 3> pieces = {std::string_view(text).substr(0, cut), "",
                                                        std::string_view(text).substr(cut)};
        CAPTURE(cut);
        CHECK(denial_hint(1, sandboxed, pieces) == "read-only file system");
    }

    std::vector<std::string_view> letters;
    for (std::size_t i = 0; i < text.size(); ++i)
        letters.push_back(std::string_view(text).substr(i, 1));
    CHECK(denial_hint(1, sandboxed, letters) == "read-only file system");
}

TEST_CASE("bytes that are no letters are passed over") {
    CHECK(hint(1, std::string_view("\0\xff\x80sandbox", 10)) == "sandbox");
    CHECK(hint(1, "s\xc3\xa4ndbox") == "none");
}

TEST_CASE("a megabyte is looked through in a moment") {
    std::string text;
    while (text.size() < (1 << 20))
        text += "permission sandbo secco operation not read-only file ";

    const std::clock_t before = std::clock();
    CHECK(hint(1, text) == "none");
    CHECK(std::clock() - before < 20 * CLOCKS_PER_SEC); // of the processor, however busy it is
}

TEST_SUITE_END();
