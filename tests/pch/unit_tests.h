// Precompiled for the unit tests; see src/pch/standard.h.
#include "pch/standard.h"
#include "support/testing.h"

#include <filesystem>
#include <fstream>
