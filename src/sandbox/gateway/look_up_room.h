// How many look-ups of names the sandboxes of a server have under way: each is a process.
#pragma once

#include <cstddef>
#include <memory>

namespace ew::sandbox {

// Must live longer than the places in it.
class LookUpRoom {
public:
    static constexpr std::size_t most = 32;

    struct Leave {
        void operator()(LookUpRoom* room) const { --room->taken_; }
    };

    // Leaves the room at its end.
    using Place = std::unique_ptr<LookUpRoom, Leave>;

    // Returns nullptr if the room is full.
    Place enter() {
        if (taken_ >= most) return nullptr;
        ++taken_;
        return Place(this);
    }

private:
    std::size_t taken_ = 0;
};

} // namespace ew::sandbox
