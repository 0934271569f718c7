// Where the members of DLPack's structs lie on a machine of 64 bits; heddle/c_api.h is included before.
#pragma once

#include <cstddef>

static_assert(sizeof(heddle_tensor) == 48 && sizeof(heddle_managed_tensor) == 80);
static_assert(offsetof(heddle_tensor, data) == 0 && offsetof(heddle_tensor, device) == 8);
static_assert(offsetof(heddle_tensor, ndim) == 16 && offsetof(heddle_tensor, dtype) == 20);
static_assert(offsetof(heddle_tensor, shape) == 24 && offsetof(heddle_tensor, strides) == 32);
static_assert(offsetof(heddle_tensor, byte_offset) == 40);
static_assert(offsetof(heddle_managed_tensor, version) == 0 && offsetof(heddle_managed_tensor, manager_ctx) == 8);
static_assert(offsetof(heddle_managed_tensor, deleter) == 16 && offsetof(heddle_managed_tensor, flags) == 24);
static_assert(offsetof(heddle_managed_tensor, dl_tensor) == 32);
