// doctest for files that include headers of src. Both define the macro CHECK; in a test it is
// doctest's.
#pragma once

#include "base/result.h" // the one header whose code uses the CHECK of base/check.h

#undef CHECK
#include <doctest/doctest.h>
