// A part of a process whose complete type is known only in a higher room. That room creates and
// uses it; this room only keeps and deletes it.
#pragma once

#include <memory>

namespace ew::server {

// Converts from std::default_delete, which is instantiated where the type is complete.
template <class T>
class PartDeleter {
public:
    PartDeleter() = default;

    PartDeleter(std::default_delete<T>)
        : delete_([](T* part) { std::default_delete<T>()(part); }) {}

    void operator()(T* part) const { delete_(part); }

private:
    void (*delete_)(T*) = nullptr;
};

template <class T>
using Part = std::unique_ptr<T, PartDeleter<T>>;

} // namespace ew::server
