// Result<T>: a value or an Error. TRY passes the error up.
#pragma once

#include "base/check.h"
#include "base/error.h"

#include <optional>
#include <utility>
#include <variant>

namespace ew {

template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}

    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return state_.index() == 0; }

    T& operator*() {
        CHECK(state_.index() == 0);
        return *std::get_if<0>(&state_);
    }

    T* operator->() { return &**this; }

    Error& error() {
        CHECK(state_.index() == 1);
        return *std::get_if<1>(&state_);
    }

private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;

    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const { return !error_; }

    std::monostate& operator*() { return nothing_; } // lets TRY work for Result<void> too

    Error& error() {
        CHECK(error_.has_value());
        return *error_;
    }

private:
    std::optional<Error> error_;
    std::monostate nothing_;
};

} // namespace ew

// Evaluates to the value of a Result. On an error, returns the error from the enclosing function.
#define TRY(expression)                                                                            \
    __extension__({                                                                                \
        auto try_result = (expression);                                                            \
        if (!try_result) return std::move(try_result.error());                                     \
        std::move(*try_result);                                                                    \
    })
