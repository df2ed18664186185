#define _GNU_SOURCE
#include "CLinux.h"

#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct linux_ring {
    int fd;
    /* Submissions and completions share one mapping. */
    void *rings;
    size_t rings_size;
    struct io_uring_sqe *entries;
    size_t entries_size;
    unsigned *tail, *order, *done_head, *done_tail;
    unsigned mask, done_mask;
    const struct io_uring_cqe *done;
};

linux_ring *linux_ring_create(unsigned most) {
    struct io_uring_params parameters = {0};
    linux_ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL) return NULL;
    ring->fd = (int)syscall(SYS_io_uring_setup, most, &parameters);
    if (ring->fd < 0) {
        free(ring);
        return NULL;
    }
    size_t submissions = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
    size_t completions = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe);
    ring->rings_size = submissions > completions ? submissions : completions;
    ring->entries_size = parameters.sq_entries * sizeof(struct io_uring_sqe);
    ring->rings = mmap(NULL, ring->rings_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
    ring->entries = mmap(NULL, ring->entries_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
    /* Kernels that can send without waiting have both. */
    unsigned needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_FAST_POLL;
    if ((parameters.features & needed) != needed || ring->rings == MAP_FAILED || ring->entries == MAP_FAILED) {
        linux_ring_free(ring);
        return NULL;
    }
    char *base = ring->rings;
    ring->tail = (unsigned *)(base + parameters.sq_off.tail);
    ring->mask = *(unsigned *)(base + parameters.sq_off.ring_mask);
    ring->order = (unsigned *)(base + parameters.sq_off.array);
    ring->done_head = (unsigned *)(base + parameters.cq_off.head);
    ring->done_tail = (unsigned *)(base + parameters.cq_off.tail);
    ring->done_mask = *(unsigned *)(base + parameters.cq_off.ring_mask);
    ring->done = (const struct io_uring_cqe *)(base + parameters.cq_off.cqes);
    return ring;
}

void linux_ring_free(linux_ring *ring) {
    if (ring->rings != MAP_FAILED) munmap(ring->rings, ring->rings_size);
    if (ring->entries != MAP_FAILED) munmap(ring->entries, ring->entries_size);
    close(ring->fd);
    free(ring);
}

/* Takes what is done, and returns how many that were. */
static size_t take_done(linux_ring *ring, linux_sending *sendings) {
    unsigned head = *ring->done_head, first = head, end = __atomic_load_n(ring->done_tail, __ATOMIC_ACQUIRE);
    for (; head != end; head++) {
        const struct io_uring_cqe *done = &ring->done[head & ring->done_mask];
        sendings[done->user_data].result = done->res;
    }
    __atomic_store_n(ring->done_head, head, __ATOMIC_RELEASE);
    return head - first;
}

int linux_ring_send(linux_ring *ring, linux_sending *sendings, size_t count) {
    unsigned tail = *ring->tail;
    for (size_t i = 0; i < count; i++) {
        unsigned place = (tail + (unsigned)i) & ring->mask;
        ring->entries[place] = (struct io_uring_sqe){
            .opcode = IORING_OP_SEND, .fd = sendings[i].fd, .addr = (uintptr_t)sendings[i].bytes,
            .len = (uint32_t)sendings[i].count, .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL, .user_data = i};
        ring->order[place] = place;
        sendings[i].result = -EINTR;
    }
    __atomic_store_n(ring->tail, tail + (unsigned)count, __ATOMIC_RELEASE);
    size_t submitted = 0, done = 0;
    int calls = 0;
    while (done < count) {
        long entered = syscall(SYS_io_uring_enter, ring->fd, (unsigned)(count - submitted), (unsigned)(count - done),
                               IORING_ENTER_GETEVENTS, NULL, 0);
        calls++;
        if (entered >= 0) submitted += (size_t)entered;
        done += take_done(ring, sendings);
        if (entered >= 0 || errno == EINTR || done < submitted) continue;
        /* The kernel takes no more now: the rest is not sent. */
        __atomic_store_n(ring->tail, tail + (unsigned)submitted, __ATOMIC_RELEASE);
        break;
    }
    return calls;
}
