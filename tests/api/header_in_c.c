/* The interface is C11, and needs nothing before it. */
#include "heddle/c_api.h"

#include "plugins/plugin_api.h" /* one program may use both */

const unsigned heddle_test_version = HEDDLE_API_VERSION;
