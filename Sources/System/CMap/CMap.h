/* The layout of a map: a file in memory that has the state of every store of a type, kept by one writer and read by any number of
 * readers without a system call, a lock or a wait.
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
#ifndef FLUXBUS_CMAP_H
#define FLUXBUS_CMAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* "FLUXMAP1" */
static const uint64_t map_magic = 0x3150414d58554c46;
/* All parts begin at multiples of it: a line of the cache. */
static const uint64_t map_block = 64;
/* A place of a store that has no state, because it was dropped. */
static const uint32_t map_no_state = 0xffffffff;
/* How many buckets a name may be away from its own: where that is not enough the map is full. */
static const uint32_t map_reach = 64;
/* How often a reader begins again. A copy takes less time than most commits, so two in a row are rare. */
static const uint32_t map_attempts = 4096;

/* What has become of a map. */
static const uint32_t map_live = 1;
/* There is another one, which has more room. */
static const uint32_t map_moved = 2;
/* Nobody keeps it any more: the bus has ended, or the type, or the right to read it. */
static const uint32_t map_ended = 3;

typedef struct {
    uint64_t magic, size, seed, slots_begin;
    uint32_t state, buckets, slots, unused;
} map_header;

typedef struct {
    uint64_t revision;
    uint32_t block, length;
} map_place;

typedef struct {
    /* How often a state was published here; odd or even, it tells which place is the current one. */
    uint64_t sequence;
    uint32_t name_block, name_length;
    map_place places[2];
    uint64_t unused[2];
} map_slot;

/* A map in a process, as its header was when it was opened: what the header says later is not asked again. */
typedef struct {
    const uint8_t *base;
    const uint64_t *buckets;
    const map_slot *slots;
    uint64_t size, seed;
    uint32_t last_bucket, slot_count;
} map_view;

typedef enum {
    map_answer_state = 0,
    /* No store has the name, or it was dropped. */
    map_answer_none = 1,
    map_answer_moved = 2,
    map_answer_ended = 3,
    /* The state is longer than the buffer: `length` says how long. */
    map_answer_long = 4,
    /* States were published so fast that none could be copied. */
    map_answer_busy = 5,
    /* The file says what no writer writes. */
    map_answer_damaged = 6,
} map_answer;

/* Whether memory of that size has a map in it. */
static inline int map_open(map_view *view, const void *base, uint64_t size) {
    const map_header *header = (const map_header *)base;
    if (size < sizeof(map_header) || header->magic != map_magic || header->size != size || size % map_block != 0) return 0;
    uint64_t buckets = header->buckets, slots = header->slots, begin = header->slots_begin;
    if (buckets == 0 || (buckets & (buckets - 1)) != 0 || begin % map_block != 0) return 0;
    if (begin < map_block + buckets * sizeof(uint64_t) || begin > size || slots > (size - begin) / sizeof(map_slot)) return 0;
    view->base = (const uint8_t *)base;
    view->buckets = (const uint64_t *)(view->base + map_block);
    view->slots = (const map_slot *)(view->base + begin);
    view->size = size;
    view->seed = header->seed;
    view->last_bucket = (uint32_t)(buckets - 1);
    view->slot_count = (uint32_t)slots;
    return 1;
}

/* Whoever names stores does not know the seed, so names that share a bucket can't be chosen. */
static inline uint64_t map_hash(uint64_t seed, const void *name, size_t length) {
    const uint8_t *bytes = (const uint8_t *)name;
    uint64_t hash = seed ^ length;
    while (length > 0) {
        uint64_t word = 0;
        size_t count = length < 8 ? length : 8;
        memcpy(&word, bytes, count);
        __uint128_t product = (__uint128_t)(hash ^ word ^ 0x9e3779b97f4a7c15) * (seed | 1);
        hash = (uint64_t)product ^ (uint64_t)(product >> 64);
        bytes += count;
        length -= count;
    }
    return hash ^ (hash >> 29);
}

/* Whether so many bytes from a block on are in the map, up to a multiple of eight. */
static inline int map_holds(const map_view *view, uint32_t block, uint64_t length) {
    uint64_t begin = (uint64_t)block * map_block;
    return begin < view->size && ((length + 7) & ~(uint64_t)7) <= view->size - begin;
}

/* The slot of a name; -1 where there is none, -2 where the file is damaged. */
static inline int64_t map_find(const map_view *view, const void *name, size_t length) {
    uint64_t hash = map_hash(view->seed, name, length);
    for (uint32_t step = 0; step < map_reach; step++) {
        uint64_t bucket = __atomic_load_n(&view->buckets[(hash + step) & view->last_bucket], __ATOMIC_ACQUIRE);
        if (bucket == 0) return -1;
        if (bucket >> 32 != hash >> 32) continue;
        uint32_t number = (uint32_t)bucket - 1;
        if (number >= view->slot_count) return -2;
        const map_slot *slot = &view->slots[number];
        if (slot->name_length != length) continue;
        if (!map_holds(view, slot->name_block, length)) return -2;
        if (memcmp(view->base + slot->name_block * map_block, name, length) == 0) return number;
    }
    return -1;
}

/* Copies the state of a store, and says at which revision it came to be. `length` is set with `map_answer_long`, too. */
static inline map_answer map_read(
    const map_view *view, const void *name, size_t name_length, void *buffer, size_t room, size_t *length, uint64_t *revision) {
    map_answer answer = map_answer_none;
    int64_t number = map_find(view, name, name_length);
    if (number == -2) return map_answer_damaged;
    if (number >= 0) {
        const map_slot *slot = &view->slots[number];
        answer = map_answer_busy;
        for (uint32_t attempt = 0; attempt < map_attempts; attempt++) {
            uint64_t sequence = __atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE);
            const map_place *place = &slot->places[sequence & 1];
            uint32_t block = __atomic_load_n(&place->block, __ATOMIC_RELAXED);
            uint32_t count = __atomic_load_n(&place->length, __ATOMIC_RELAXED);
            *revision = __atomic_load_n(&place->revision, __ATOMIC_RELAXED);
            map_answer found = map_answer_state;
            if (count == map_no_state) {
                found = map_answer_none;
            } else if (!map_holds(view, block, count)) {
                found = map_answer_damaged;
            } else if (count > room) {
                found = map_answer_long;
            } else {
                const uint64_t *from = (const uint64_t *)(view->base + (uint64_t)block * map_block);
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
    uint32_t state = __atomic_load_n(&((const map_header *)view->base)->state, __ATOMIC_ACQUIRE);
    if (state == map_live) return answer;
    return state == map_moved ? map_answer_moved : map_answer_ended;
}

/* The writer's part. It is one thread, and sees to it that slots, blocks and lengths are in the map. */

/* The bucket for a name that is not in the map; -1 where none is within reach. */
static inline int64_t map_free_bucket(const map_view *view, uint64_t hash) {
    for (uint32_t step = 0; step < map_reach; step++) {
        uint64_t index = (hash + step) & view->last_bucket;
        if (view->buckets[index] == 0) return (int64_t)index;
    }
    return -1;
}

/* Puts a store that has its name, and a state that was published, into a bucket. */
static inline void map_enter(void *base, int64_t bucket, uint64_t hash, uint32_t slot) {
    uint64_t *buckets = (uint64_t *)((uint8_t *)base + map_block);
    __atomic_store_n(&buckets[bucket], (hash >> 32 << 32) | (slot + 1), __ATOMIC_RELEASE);
}

/* Fills the place that nobody reads now. It is to be published, or filled again. */
static inline void map_fill(void *base, map_slot *slot, uint32_t block, const void *state, uint32_t length, uint64_t revision) {
    map_place *place = &slot->places[(slot->sequence + 1) & 1];
    /* What was published before comes before what is overwritten now. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&place->revision, revision, __ATOMIC_RELAXED);
    __atomic_store_n(&place->block, block, __ATOMIC_RELAXED);
    __atomic_store_n(&place->length, length, __ATOMIC_RELAXED);
    if (length == map_no_state) return;
    uint64_t *to = (uint64_t *)((uint8_t *)base + (uint64_t)block * map_block);
    const uint8_t *from = (const uint8_t *)state;
    for (uint32_t index = 0; index < length; index += 8) {
        uint64_t word = 0;
        memcpy(&word, from + index, length - index < 8 ? length - index : 8);
        __atomic_store_n(&to[index / 8], word, __ATOMIC_RELAXED);
    }
}

static inline void map_publish(map_slot *slot) { __atomic_store_n(&slot->sequence, slot->sequence + 1, __ATOMIC_RELEASE); }

/* Tells readers that the map is kept no more, and which of the two is why. */
static inline void map_close(void *base, uint32_t state) {
    __atomic_store_n(&((map_header *)base)->state, state, __ATOMIC_RELEASE);
}

#endif
