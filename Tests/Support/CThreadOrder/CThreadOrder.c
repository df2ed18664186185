// Tells the thread sanitizer what Swift's `Mutex` orders.
//
// Locking a mutex that is free is inlined, so that the sanitizer sees it. Waiting for one and waking whoever waits
// happen in the library, which is not instrumented: whatever a contended mutex guards would be reported as a race. These
// stand in front of the library's functions, call them, and say what they have done.

#define _GNU_SOURCE

#if __has_feature(thread_sanitizer)

#include <dlfcn.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// _MutexHandle._lockSlow(_:) and _MutexHandle._unlockSlow()
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK_SLOW);
SWIFT void unlock_slow(SELF void *mutex) __asm__(UNLOCK_SLOW);

static SWIFT void (*next_lock_slow)(uint32_t, SELF void *);
static SWIFT void (*next_unlock_slow)(SELF void *);

__attribute__((constructor)) static void find_next(void) {
    next_lock_slow = (SWIFT void (*)(uint32_t, SELF void *))dlsym(RTLD_NEXT, LOCK_SLOW);
    next_unlock_slow = (SWIFT void (*)(SELF void *))dlsym(RTLD_NEXT, UNLOCK_SLOW);
}

SWIFT void lock_slow(uint32_t thread, SELF void *mutex) {
    next_lock_slow(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF void *mutex) {
    __tsan_release(mutex);
    next_unlock_slow(mutex);
}

#endif
