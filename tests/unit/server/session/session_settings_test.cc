#include "protocol/settings.h"
#include "server/session/session_settings.h"
#include "support/testing.h"

#include <string>
#include <vector>

using namespace ew::server;
using ew::config::Enforcement;

TEST_SUITE_BEGIN("server/session_settings");

TEST_CASE("settings of the confinement change one by one") {
    SessionSettings settings;
    settings.config.confinement.writable_roots = {"/a"};
    settings.config.confinement.deny_read = {"/b"};
    settings.config.confinement.enforcement = Enforcement::best_effort;

    ew::protocol::Settings changes;
    changes.confinement.emplace().network_access = true;
    apply(settings, changes);

    const ew::config::ConfinementOptions& confinement = settings.config.confinement;
    CHECK(confinement.network_access);
    CHECK(confinement.writable_roots == std::vector<std::string>{"/a"});
    CHECK(confinement.deny_read == std::vector<std::string>{"/b"});
    CHECK(confinement.enforcement == Enforcement::best_effort);
    CHECK_FALSE(confinement.shared_tmp);
}

TEST_CASE("lists of the confinement are replaced, also by empty ones") {
    SessionSettings settings;
    settings.config.confinement.writable_roots = {"/a"};
    settings.config.confinement.deny_read = {"/b"};

    ew::protocol::Settings changes;
    changes.confinement.emplace().writable_roots.emplace().push_back({"/c"});
    changes.confinement->deny_read.emplace();
    apply(settings, changes);

    CHECK(settings.config.confinement.writable_roots == std::vector<std::string>{"/c"});
    CHECK(settings.config.confinement.deny_read.empty());
}

TEST_CASE("what is in force is told in full, and taken back as it is") {
    SessionSettings settings;
    ew::config::ConfinementOptions& confinement = settings.config.confinement;
    confinement = {{"/a"}, {"/b"}, true,     true, true,
                   "",     true,   true,     true, Enforcement::best_effort,
                   true,   false,  {".idea"}};

    const ew::protocol::Settings wire = to_wire(settings);
    SessionSettings other;
    apply(other, wire);

    const ew::config::ConfinementOptions& again = other.config.confinement;
    CHECK(again.writable_roots == confinement.writable_roots);
    CHECK(again.deny_read == confinement.deny_read);
    CHECK(again.network_access);
    CHECK(again.network_by_host);
    CHECK(again.network_observe);
    CHECK(again.shared_tmp);
    CHECK(again.exclude_slash_tmp);
    CHECK(again.exclude_tmpdir_env_var);
    CHECK(again.enforcement == Enforcement::best_effort);
    CHECK(again.report_writes);
    CHECK_FALSE(again.private_caches);
    CHECK(again.read_only == confinement.read_only);
}

TEST_CASE("a policy with everything at its default says so too") {
    const ew::protocol::Settings wire = to_wire(SessionSettings());

    REQUIRE(wire.confinement.has_value());
    CHECK(wire.confinement->enforcement == ew::protocol::Enforcement::require);
    CHECK(wire.confinement->network_access == false);
    CHECK(wire.confinement->writable_roots->empty());
}

TEST_SUITE_END();
