// Runs the unit tests. A case that leaves a descriptor or a child process behind makes the run
// fail, and is named.
#define DOCTEST_CONFIG_IMPLEMENT
#include "os/io.h"
#include "os/proc.h"
#include "support/testing.h"

// For its implementation, which testing.h lacks if it is precompiled.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

struct Holdings {
    std::size_t descriptors = 0;
    std::size_t children = 0;
};

Holdings count_holdings() {
    Holdings holdings;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        ++holdings.descriptors;
    holdings.children = ew::os::children_of(::getpid()).size();
    return holdings;
}

std::vector<std::string> leftovers; // sentences about cases that did not clean up

class LeakListener : public doctest::IReporter {
public:
    explicit LeakListener(const doctest::ContextOptions&) {}

    void test_case_start(const doctest::TestCaseData& test_case) override {
        name_ = test_case.m_name;
        before_ = count_holdings();
    }

    void test_case_end(const doctest::CurrentTestCaseStats&) override {
        const Holdings after = count_holdings();
        compare("descriptors", before_.descriptors, after.descriptors);
        compare("child processes", before_.children, after.children);
    }

    void report_query(const doctest::QueryData&) override {}

    void test_run_start() override {}

    void test_run_end(const doctest::TestRunStats&) override {}

    void test_case_reenter(const doctest::TestCaseData&) override {}

    void test_case_exception(const doctest::TestCaseException&) override {}

    void subcase_start(const doctest::SubcaseSignature&) override {}

    void subcase_end() override {}

    void log_assert(const doctest::AssertData&) override {}

    void log_message(const doctest::MessageData&) override {}

    void test_case_skipped(const doctest::TestCaseData&) override {}

private:
    void compare(const char* what, std::size_t before, std::size_t after) {
        if (before == after) return;
        leftovers.push_back("\"" + name_ + "\" left " + std::to_string(after) + " " + what +
                            ", there were " + std::to_string(before));
    }

    std::string name_;
    Holdings before_;
};

REGISTER_LISTENER("leaks", 1, LeakListener);

} // namespace

int main(int argc, char** argv) {
    // Whoever ran the tests in the background may have had signals ignored, and programs inherit
    // that.
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE})
        (void)std::signal(signal, SIG_DFL);
    ew::os::mark_inherited_descriptors_close_on_exec(); // those of whoever runs the tests
    doctest::Context context(argc, argv);
    const int status = context.run();
    for (const std::string& sentence : leftovers)
        std::fprintf(stderr, "leak: %s\n", sentence.c_str());
    return leftovers.empty() ? status : 1;
}
