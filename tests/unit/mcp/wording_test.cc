#include "mcp/wording.h"
#include "support/testing.h"

using ew::mcp::in_tool_words;

TEST_SUITE_BEGIN("mcp/wording");

TEST_CASE("names of methods and members become those of tools and arguments") {
    CHECK(in_tool_words("exec/wait waits for it, exec/terminate ends it") ==
          "wait waits for it, stop_process ends it");
    CHECK(in_tool_words("workdir: expected a path without NUL") ==
          "cwd: expected a path without NUL");
    CHECK(in_tool_words("until.pattern.regex: wrong. See processId.") ==
          "until_regex: wrong. See id.");
    CHECK(in_tool_words("additionalPermissions.fileSystem.write[0]: bad") == "write_paths[0]: bad");
    CHECK(in_tool_words("onCancel: \"terminate\" ends it") == "on_cancel: \"stop\" ends it");
}

TEST_CASE("what only looks like a name stays") {
    for (const char* const text :
         {"the directory '/a/workdir' does not exist", "no program 'workdir'", "workdirs",
          "./exec/list", "my-workdir", "x.chars", "a/exec/list/b", ""})
        CHECK(in_tool_words(text) == text);
}

TEST_SUITE_END();
