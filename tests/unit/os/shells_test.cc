#include "os/shells.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

using ew::ErrorKind;
using ew::Result;
using ew::os::find_shell;
using ew::os::shell_argv;
using ew::os::ShellProgram;
using ew::test::TempDirectory;

TEST_SUITE_BEGIN("os/shells");

TEST_CASE("the login shell is taken if it is a known one of the system") {
    Result<ShellProgram> shell = find_shell(std::nullopt, {"/bin/dash", "/bin/bash"});

    REQUIRE(shell);
    CHECK(shell->name == "dash");
    CHECK(shell->path == "/bin/dash");
}

TEST_CASE("a login shell that is unknown, missing or relative gives way to the next") {
    Result<ShellProgram> shell =
        find_shell(std::nullopt, {"", "/usr/bin/fish", "/missing/bash", "bash", "/bin/sh"});

    REQUIRE(shell);
    CHECK(shell->path == "/bin/sh");
}

TEST_CASE("a login shell where anybody could have put it is not taken") {
    const TempDirectory place;
    const std::string fake = place.write("bash", "#!/bin/sh\n");
    ::chmod(fake.c_str(), 0755);

    Result<ShellProgram> shell = find_shell(std::nullopt, {fake});

    REQUIRE(shell);
    CHECK(shell->path != fake);
    CHECK(shell->path == (::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh"));
}

TEST_CASE("a shell that is asked for by name is the system's") {
    Result<ShellProgram> shell = find_shell("sh", {"/bin/bash"});

    REQUIRE(shell);
    CHECK(shell->name == "sh");
    CHECK(shell->path == "/bin/sh");
}

TEST_CASE("a shell that is asked for by its path is that one") {
    const TempDirectory place;
    const std::string own = place.write("zsh", "#!/bin/sh\n");
    ::chmod(own.c_str(), 0755);

    Result<ShellProgram> shell = find_shell(own);

    REQUIRE(shell);
    CHECK(shell->name == "zsh");
    CHECK(shell->path == own);
}

TEST_CASE("what is no shell is refused with what would be one") {
    const TempDirectory place;
    const std::string plain = place.write("bash", "");
    for (const std::string& wanted :
         {std::string("fish"), std::string(""), std::string("./bash"), std::string("bin/bash"),
          std::string("/bin/cat"), std::string("/missing/bash"), std::string("/bin/"),
          std::string("bash\0", 5), place.path(), plain}) {
        Result<ShellProgram> shell = find_shell(wanted);
        REQUIRE_FALSE(shell);
        CHECK(shell.error().kind == ErrorKind::invalid_params);
        CHECK(shell.error().path == "shell");
        CHECK(shell.error().hint.starts_with("give bash, dash, ksh, sh, zsh or the absolute path"));
    }
}

TEST_CASE("a script is one argument, and a login shell is asked for by -l") {
    const ShellProgram bash = {"bash", "/bin/bash"};

    CHECK(shell_argv(bash, false, "echo 'a  b'") ==
          std::vector<std::string>{"/bin/bash", "-c", "echo 'a  b'"});
    CHECK(shell_argv(bash, true, "x") == std::vector<std::string>{"/bin/bash", "-lc", "x"});
}

TEST_SUITE_END();
