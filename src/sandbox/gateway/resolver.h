// The name server of a sandbox with a network by host. It gives each name an address that stands
// for the name (core/network/name_table.h). No query leaves the machine: a name is looked up only
// when a program connects to it and a rule allows that.
#pragma once

#include "base/unique_fd.h"
#include "core/network/name_table.h"

#include <string>
#include <string_view>

namespace ew::sandbox {

// Returns the answer to a message; empty: none. Adds the name to the table.
std::string answer_to(std::string_view message, core::NameTable& names);

class Resolver {
public:
    static constexpr int most_queries = 64; // in one turn of the loop

    // `datagrams` is bound to the port of the resolver.
    explicit Resolver(UniqueFd datagrams) : datagrams_(std::move(datagrams)) {}

    int fd() const { return datagrams_.get(); }

    // Never waits. A query whose answer has no room in the kernel is not answered.
    void on_ready(core::NameTable& names);

private:
    UniqueFd datagrams_;
};

} // namespace ew::sandbox
