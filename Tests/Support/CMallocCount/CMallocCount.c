#include "CMallocCount.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static __thread unsigned long count;
static __thread long kept;

unsigned long malloc_count(void) { return count; }

long malloc_kept(void) { return kept; }

static void *taken(void *memory) {
    count++;
    kept += (long)malloc_usable_size(memory);
    return memory;
}

void *malloc(size_t size) { return taken(__libc_malloc(size)); }

void *calloc(size_t number, size_t size) { return taken(__libc_calloc(number, size)); }

void *realloc(void *memory, size_t size) {
    const long before = (long)malloc_usable_size(memory);
    void *moved = __libc_realloc(memory, size);
    // Nothing has changed where there was no room.
    if (moved || size == 0) kept -= before;
    return taken(moved);
}

void free(void *memory) {
    kept -= (long)malloc_usable_size(memory);
    __libc_free(memory);
}

void *aligned_alloc(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    void *made = taken(__libc_memalign(alignment, size));
    if (!made) return ENOMEM;
    *memory = made;
    return 0;
}
