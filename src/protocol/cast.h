// The messages of process/cast: what a terminal has shown, with its times, for a player.
#pragma once

#include "json/types.h"

#include <array>
#include <string>
#include <string_view>

namespace ew::protocol {

enum class CastFormat : std::uint8_t { v3, v2 };

struct CastParams {
    static constexpr bool refuses_others = true;
    std::string process_id = {};
    CastFormat format = CastFormat::v3;
};

template <class Visitor>
void fields(Visitor& visit, CastParams& params) {
    visit.required("processId", params.process_id);
    visit.optional("format", params.format);
}

struct CastResult {
    std::string cast = {}; // a whole file
    // False: the beginning of the output is no longer kept, and the cast begins later.
    bool complete = true;
};

template <class Visitor>
void fields(Visitor& visit, CastResult& result) {
    visit.required("cast", result.cast);
    visit.required("complete", result.complete);
}

} // namespace ew::protocol

namespace ew::json {

template <>
struct Names<protocol::CastFormat> {
    static constexpr std::array<std::string_view, 2> list = {"asciicast-v3", "asciicast-v2"};
};

} // namespace ew::json
