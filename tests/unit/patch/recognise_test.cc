#include "patch/recognise.h"
#include "support/testing.h"

#include <string>
#include <vector>

using ew::ErrorKind;
using ew::Result;
using ew::patch::PatchCall;
using ew::patch::recognise;

namespace {

const std::string body = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";

// "PATCH", "DIRECTORY: PATCH", "none" or "error".
std::string seen(const std::vector<std::string>& argv) {
    Result<std::optional<PatchCall>> call = recognise(argv);
    if (!call) {
        CHECK(call.error().kind == ErrorKind::invalid_params);
        CHECK_FALSE(call.error().hint.empty());
        return "error";
    }
    if (!*call) return "none";
    return (*call)->directory.empty() ? (*call)->patch : (*call)->directory + ": " + (*call)->patch;
}

std::string seen_in(const std::string& script) {
    return seen({"bash", "-lc", script});
}

} // namespace

TEST_SUITE_BEGIN("patch/recognise");

TEST_CASE("apply_patch with one argument is a patch, whatever the argument is") {
    CHECK(seen({"apply_patch", body}) == body);
    CHECK(seen({"applypatch", body}) == body);
    CHECK(seen({"apply_patch", "nonsense"}) == "nonsense");
    CHECK(seen({"apply_patch"}) == "none");
    CHECK(seen({"apply_patch", body, body}) == "none");
    CHECK(seen({"patch", body}) == "none");
    CHECK(seen({"/usr/bin/apply_patch", body}) == "none");
    CHECK(seen({}) == "none");
}

TEST_CASE("a script that only calls apply_patch with a here-document is a patch") {
    CHECK(seen_in("apply_patch <<'EOF'\n" + body + "EOF\n") == body);
    CHECK(seen_in("applypatch << \"EOF\"\n" + body + "EOF") == body);
    CHECK(seen_in("\n apply_patch<<PATCH_1 \n" + body + "PATCH_1\n\n") == body);
    CHECK(seen({"sh", "-c", "apply_patch <<EOF\n" + body + "EOF\n"}) == body);
    CHECK(seen({"/usr/bin/zsh", "-c", "apply_patch <<EOF\n" + body + "EOF\n"}) == body);
    CHECK(seen({"dash", "-c", "apply_patch <<EOF\n" + body + "EOF\n"}) == body);
}

TEST_CASE("the body is taken as it is, with or without quotes around its delimiter") {
    const std::string tricky = "+$HOME `id` \\ \\$x\n";
    CHECK(seen_in("apply_patch <<EOF\n" + tricky + "EOF\n") == tricky);
    CHECK(seen_in("apply_patch <<'EOF'\n" + tricky + "EOF\n") == tricky);
}

TEST_CASE("the directory of a cd in front is told") {
    const std::string call = "apply_patch <<'EOF'\n" + body + "EOF\n";
    CHECK(seen_in("cd src && " + call) == "src: " + body);
    CHECK(seen_in("cd /a/b-c_d.e&&" + call) == "/a/b-c_d.e: " + body);
    CHECK(seen_in("cd 'a b' && " + call) == "a b: " + body);
    CHECK(seen_in("cd \"a 'b'\" &&\n  " + call) == "a 'b': " + body);
}

TEST_CASE("any other script is no patch") {
    const std::string call = "apply_patch <<'EOF'\n" + body + "EOF\n";
    for (const char* before : {"cd a; ",
                               "cd a || ",
                               "cd a | ",
                               "cd a & ",
                               "cd && ",
                               "cd -P a && ",
                               "cd +1 && ",
                               "cd -- a && ",
                               "cd - && ",
                               "cd a b && ",
                               "cd $HOME && ",
                               "cd ~ && ",
                               "cd a* && ",
                               "cd \"$d\" && ",
                               "cd 'a'b && ",
                               "cd \"a\\b\" && ",
                               "cd '' && ",
                               "cd 'a && ",
                               "cd a && cd b && ",
                               "cda && ",
                               "echo hi && ",
                               "true; ",
                               "X=1 ",
                               "sudo ",
                               "# note\n",
                               "{ ",
                               "! ",
                               "cd =a && "})
        CHECK_MESSAGE(seen_in(before + call) == "none", before);
    for (const char* after : {"echo done\n", "&& true\n", "x", "# note\n", ";", "}"})
        CHECK_MESSAGE(seen_in(call + after) == "none", after);
    for (const char* middle : {"-v ", "- ", "2>&1 ", "> out "})
        CHECK_MESSAGE(seen_in("apply_patch " + std::string(middle) + call.substr(12)) == "none",
                      middle);
    for (const char* first : {"<<'EOF' && echo", "<<'EOF' -", "<<-EOF", "<<- EOF", "<<<EOF", "<<",
                              "<<$E", "<<'E'OF", "<<'EOF", "<<\\EOF", "< EOF"})
        CHECK_MESSAGE(
            seen_in("apply_patch " + std::string(first) + "\n" + body + "EOF\n") == "none", first);
}

TEST_CASE("a here-document that does not end is no patch") {
    CHECK(seen_in("apply_patch <<'EOF'\n" + body) == "none");
    CHECK(seen_in("apply_patch <<'EOF'\n" + body + " EOF\n") == "none");
    CHECK(seen_in("apply_patch <<'EOF'") == "none");
}

TEST_CASE("other programs, flags and arguments are no patch") {
    const std::string call = "apply_patch <<'EOF'\n" + body + "EOF\n";
    CHECK(seen({"python3", "-c", call}) == "none");
    CHECK(seen({"./bash", "-c", call}) == "none");
    CHECK(seen({"bash", "-ec", call}) == "none");
    CHECK(seen({"bash", call}) == "none");
    CHECK(seen({"bash", "-c", call, "arg"}) == "none");
    CHECK(seen({"bash", "-c", "apply_patch '" + body + "'"}) == "none");
    CHECK(seen({"bash", "-c", "git status"}) == "none");
}

TEST_CASE("a patch in place of a command asks for the call") {
    CHECK(seen({body}) == "error");
    CHECK(seen({"  \n" + body}) == "error");
    CHECK(seen_in(body) == "error");
    CHECK(seen_in("\n*** Begin Patch\n") == "error");
    CHECK(seen({"bash", "-x", body}) == "none");
    CHECK(seen({"*** Begin Patchwork"}) == "none");
}

TEST_SUITE_END();
