#define _GNU_SOURCE
#include "CShims.h"

#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

void martlet_zero(void *bytes, size_t count) { explicit_bzero(bytes, count); }

int64_t martlet_boottime_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int martlet_spawn_in(posix_spawn_file_actions_t *actions, const char *directory) {
    // A socket that a program inherits stays open for as long as the program runs, whoever closes it here.
    int error = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    return error != 0 ? error : posix_spawn_file_actions_addchdir_np(actions, directory);
}

int martlet_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int martlet_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

int martlet_forbid_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

int martlet_allowed_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

void martlet_release_freed(void) { malloc_trim(0); }

// Memory that anything in this program gives back is overwritten first: a token passes through the buffers of many
// libraries, and none of them would do that. It costs about as much as reading the memory did (memset at memory speed).
// The C library keeps its own entry points for what replaces them. Sanitizers have an allocator of their own.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
extern void __libc_free(void *);
extern void *__libc_malloc(size_t);

static void wipe(void *bytes) {
    // The system takes the pages of a large block back at once, and clears them (IS_MMAPPED, the second bit of the size).
    if ((((size_t *)bytes)[-1] & 2) == 0) explicit_bzero(bytes, malloc_usable_size(bytes));
}

void free(void *bytes) {
    if (bytes == NULL) return;
    wipe(bytes);
    __libc_free(bytes);
}

void *realloc(void *bytes, size_t count) {
    if (bytes == NULL) return __libc_malloc(count);
    if (count == 0) {
        free(bytes);
        return NULL;
    }
    size_t had = malloc_usable_size(bytes);
    // In place, where that leaves at most half of the memory unused.
    if (count <= had && count >= had / 2) return bytes;
    void *moved = __libc_malloc(count);
    if (moved == NULL) return NULL;
    memcpy(moved, bytes, had < count ? had : count);
    free(bytes);
    return moved;
}
#endif
