// The process that carries a launch out: `execward-init start FD`. It waits for its order and for
// the descriptors that the order names, so it may be begun before they are known.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

#include <sys/types.h>

#include <span>
#include <string>

namespace ew::sandbox {

class StartProcess {
public:
    // Returns when the child executes `init`. Without an order it ends with this object. Errors: no
    // more processes or descriptors; `init` cannot be executed.
    static Result<StartProcess> begin(std::string init);

    const std::string& init() const { return init_; }

    // Returns false if the process has ended, or has an order already. After that its number may be
    // that of another one.
    bool take(const std::string& order, std::span<const int> descriptors);

    bool has_order() const { return !orders_; }

    pid_t pid() const { return pid_; }

private:
    StartProcess(std::string init, UniqueFd orders, pid_t pid)
        : init_(std::move(init)), orders_(std::move(orders)), pid_(pid) {}

    std::string init_;
    UniqueFd orders_;
    pid_t pid_ = 0;
};

} // namespace ew::sandbox
