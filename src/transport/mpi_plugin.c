/* See mpi_plugin.h. Nothing of Heddle is needed but that file. */
#define _POSIX_C_SOURCE 199309L /* nanosleep */
#include "mpi_plugin.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Most messages have few parts. */
#define FEW_PARTS 16

typedef struct state {
    heddle_mpi shown; /* first: what is handed out */
    MPI_Comm channels[2];
    char problem[MPI_MAX_ERROR_STRING + 64];
} state;

static int opened = 0, dirty = 0, ours = 0;
static MPI_Comm all_of_us;

/* Whether all processes have come to their ends, too. Waiting in MPI_Finalize would keep a core busy. */
static int others_end(double seconds) {
    const struct timespec pause = {0, 1000000};
    const double begin = MPI_Wtime();
    MPI_Request request;
    int done = 0;
    if (MPI_Ibarrier(all_of_us, &request) != MPI_SUCCESS) return 0;
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        if (seconds > 0 && MPI_Wtime() - begin > seconds) return 0;
        nanosleep(&pause, NULL);
    }
    return done;
}

/* The last thing that the process does. After an error the others have a moment to say what they know, and are ended then:
   one of them may be stopped, or wait for ever. */
static void at_exit(void) {
    int finished = 0;
    MPI_Finalized(&finished);
    if (finished) return;
    fflush(NULL);
    if (!others_end(dirty || opened > 0 ? 1.0 : 0.0)) MPI_Abort(MPI_COMM_WORLD, 1);
    if (ours) MPI_Finalize();
}

static int32_t said(state* self, int status, const char* call) {
    int length = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    if (status == MPI_SUCCESS) return 0;
    MPI_Error_string(status, text, &length);
    snprintf(self->problem, sizeof self->problem, "%s: %s", call, text);
    return 1;
}

/* One type for all parts, by their addresses. */
static int type_of(const heddle_mpi_part* parts, size_t count, MPI_Datatype* type) {
    MPI_Aint few_addresses[FEW_PARTS], *addresses = few_addresses;
    int few_sizes[FEW_PARTS], *sizes = few_sizes;
    int status = MPI_ERR_NO_MEM;
    size_t i;
    if (count > FEW_PARTS) {
        addresses = malloc(count * sizeof *addresses);
        sizes = malloc(count * sizeof *sizes);
    }
    if (addresses && sizes) {
        for (i = 0; i < count; i++) {
            MPI_Get_address(parts[i].bytes, &addresses[i]);
            sizes[i] = (int)parts[i].size;
        }
        status = MPI_Type_create_hindexed((int)count, sizes, addresses, MPI_BYTE, type);
        if (status == MPI_SUCCESS) status = MPI_Type_commit(type);
    }
    if (addresses != few_addresses) free(addresses);
    if (sizes != few_sizes) free(sizes);
    return status;
}

static int32_t send_parts(heddle_mpi* mpi, int32_t channel, int32_t to, int32_t label, const heddle_mpi_part* parts,
                          size_t count, void** request) {
    state* self = (state*)mpi;
    MPI_Request* made = malloc(sizeof *made);
    MPI_Datatype type;
    int status = made ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    *request = NULL;
    if (made && count <= 1) {
        status = MPI_Isend(count ? parts->bytes : NULL, count ? (int)parts->size : 0, MPI_BYTE, to, label,
                           self->channels[channel], made);
    } else if (made) {
        status = type_of(parts, count, &type);
        if (status == MPI_SUCCESS) {
            status = MPI_Isend(MPI_BOTTOM, 1, type, to, label, self->channels[channel], made);
            MPI_Type_free(&type); /* when the request is done */
        }
    }
    if (status == MPI_SUCCESS) {
        *request = made;
    } else {
        free(made);
    }
    return said(self, status, "MPI_Isend");
}

static int32_t find(heddle_mpi* mpi, int32_t channel, int32_t from, heddle_mpi_found* found) {
    state* self = (state*)mpi;
    MPI_Message message;
    MPI_Status what;
    MPI_Count size = 0;
    int there = 0, status;
    found->message = NULL;
    status = MPI_Improbe(from < 0 ? MPI_ANY_SOURCE : from, MPI_ANY_TAG, self->channels[channel], &there, &message, &what);
    if (status != MPI_SUCCESS || !there) return said(self, status, "MPI_Improbe");
    MPI_Get_elements_x(&what, MPI_BYTE, &size);
    found->message = malloc(sizeof message);
    if (!found->message) return said(self, MPI_ERR_NO_MEM, "MPI_Improbe");
    memcpy(found->message, &message, sizeof message);
    found->from = what.MPI_SOURCE;
    found->label = what.MPI_TAG;
    found->size = (uint64_t)size;
    return 0;
}

static int32_t receive(heddle_mpi* mpi, void* message, const heddle_mpi_part* parts, size_t count, void** request) {
    state* self = (state*)mpi;
    MPI_Request* made = malloc(sizeof *made);
    MPI_Datatype type;
    int status = made ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    *request = NULL;
    if (made && count <= 1) {
        status = MPI_Imrecv(count ? parts->bytes : NULL, count ? (int)parts->size : 0, MPI_BYTE, message, made);
    } else if (made) {
        status = type_of(parts, count, &type);
        if (status == MPI_SUCCESS) {
            status = MPI_Imrecv(MPI_BOTTOM, 1, type, message, made);
            MPI_Type_free(&type);
        }
    }
    free(message);
    if (status == MPI_SUCCESS) {
        *request = made;
    } else {
        free(made);
    }
    return said(self, status, "MPI_Imrecv");
}

static int32_t test(heddle_mpi* mpi, void* request, int32_t* done) {
    int flag = 0;
    const int status = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    *done = flag;
    if (flag || status != MPI_SUCCESS) free(request);
    return said((state*)mpi, status, "MPI_Test");
}

static void close_it(heddle_mpi* mpi, int32_t clean) {
    state* self = (state*)mpi;
    opened--;
    if (!clean) dirty = 1;
    if (clean) { /* else there may be messages under way */
        MPI_Comm_free(&self->channels[0]);
        MPI_Comm_free(&self->channels[1]);
        free(self);
    }
}

/* How many processes share memory with this one: those of this machine. */
static int32_t count_here(void) {
    MPI_Comm here;
    int count = 1;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) != MPI_SUCCESS) return 1;
    MPI_Comm_size(here, &count);
    MPI_Comm_free(&here);
    return count;
}

static const char* start(void) {
    static int registered = 0;
    int started = 0, finished = 0, threads = 0;
    MPI_Initialized(&started);
    MPI_Finalized(&finished);
    if (finished) return "MPI was ended before in this process";
    if (!started) {
        if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &threads) != MPI_SUCCESS) return "MPI does not start";
        ours = 1;
    }
    MPI_Query_thread(&threads);
    if (threads < MPI_THREAD_SERIALIZED) return "this MPI is not for several threads (MPI_THREAD_SERIALIZED)";
    if (!registered && MPI_Comm_dup(MPI_COMM_WORLD, &all_of_us) != MPI_SUCCESS) return "MPI_Comm_dup fails";
    if (!registered) atexit(at_exit);
    registered = 1;
    return NULL;
}

HEDDLE_MPI_EXPORT uint32_t heddle_mpi_version(void) { return HEDDLE_MPI_VERSION; }

HEDDLE_MPI_EXPORT int32_t heddle_mpi_open(heddle_mpi** mpi, const char** problem) {
    static char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0, i;
    state* self = calloc(1, sizeof *self);
    *problem = self ? start() : "there is not enough memory";
    for (i = 0; i < 2 && !*problem; i++) {
        if (MPI_Comm_dup(MPI_COMM_WORLD, &self->channels[i]) != MPI_SUCCESS) *problem = "MPI_Comm_dup fails";
        if (!*problem) MPI_Comm_set_errhandler(self->channels[i], MPI_ERRORS_RETURN);
    }
    if (*problem) {
        free(self);
        return 1;
    }
    MPI_Get_library_version(name, &length);
    name[strcspn(name, "\r\n")] = 0;
    self->shown.size = sizeof(heddle_mpi);
    MPI_Comm_rank(self->channels[0], &self->shown.rank);
    MPI_Comm_size(self->channels[0], &self->shown.ranks);
    self->shown.ranks_here = count_here();
    self->shown.name = name;
    self->shown.problem = self->problem;
    self->shown.send = send_parts;
    self->shown.find = find;
    self->shown.receive = receive;
    self->shown.test = test;
    self->shown.close = close_it;
    opened++;
    *mpi = &self->shown;
    return 0;
}
