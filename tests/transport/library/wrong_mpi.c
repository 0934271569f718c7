/* Plug-ins for MPI, each wrong in one way. */
#include "transport/mpi_plugin.h"

#include <stddef.h>
#include <unistd.h>

#ifndef WRONG_NO_OPEN
static void close_it(heddle_mpi* mpi, int32_t clean) {
    (void)mpi;
    (void)clean;
}

HEDDLE_MPI_EXPORT int32_t heddle_mpi_open(heddle_mpi** mpi, const char** problem) {
    static heddle_mpi made;
    made.size = sizeof made;
    made.ranks = 1;
    made.name = "one process, always";
    made.close = close_it;
    *mpi = &made;
    *problem = NULL;
#ifdef WRONG_WAITS
    for (;;) pause(); /* for a process that never comes */
#endif
#ifdef WRONG_REFUSES
    *problem = "there is no network";
    return 1;
#endif
#ifdef WRONG_SIZE
    made.size--;
#endif
    return 0;
}
#endif

HEDDLE_MPI_EXPORT uint32_t heddle_mpi_version(void) {
#ifdef WRONG_VERSION
    return HEDDLE_MPI_VERSION + 1;
#else
    return HEDDLE_MPI_VERSION;
#endif
}
