// A part of a process whose type only a room above this one knows. The room that makes it opens it;
// here it is only kept, and deleted.
#pragma once

#include <memory>

namespace ew::server {

// Takes over from std::default_delete, which is instantiated where the type is complete.
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
