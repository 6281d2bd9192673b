#include "os/programs.h"
#include "os/shells.h"
#include "support/temp_directory.h"
#include "support/testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

using ew::ErrorKind;
using ew::Result;
using ew::os::find_login_shell;
using ew::os::find_shell;
using ew::os::script_in_file;
using ew::os::shell_argv;
using ew::os::ShellProgram;
using ew::os::TrustedPrograms;
using ew::test::TempDirectory;

TEST_SUITE_BEGIN("os/shells");

TEST_CASE("the login shell is taken if it is a known one of the system") {
    Result<ShellProgram> shell = find_login_shell({"/bin/dash", "/bin/bash"});

    REQUIRE(shell);
    CHECK(shell->name == "dash");
    CHECK(shell->path == "/bin/dash");
}

TEST_CASE("a login shell that is unknown, missing or relative gives way to the next") {
    Result<ShellProgram> shell =
        find_login_shell({"", "/usr/bin/fish", "/missing/bash", "bash", "/bin/sh"});

    REQUIRE(shell);
    CHECK(shell->path == "/bin/sh");
}

TEST_CASE("a login shell where anybody could have put it is not taken") {
    const TempDirectory place;
    const std::string fake = place.write("bash", "#!/bin/sh\n");
    ::chmod(fake.c_str(), 0755);

    Result<ShellProgram> shell = find_login_shell({fake});

    REQUIRE(shell);
    CHECK(shell->path != fake);
    CHECK(shell->path == (::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh"));
}

TEST_CASE("a link to a shell where anybody could have put it is no login shell either") {
    const TempDirectory place;
    const std::string open = place.make("open");
    ::chmod(open.c_str(), 0777);
    REQUIRE(::symlink("/bin/sh", (open + "/zsh").c_str()) == 0);
    REQUIRE(::symlink("/bin/sh", place.path("zsh").c_str()) == 0);

    for (const std::string& fake : {open + "/zsh", place.path("zsh")}) {
        Result<ShellProgram> shell = find_login_shell({fake, "/bin/sh"});
        REQUIRE(shell);
        CHECK(shell->path == "/bin/sh");
    }
}

TEST_CASE("a shell that is asked for by its path is found, and trusted only in its own place") {
    const TempDirectory place;
    const std::string own = place.path("bash");
    REQUIRE(::symlink("/bin/sh", own.c_str()) == 0);
    const TrustedPrograms programs({"/usr/bin:/bin", {place.path()}});

    Result<ShellProgram> linked = find_shell(own);
    Result<ShellProgram> system = find_shell("/bin/sh");

    REQUIRE(linked);
    REQUIRE(system);
    CHECK_FALSE(programs.is_trusted(linked->path));
    CHECK(programs.is_trusted(system->path));
}

TEST_CASE("a shell that is asked for by name is the system's") {
    Result<ShellProgram> shell = find_shell("sh");

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

TEST_CASE("a long script is evaluated from a file, or read from it, as the shell does behind -c") {
    for (const char* shell : {"/usr/bin/bash", "/opt/bash-5.2", "/bin/zsh5"}) {
        const auto [command, content] = script_in_file(shell, "echo a\n\n");
        CHECK(command == "eval \"exec 9<&-; $(</proc/self/fd/9)\"");
        CHECK(content == "echo a\n\n");
    }
    CHECK(script_in_file("/bin/bash", "echo a\\\n").content == "echo a\\\n\n#");
    for (const char* shell : {"/bin/dash", "/bin/sh", "/bin/busybox"}) {
        const auto [command, content] = script_in_file(shell, "echo a\\\n");
        CHECK(command == ". /proc/self/fd/9");
        CHECK(content == "exec 9<&-; echo a\\\n");
    }
}

TEST_CASE("a script is one argument, and a login shell is asked for by -l") {
    const ShellProgram bash = {"bash", "/bin/bash"};

    CHECK(shell_argv(bash, false, "echo 'a  b'") ==
          std::vector<std::string>{"/bin/bash", "-c", "echo 'a  b'"});
    CHECK(shell_argv(bash, true, "x") == std::vector<std::string>{"/bin/bash", "-lc", "x"});
}

TEST_SUITE_END();
