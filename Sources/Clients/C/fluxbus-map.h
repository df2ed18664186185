/* Reads states of a bus without asking its daemon: `fluxbus_map_open`, then `fluxbus_map_read` as often as wanted, on any threads, and
 * `fluxbus_map_close`. It needs nothing else of the library, nor a library to link to.
 *
 * A map is a file in memory that has the state of every store of a type, kept by one writer and read by any number of
 * readers without a system call, a lock or a wait:
 *
 *   header | buckets | slots | blocks
 *
 * A bucket has half the hash of a store's name and the number of its slot. A slot has two places, and each place says where in the
 * blocks a state is: readers read the one that was published last, while the writer fills the other one. So a writer that dies in
 * the middle leaves what was there before, and a reader has to begin again only where a state was published while it copied.
 * Names are never taken out: a store that was dropped has no state, and a map that is full is followed by another one.
 *
 * Readers trust nothing in the file: what they find there is held to the size that they mapped, which the file's seals keep.
 * All numbers are in the machine's byte order; the file never leaves the machine. */
#ifndef FLUXBUS_MAP_H
#define FLUXBUS_MAP_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* "FLUXMAP1" */
static const uint64_t fluxbus_map_magic = 0x3150414d58554c46;
/* All parts begin at multiples of it: a line of the cache. */
static const uint64_t fluxbus_map_block = 64;
/* A place of a store that has no state, because it was dropped. */
static const uint32_t fluxbus_map_no_state = 0xffffffff;
/* How many buckets a name may be away from its own: where that is not enough the map is full. */
static const uint32_t fluxbus_map_reach = 64;
/* How often a reader begins again. A copy takes less time than most commits, so two in a row are rare. */
static const uint32_t fluxbus_map_attempts = 4096;

/* What has become of a map. */
static const uint32_t fluxbus_map_live = 1;
/* It has become too small, or who may read it has changed: ask for another one. */
static const uint32_t fluxbus_map_moved = 2;
/* Nobody keeps it any more: the bus has ended. */
static const uint32_t fluxbus_map_ended = 3;

typedef struct {
    uint64_t magic, size, seed, slots_begin;
    uint32_t state, buckets, slots, unused;
} fluxbus_map_header;

typedef struct {
    uint64_t revision;
    uint32_t block, length;
} fluxbus_map_place;

typedef struct {
    /* How often a state was published here; odd or even, it tells which place is the current one. */
    uint64_t sequence;
    uint32_t name_block, name_length;
    fluxbus_map_place places[2];
    uint64_t unused[2];
} fluxbus_map_slot;

/* A map in a process, as its header was when it was opened: what the header says later is not asked again. */
typedef struct {
    const uint8_t *base;
    const uint64_t *buckets;
    const fluxbus_map_slot *slots;
    uint64_t size, seed;
    uint32_t last_bucket, slot_count;
} fluxbus_map_view;

typedef enum {
    fluxbus_map_answer_state = 0,
    /* No store has the name, or it was dropped. */
    fluxbus_map_answer_none = 1,
    fluxbus_map_answer_moved = 2,
    fluxbus_map_answer_ended = 3,
    /* The state is longer than the buffer: `length` says how long. */
    fluxbus_map_answer_long = 4,
    /* States were published so fast that none could be copied. */
    fluxbus_map_answer_busy = 5,
    /* The file says what no writer writes. */
    fluxbus_map_answer_damaged = 6,
} fluxbus_map_answer;

/* Whether memory of that size has a map in it. */
static inline int fluxbus_map_find_parts(fluxbus_map_view *view, const void *base, uint64_t size) {
    const fluxbus_map_header *header = (const fluxbus_map_header *)base;
    if (size < sizeof(fluxbus_map_header) || header->magic != fluxbus_map_magic) return 0;
    if (header->size != size || size % fluxbus_map_block != 0) return 0;
    uint64_t buckets = header->buckets, slots = header->slots, begin = header->slots_begin;
    if (buckets == 0 || (buckets & (buckets - 1)) != 0 || begin % fluxbus_map_block != 0) return 0;
    if (begin < fluxbus_map_block + buckets * sizeof(uint64_t) || begin > size) return 0;
    if (slots > (size - begin) / sizeof(fluxbus_map_slot)) return 0;
    view->base = (const uint8_t *)base;
    view->buckets = (const uint64_t *)(view->base + fluxbus_map_block);
    view->slots = (const fluxbus_map_slot *)(view->base + begin);
    view->size = size;
    view->seed = header->seed;
    view->last_bucket = (uint32_t)(buckets - 1);
    view->slot_count = (uint32_t)slots;
    return 1;
}

/* Whoever names stores does not know the seed, so names that share a bucket can't be chosen. */
static inline uint64_t fluxbus_map_hash(uint64_t seed, const void *name, size_t length) {
    const uint8_t *bytes = (const uint8_t *)name;
    uint64_t hash = seed ^ length;
    while (length > 0) {
        uint64_t word = 0;
        size_t count = length < 8 ? length : 8;
        memcpy(&word, bytes, count);
        __extension__ typedef unsigned __int128 wide;
        wide product = (wide)(hash ^ word ^ 0x9e3779b97f4a7c15) * (seed | 1);
        hash = (uint64_t)product ^ (uint64_t)(product >> 64);
        bytes += count;
        length -= count;
    }
    return hash ^ (hash >> 29);
}

/* Whether so many bytes from a block on are in the map, up to a multiple of eight. */
static inline int fluxbus_map_holds(const fluxbus_map_view *view, uint32_t block, uint64_t length) {
    uint64_t begin = (uint64_t)block * fluxbus_map_block;
    return begin < view->size && ((length + 7) & ~(uint64_t)7) <= view->size - begin;
}

/* The slot of a name; -1 where there is none, -2 where the file is damaged. */
static inline int64_t fluxbus_map_find(const fluxbus_map_view *view, const void *name, size_t length) {
    uint64_t hash = fluxbus_map_hash(view->seed, name, length);
    for (uint32_t step = 0; step < fluxbus_map_reach; step++) {
        uint64_t bucket = __atomic_load_n(&view->buckets[(hash + step) & view->last_bucket], __ATOMIC_ACQUIRE);
        if (bucket == 0) return -1;
        if (bucket >> 32 != hash >> 32) continue;
        uint32_t number = (uint32_t)bucket - 1;
        if (number >= view->slot_count) return -2;
        const fluxbus_map_slot *slot = &view->slots[number];
        if (slot->name_length != length) continue;
        if (!fluxbus_map_holds(view, slot->name_block, length)) return -2;
        if (memcmp(view->base + slot->name_block * fluxbus_map_block, name, length) == 0) return number;
    }
    return -1;
}

/* Copies the state of a store, and says at which revision it came to be. `length` is set with `fluxbus_map_answer_long`, too. */
static inline fluxbus_map_answer fluxbus_map_read(
    const fluxbus_map_view *view, const void *name, size_t name_length, void *buffer, size_t room, size_t *length, uint64_t *revision) {
    fluxbus_map_answer answer = fluxbus_map_answer_none;
    int64_t number = fluxbus_map_find(view, name, name_length);
    if (number == -2) return fluxbus_map_answer_damaged;
    if (number >= 0) {
        const fluxbus_map_slot *slot = &view->slots[number];
        answer = fluxbus_map_answer_busy;
        for (uint32_t attempt = 0; attempt < fluxbus_map_attempts; attempt++) {
            uint64_t sequence = __atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE);
            const fluxbus_map_place *place = &slot->places[sequence & 1];
            uint32_t block = __atomic_load_n(&place->block, __ATOMIC_RELAXED);
            uint32_t count = __atomic_load_n(&place->length, __ATOMIC_RELAXED);
            *revision = __atomic_load_n(&place->revision, __ATOMIC_RELAXED);
            fluxbus_map_answer found = fluxbus_map_answer_state;
            if (count == fluxbus_map_no_state) {
                found = fluxbus_map_answer_none;
            } else if (!fluxbus_map_holds(view, block, count)) {
                found = fluxbus_map_answer_damaged;
            } else if (count > room) {
                found = fluxbus_map_answer_long;
            } else {
                const uint64_t *from = (const uint64_t *)(view->base + (uint64_t)block * fluxbus_map_block);
                uint8_t *to = (uint8_t *)buffer;
                uint32_t words = count / 8;
                for (uint32_t index = 0; index < words; index++) {
                    uint64_t word = __atomic_load_n(&from[index], __ATOMIC_RELAXED);
                    memcpy(to + index * (size_t)8, &word, 8);
                }
                if (count % 8 != 0) {
                    uint64_t word = __atomic_load_n(&from[words], __ATOMIC_RELAXED);
                    memcpy(to + words * (size_t)8, &word, count % 8);
                }
            }
            /* Whoever read a byte that the writer wrote since then sees that it has published since then, too. */
            __atomic_thread_fence(__ATOMIC_ACQUIRE);
            if (__atomic_load_n(&slot->sequence, __ATOMIC_RELAXED) == sequence) {
                *length = count;
                answer = found;
                break;
            }
        }
    }
    /* An answer counts only of a map that somebody still kept when it was given. */
    uint32_t state = __atomic_load_n(&((const fluxbus_map_header *)view->base)->state, __ATOMIC_ACQUIRE);
    if (state == fluxbus_map_live) return answer;
    return state == fluxbus_map_moved ? fluxbus_map_answer_moved : fluxbus_map_answer_ended;
}

/* Maps a file for reading, which may be closed then. -1: it has no map (`EINVAL`), or its size could change, so that reading it
 * might end the process (`EPERM`), or `errno` says why. */
static inline int fluxbus_map_adopt(fluxbus_map_view *view, int file) {
    const int get_seals = 1034, seal_shrink = 2; /* F_GET_SEALS and F_SEAL_SHRINK: the kernel's numbers, which the C library hides. */
    int seals = fcntl(file, get_seals);
    if (seals < 0 || (seals & seal_shrink) == 0) {
        errno = EPERM;
        return -1;
    }
    struct stat status;
    if (fstat(file, &status) != 0) return -1;
    size_t size = (size_t)status.st_size;
    if (size == 0) {
        errno = EINVAL;
        return -1;
    }
    void *base = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    if (base == MAP_FAILED) return -1;
    if (fluxbus_map_find_parts(view, base, size)) return 0;
    munmap(base, size);
    errno = EINVAL;
    return -1;
}

static inline void fluxbus_map_release(fluxbus_map_view *view) {
    munmap((void *)(uintptr_t)view->base, (size_t)view->size);
    view->base = NULL;
}

/* A map that a program has opened. */
typedef struct {
    fluxbus_map_view view;
    /* The connection by which it was asked for. The map is kept as long as it is open; it becomes readable when the bus ends it. */
    int connection;
} fluxbus_map;

/* Sends a request and waits for the line that answers it and the file that comes with it (-1: none). False where neither came. */
static inline int fluxbus_map_exchange(int connection, const char *request, char *line, size_t room, int *file) {
    size_t sent = 0, length = strlen(request), count = 0;
    *file = -1;
    while (sent < length) {
        ssize_t took = send(connection, request + sent, length - sent, MSG_NOSIGNAL);
        if (took < 0 && errno != EINTR) return 0;
        if (took > 0) sent += (size_t)took;
    }
    while (count + 1 < room && memchr(line, '\n', count) == NULL) {
        union {
            struct cmsghdr header;
            char space[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec piece = {line + count, room - 1 - count};
        struct msghdr message;
        memset(&message, 0, sizeof message);
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        ssize_t took = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
        if (took < 0 && errno == EINTR) continue;
        if (took <= 0) break;
        count += (size_t)took;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS && *file < 0)
            memcpy(file, CMSG_DATA(header), sizeof *file);
    }
    line[count] = 0;
    return count > 0;
}

/* Asks the bus that listens at the path of a Unix socket for the map of a type. It waits for the answer, for five seconds at most.
 *
 * 0: the map can be read. -1: `answer` has the line with which the bus refused it (its `error` has `code` and `message`), or it is
 * empty and `errno` says why the bus could not be asked. `EAGAIN`: the map ended just then; ask again. */
static inline int fluxbus_map_open(fluxbus_map *map, const char *path, const char *type, char *answer, size_t room) {
    char request[128];
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    memset(map, 0, sizeof *map);
    map->connection = -1;
    if (room > 0) answer[0] = 0;
    address.sun_family = AF_UNIX;
    int length = snprintf(request, sizeof request, "{\"op\":\"map\",\"type\":\"%s\"}\n", type);
    if (strlen(path) >= sizeof address.sun_path || length >= (int)sizeof request || room < 64 || strpbrk(type, "\"\\\n")) {
        errno = EINVAL;
        return -1;
    }
    strcpy(address.sun_path, path);
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), file = -1, failure = 0;
    if (connection < 0) return -1;
    struct timeval patience = {5, 0};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) {
        failure = errno;
    } else if (!fluxbus_map_exchange(connection, request, answer, room, &file)) {
        failure = errno == EAGAIN ? ETIMEDOUT : ECONNRESET;
    } else if (strstr(answer, "\"ok\":true") == NULL) {
        failure = ECONNREFUSED;
    } else if (file < 0) {
        failure = EAGAIN;
    } else if (fluxbus_map_adopt(&map->view, file) != 0) {
        failure = errno;
    }
    if (file >= 0) close(file);
    if (failure == 0) {
        answer[0] = 0;
        map->connection = connection;
        return 0;
    }
    if (failure != ECONNREFUSED) answer[0] = 0;
    close(connection);
    errno = failure;
    return -1;
}

/* Whether the daemon that keeps the map is still there. A system call: for once in a while, or when `connection` is readable. A daemon
 * that was killed can't say so in the map. */
static inline int fluxbus_map_is_kept(const fluxbus_map *map) {
    char byte;
    return recv(map->connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR);
}

static inline void fluxbus_map_close(fluxbus_map *map) {
    if (map->connection < 0) return;
    fluxbus_map_release(&map->view);
    close(map->connection);
    map->connection = -1;
}

#endif
