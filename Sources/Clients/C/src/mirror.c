/*
 * The states of stores, by address, kept as they are on the bus. A change may come in several parts; it is shown when all are there.
 * It costs what it changes, however many stores there are.
 */
#include "subscription.h"

#include <stdlib.h>

/* -- Tables -- */

static size_t hash_of(const char *name, size_t length) {
    /* Where the library was loaded is different in each process: nobody can choose addresses that collide. */
    uint64_t hash = 14695981039346656037u ^ (uint64_t)(uintptr_t)&hash_of;
    for (size_t index = 0; index < length; index++) hash = (hash ^ (unsigned char)name[index]) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32);
}

/* The slot with the name, or the free one where it belongs. */
static struct slot *slot_of(const table *table, const char *name, size_t length, size_t hash) {
    for (size_t at = hash;; at++) {
        struct slot *slot = &table->slots[at & (table->room - 1)];
        bool is_free = !slot->name;
        if (is_free || (slot->hash == hash && slot->name->count == length && !memcmp(text_of(slot->name), name, length))) return slot;
    }
}

static struct slot *find(const table *table, const char *name, size_t length) {
    if (!table->count) return NULL;
    struct slot *slot = slot_of(table, name, length, hash_of(name, length));
    return slot->name ? slot : NULL;
}

fluxbus_json *table_get(const table *table, const char *name, size_t length) {
    struct slot *slot = find(table, name, length);
    return slot ? slot->value : NULL;
}

bool table_has(const table *table, const fluxbus_json *name) { return find(table, text_of(name), name->count); }

void table_set(table *table, const fluxbus_json *name, fluxbus_json *value) {
    if (2 * table->count >= table->room) {
        struct table larger = {.room = table->room ? 2 * table->room : 8, .count = table->count};
        larger.slots = reallocate(NULL, larger.room, sizeof *larger.slots);
        memset(larger.slots, 0, larger.room * sizeof *larger.slots);
        for (size_t index = 0; index < table->room; index++) {
            struct slot *slot = &table->slots[index];
            if (slot->name) *slot_of(&larger, text_of(slot->name), slot->name->count, slot->hash) = *slot;
        }
        free(table->slots);
        *table = larger;
    }
    size_t hash = hash_of(text_of(name), name->count);
    struct slot *slot = slot_of(table, text_of(name), name->count, hash);
    if (slot->name) {
        fluxbus_json_release(slot->value);
        slot->value = value;
    } else {
        *slot = (struct slot){fluxbus_json_retain(name), value, hash};
        table->count++;
    }
}

void table_remove(table *table, const fluxbus_json *name) {
    struct slot *slot = find(table, text_of(name), name->count);
    if (!slot) return;
    fluxbus_json_release(slot->name);
    fluxbus_json_release(slot->value);
    table->count--;
    /* Those behind it that belong before it move up. */
    size_t mask = table->room - 1, hole = (size_t)(slot - table->slots);
    for (size_t at = (hole + 1) & mask; table->slots[at].name; at = (at + 1) & mask) {
        if (((at - table->slots[at].hash) & mask) < ((at - hole) & mask)) continue;
        table->slots[hole] = table->slots[at];
        hole = at;
    }
    table->slots[hole] = (struct slot){0};
}

void table_clear(table *table) {
    for (size_t index = 0; index < table->room; index++) {
        fluxbus_json_release(table->slots[index].name);
        fluxbus_json_release(table->slots[index].value);
    }
    free(table->slots);
    *table = (struct table){0};
}

static int compare_slots(const void *one, const void *other) {
    return compare_names((*(struct slot *const *)one)->name, (*(struct slot *const *)other)->name);
}

/* Names, and values where there are some, in the order of names. */
static fluxbus_json *listed(const table *table, bool with_values) {
    struct slot **slots = reallocate(NULL, table->count + 1, sizeof *slots);
    values parts = {0};
    size_t count = 0;
    for (size_t index = 0; index < table->room; index++) {
        struct slot *slot = &table->slots[index];
        if (slot->name && (slot->value != NULL) == with_values) slots[count++] = slot;
    }
    qsort(slots, count, sizeof *slots, compare_slots);
    for (size_t index = 0; index < count; index++) {
        push(&parts, fluxbus_json_retain(slots[index]->name));
        if (with_values) push(&parts, fluxbus_json_retain(slots[index]->value));
    }
    fluxbus_json *list = with_values ? json_object(parts.items, count) : json_array(parts.items, count);
    free(parts.items);
    free(slots);
    return list;
}

fluxbus_json *table_object(const table *table) { return listed(table, true); }
fluxbus_json *table_missing(const table *table) { return listed(table, false); }

/* -- Changes -- */

void forget_parts(fluxbus_mirror *mirror) {
    table_clear(&mirror->news);
    fluxbus_json_release(mirror->cause);
    mirror->cause = NULL;
    mirror->is_reset = false;
}

/* Adds a part of a change to those before it. */
static void collect(fluxbus_mirror *mirror, const fluxbus_json *event) {
    const fluxbus_json *states = fluxbus_json_member(event, "states"), *changes = fluxbus_json_member(event, "changes");
    const fluxbus_json *dropped = fluxbus_json_member(event, "dropped"), *cause = fluxbus_json_member(event, "cause");
    for (size_t index = 0; is_object(changes) && index < changes->count; index++) {
        const fluxbus_json *name = name_at(changes, index), *before = NULL;
        if (table_has(&mirror->news, name)) before = table_get(&mirror->news, text_of(name), name->count);
        else if (!mirror->is_reset) before = table_get(&mirror->states, text_of(name), name->count);
        table_set(&mirror->news, name, fluxbus_json_merge(before, value_at(changes, index)));
    }
    for (size_t index = 0; is_object(states) && index < states->count; index++)
        table_set(&mirror->news, name_at(states, index), fluxbus_json_retain(value_at(states, index)));
    for (size_t index = 0; fluxbus_json_kind(dropped) == FLUXBUS_ARRAY && index < dropped->count; index++)
        if (fluxbus_json_string(parts_of(dropped)[index])) table_set(&mirror->news, parts_of(dropped)[index], NULL);
    if (cause && !mirror->cause) mirror->cause = fluxbus_json_retain(cause);
}

/* Shows a change that has all its parts. */
static void apply(fluxbus_mirror *mirror, int64_t revision, const fluxbus_json *coalesced) {
    bool is_news = mirror->is_reset || mirror->news.count;
    fluxbus_json *states = table_object(&mirror->news), *dropped = table_missing(&mirror->news), *cause = mirror->cause;
    fluxbus_change change = {revision, states, dropped, mirror->is_reset, coalesced ? fluxbus_json_integer(coalesced) : 1, cause};
    if (mirror->is_reset) table_clear(&mirror->states);
    for (size_t index = 0; index < states->count; index++)
        table_set(&mirror->states, name_at(states, index), fluxbus_json_retain(value_at(states, index)));
    for (size_t index = 0; index < dropped->count; index++) table_remove(&mirror->states, parts_of(dropped)[index]);
    mirror->cause = NULL;
    forget_parts(mirror);
    stand(&mirror->base, revision);
    if (is_news) tell_change(mirror, &change, NULL);
    fluxbus_json_release(states);
    fluxbus_json_release(dropped);
    fluxbus_json_release(cause);
}

bool take_change(fluxbus_mirror *mirror, const fluxbus_json *event) {
    const char *kind = fluxbus_json_string(fluxbus_json_member(event, "event"));
    int64_t revision = fluxbus_json_integer(fluxbus_json_member(event, "revision"));
    if (kind && !strcmp(kind, "bookmark")) stand(&mirror->base, revision);
    if (!kind || strcmp(kind, "change") != 0) return true;
    const fluxbus_json *from = fluxbus_json_member(event, "from");
    if (from) {
        /* Only the first part has it. In the middle of a change it means that the bus has begun again. */
        forget_parts(mirror);
        mirror->is_reset = fluxbus_json_boolean(fluxbus_json_member(event, "reset"));
        if (!mirror->is_reset && fluxbus_json_integer(from) != mirror->base.revision) return false;
    }
    collect(mirror, event);
    bool is_whole = !fluxbus_json_boolean(fluxbus_json_member(event, "more"));
    if (is_whole) apply(mirror, revision, fluxbus_json_member(event, "coalesced"));
    return true;
}

/* -- For the program -- */

fluxbus_mirror *fluxbus_mirror_open(fluxbus *bus, const char *target, fluxbus_json *options, fluxbus_changed *changed, void *context) {
    fluxbus_mirror *mirror = allocate(sizeof *mirror);
    *mirror = (fluxbus_mirror){.base = {.is_mirror = true}, .changed = changed};
    open_subscription(bus, &mirror->base, target, options, "", context);
    return mirror;
}

void fluxbus_mirror_close(fluxbus_mirror *mirror) { close_subscription(mirror ? &mirror->base : NULL); }

const fluxbus_json *fluxbus_mirror_get(const fluxbus_mirror *mirror, const char *address) {
    return table_get(&mirror->states, address, strlen(address));
}

fluxbus_json *fluxbus_mirror_states(const fluxbus_mirror *mirror) { return table_object(&mirror->states); }
size_t fluxbus_mirror_count(const fluxbus_mirror *mirror) { return mirror->states.count; }
int64_t fluxbus_mirror_revision(const fluxbus_mirror *mirror) { return mirror->base.revision; }
