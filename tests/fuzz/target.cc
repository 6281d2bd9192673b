// The entry point of libFuzzer. EXECWARD_SCENE is one of the functions of scenes.h.
#include "fuzz/scenes.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ew::fuzz::EXECWARD_SCENE({static_cast<const char*>(static_cast<const void*>(data)), size});
    return 0;
}
