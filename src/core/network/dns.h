// The messages of the domain name system, as far as a resolver needs them that knows every answer
// itself (RFC 1035): one question, and an answer without compression of other names than its own.
#pragma once

#include "core/network/internet.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ew::core::dns {

enum class Type : std::uint16_t { a = 1, ptr = 12 }; // of the types, those with an answer

struct Query {
    std::uint16_t id = 0;
    bool wants_recursion = false;
    std::string question = {}; // its bytes, for the answer
    std::string name = {};     // labels joined by '.', as sent; empty: the root, or not printable
    std::uint16_t type = 0;
    bool is_internet = false; // its class
};

// Returns nullopt for what is no query with exactly one question. What follows the question
// (EDNS, cookies) is not read.
std::optional<Query> read_query(std::string_view bytes);

enum class Code : std::uint8_t { fine = 0, failed = 2, no_such_name = 3, refused = 5 };

// An answer without data: the name has nothing of that type, or the code says why.
std::string empty_answer(const Query& query, Code code);

std::string address_answer(const Query& query, const Internet& ipv4);

// `name` is a valid name of a host.
std::string name_answer(const Query& query, std::string_view name);

// The IPv4 address that a name of in-addr.arpa stands for.
std::optional<Internet> reverse_of(std::string_view name);

constexpr std::size_t longest_answer = 1024; // bytes; each answer is shorter
constexpr std::size_t longest_query = 4096;  // longer ones are not read

} // namespace ew::core::dns
