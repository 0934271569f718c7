/* That a plugin may be written in C: it is compiled as C99, and never run. */
#include "plugins/plugin_api.h"

uint32_t heddle_plugin_version(void) { return HEDDLE_PLUGIN_VERSION; }

heddle_status heddle_plugin_open(heddle_backend* backend, heddle_sink problem) {
    backend->size = sizeof *backend;
    problem.append(problem.owner, "no device", 9);
    return 1;
}
