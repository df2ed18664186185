// An fdatasync that asks first: a test may let it wait, as a disk that hangs would.

#define _GNU_SOURCE

#include "CSyncGate.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(void (*)(int)) gate;

void sync_gate_set(void (*before)(int)) { atomic_store(&gate, before); }

// In the place of the C library's, for this program and the libraries that it loads.
int fdatasync(int descriptor) {
    void (*before)(int) = atomic_load(&gate);
    if (before) before(descriptor);
    return (int)syscall(SYS_fdatasync, descriptor);
}
