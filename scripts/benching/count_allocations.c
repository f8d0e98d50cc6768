// Counts the allocations of each thread of a process that has this library in LD_PRELOAD. The counts are in the file that
// COUNT_ALLOCATIONS_IN names: 4096 bytes, which allocations.py reads. Each counted call is passed on to glibc.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

enum { SLOTS = 255 };

struct slot {
    _Atomic uint64_t calls, bytes;
};

static struct table {
    _Atomic uint64_t threads, unused;
    struct slot slots[SLOTS];
} *table;

// One more than the index of the thread's slot. Access to a variable of this TLS model needs no allocation.
static __thread size_t mine __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("COUNT_ALLOCATIONS_IN");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *memory = mmap(NULL, sizeof(struct table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED) table = memory;
}

static void count(size_t size) {
    if (!table) return;
    if (!mine) {
        size_t index = atomic_fetch_add_explicit(&table->threads, 1, memory_order_relaxed);
        // More threads than slots share the last one.
        mine = (index < SLOTS ? index : SLOTS - 1) + 1;
    }
    struct slot *slot = &table->slots[mine - 1];
    atomic_fetch_add_explicit(&slot->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&slot->bytes, size, memory_order_relaxed);
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    // glibc refuses a product that overflows.
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    count(size);
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) || !alignment || (alignment & (alignment - 1))) return EINVAL;
    void *memory = memalign(alignment, size);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}
