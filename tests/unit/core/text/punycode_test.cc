#include "core/text/punycode.h"

#include <doctest/doctest.h>

using ew::core::decoded_host;

TEST_CASE("a name in punycode is decoded as a person reads it") {
    CHECK(decoded_host("xn--bcher-kva.example") == "bücher.example");
    CHECK(decoded_host("www.xn--fiq228c.example") == "www.中文.example");
    // The first letter of this one is Cyrillic.
    CHECK(decoded_host("xn--pple-43d.com") == "\xd0\xb0pple.com");
}

TEST_CASE("what is no punycode stays as it is") {
    CHECK(decoded_host("registry.example.org") == std::nullopt);
    CHECK(decoded_host("xn--a_b.example") == std::nullopt);
    CHECK(decoded_host("xn--99999999999.example") == std::nullopt);
    for (const char* name : {"xn--good-.example", "xn--a-.example", "xn--.example"})
        CHECK(decoded_host(name) == std::nullopt);
    CHECK(decoded_host("") == std::nullopt);
}
