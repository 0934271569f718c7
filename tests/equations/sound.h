// What is asked of a system behind a pass.
#pragma once

#include <gtest/gtest.h>

#include "equations/system.h"

namespace heddle::equations::testing {

inline size_t live(const System& system) { return system.order().size(); }

inline void expect_sound(const System& system) {
    const auto sound = verify(system);
    EXPECT_TRUE(sound) << (sound ? "" : render(sound.error()));
}

}  // namespace heddle::equations::testing
