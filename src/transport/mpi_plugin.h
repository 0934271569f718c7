/* MPI as a library that is loaded at run time: what Heddle needs of it, in C (docs/machines.md). The library is mpi_plugin.c,
   compiled against one's own MPI:
       mpicc -shared -fPIC -O2 -o libheddle_mpi.so mpi_plugin.c
   One thread calls at a time; no function waits for another process, but heddle_mpi_open. */
#ifndef HEDDLE_MPI_PLUGIN_H
#define HEDDLE_MPI_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every change of this file that is seen by a plugin. */
#define HEDDLE_MPI_VERSION 2u

/* A part of the memory of a message. */
typedef struct heddle_mpi_part {
    void* bytes;
    uint64_t size;
} heddle_mpi_part;

/* The program's messages; what Heddle says beside them. */
enum heddle_mpi_channel { HEDDLE_MPI_MESSAGES = 0, HEDDLE_MPI_CONTROL = 1 };

/* A message that has come and is not received yet. */
typedef struct heddle_mpi_found {
    void* message; /* null: there is none */
    int32_t from;
    int32_t label;
    uint64_t size;
} heddle_mpi_found;

/* A status of 0: done. Else it is not, and `problem` says why. */
typedef struct heddle_mpi {
    size_t size; /* sizeof(heddle_mpi): set by the plugin */
    int32_t rank, ranks;
    int32_t ranks_here;  /* that share this one's memory */
    const char* name;    /* of the library, for people */
    const char* problem; /* of the last call that was not done */

    /* All of the parts, fewer than 2^31 bytes, as one message. The memory stays as it is until the request is done. */
    int32_t (*send)(struct heddle_mpi* mpi, int32_t channel, int32_t to, int32_t label, const heddle_mpi_part* parts,
                    size_t count, void** request);
    /* `from` < 0: of any. What was found is to be received. */
    int32_t (*find)(struct heddle_mpi* mpi, int32_t channel, int32_t from, heddle_mpi_found* found);
    /* Parts of as many bytes together as were found. */
    int32_t (*receive)(struct heddle_mpi* mpi, void* message, const heddle_mpi_part* parts, size_t count,
                       void** request);
    /* A request that is done is gone. */
    int32_t (*test)(struct heddle_mpi* mpi, void* request, int32_t* done);
    /* No more calls follow. Not `clean`: when this process ends, all others are ended, too. */
    void (*close)(struct heddle_mpi* mpi, int32_t clean);
} heddle_mpi;

#if defined(__GNUC__)
#define HEDDLE_MPI_EXPORT __attribute__((visibility("default")))
#else
#define HEDDLE_MPI_EXPORT
#endif

/* What a plugin exports. The version is asked for first. */
HEDDLE_MPI_EXPORT uint32_t heddle_mpi_version(void);
/* Starts MPI, if nobody has, and fills in the rest. All processes call it, and wait for one another. Called again, it gives
   another such thing, of messages of its own. */
HEDDLE_MPI_EXPORT int32_t heddle_mpi_open(heddle_mpi** mpi, const char** problem);

#ifdef __cplusplus
}
#endif

#endif
