/* What the daemon writes into a map. How it is laid out, and read, stands in the header for programs. */
#ifndef FLUXBUS_CMAP_H
#define FLUXBUS_CMAP_H

#include "../../Clients/C/fluxbus-map.h"

/* The writer's part. It is one thread, and sees to it that slots, blocks and lengths are in the map. */

/* The bucket for a name that is not in the map; -1 where none is within reach. */
static inline int64_t fluxbus_map_free_bucket(const fluxbus_map_view *view, uint64_t hash) {
    for (uint32_t step = 0; step < fluxbus_map_reach; step++) {
        uint64_t index = (hash + step) & view->last_bucket;
        if (view->buckets[index] == 0) return (int64_t)index;
    }
    return -1;
}

/* Puts a store that has its name, and a state that was published, into a bucket. */
static inline void fluxbus_map_enter(void *base, int64_t bucket, uint64_t hash, uint32_t slot) {
    uint64_t *buckets = (uint64_t *)((uint8_t *)base + fluxbus_map_block);
    __atomic_store_n(&buckets[bucket], (hash >> 32 << 32) | (slot + 1), __ATOMIC_RELEASE);
}

/* Fills the place that nobody reads now. It is to be published, or filled again. */
static inline void fluxbus_map_fill(
    void *base, fluxbus_map_slot *slot, uint32_t block, const void *state, uint32_t length, uint64_t revision) {
    fluxbus_map_place *place = &slot->places[(slot->sequence + 1) & 1];
    /* What was published before comes before what is overwritten now. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&place->revision, revision, __ATOMIC_RELAXED);
    __atomic_store_n(&place->block, block, __ATOMIC_RELAXED);
    __atomic_store_n(&place->length, length, __ATOMIC_RELAXED);
    if (length == fluxbus_map_no_state) return;
    uint64_t *to = (uint64_t *)((uint8_t *)base + (uint64_t)block * fluxbus_map_block);
    const uint8_t *from = (const uint8_t *)state;
    for (uint32_t index = 0; index < length; index += 8) {
        uint64_t word = 0;
        memcpy(&word, from + index, length - index < 8 ? length - index : 8);
        __atomic_store_n(&to[index / 8], word, __ATOMIC_RELAXED);
    }
}

static inline void fluxbus_map_publish(fluxbus_map_slot *slot) {
    __atomic_store_n(&slot->sequence, slot->sequence + 1, __ATOMIC_RELEASE);
}

/* Tells readers that the map is kept no more, and which of the two is why. */
static inline void fluxbus_map_end(void *base, uint32_t state) {
    __atomic_store_n(&((fluxbus_map_header *)base)->state, state, __ATOMIC_RELEASE);
}

#endif
