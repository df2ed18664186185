/*
 * Values of JSON: made once, never changed, counted by whoever holds them, in whatever thread. Nothing here recurses over a
 * value, so that the depth of what comes from elsewhere costs no stack.
 */
#include "json.h"

#include <stdio.h>
#include <stdlib.h>

void *allocate(size_t size) { return reallocate(NULL, 1, size); }

void *reallocate(void *memory, size_t count, size_t size) {
    if (count <= SIZE_MAX / 2 / size && (memory = realloc(memory, count * size))) return memory;
    fputs("libfluxbus: memory is exhausted.\n", stderr);
    abort();
}

char *copy_text(const char *text) { return text ? memcpy(allocate(strlen(text) + 1), text, strlen(text) + 1) : NULL; }

/* -- Values -- */

static bool is_container(const fluxbus_json *value) { return value->kind >= FLUXBUS_ARRAY; }

static fluxbus_json *make(fluxbus_kind kind, size_t count, size_t size) {
    fluxbus_json *value = allocate(sizeof *value + size);
    *value = (fluxbus_json){.references = 1, .kind = (uint8_t)kind, .count = count};
    return value;
}

fluxbus_json *json_string(const char *bytes, size_t length) {
    fluxbus_json *value = make(FLUXBUS_STRING, length, length + 1);
    char *text = (char *)(value + 1);
    memcpy(text, bytes, length);
    text[length] = 0;
    return value;
}

static fluxbus_json *container(fluxbus_kind kind, fluxbus_json *const *parts, size_t count, size_t width) {
    fluxbus_json *value = make(kind, count, count * width * sizeof *parts);
    if (count) memcpy(parts_of(value), parts, count * width * sizeof *parts);
    return value;
}

fluxbus_json *json_array(fluxbus_json *const *elements, size_t count) { return container(FLUXBUS_ARRAY, elements, count, 1); }
fluxbus_json *json_object(fluxbus_json *const *parts, size_t count) { return container(FLUXBUS_OBJECT, parts, count, 2); }

fluxbus_json *fluxbus_json_retain(const fluxbus_json *value) {
    fluxbus_json *held = (fluxbus_json *)(uintptr_t)value;
    if (held && !held->is_static) atomic_fetch_add_explicit(&held->references, 1, memory_order_relaxed);
    return held;
}

/* Whether the last one has let it go. */
static bool is_last(fluxbus_json *value) {
    if (!value || value->is_static) return false;
    if (atomic_fetch_sub_explicit(&value->references, 1, memory_order_acq_rel) != 1) return false;
    if (is_container(value)) return true;
    free(value);
    return false;
}

void fluxbus_json_release(fluxbus_json *value) {
    if (!is_last(value)) return;
    value->next = NULL;
    while (value) {
        fluxbus_json *freed = value, **parts = parts_of(value);
        size_t count = value->kind == FLUXBUS_OBJECT ? 2 * value->count : value->count;
        value = value->next;
        for (size_t index = 0; index < count; index++) {
            if (!is_last(parts[index])) continue;
            parts[index]->next = value;
            value = parts[index];
        }
        free(freed);
    }
}

fluxbus_kind fluxbus_json_kind(const fluxbus_json *value) { return value ? (fluxbus_kind)value->kind : FLUXBUS_INVALID; }

bool fluxbus_json_boolean(const fluxbus_json *value) { return value && value->kind == FLUXBUS_BOOLEAN && value->integer; }

int64_t fluxbus_json_integer(const fluxbus_json *value) {
    if (!value) return 0;
    if (value->kind == FLUXBUS_INTEGER) return value->integer;
    if (value->kind != FLUXBUS_NUMBER) return 0;
    if (value->number >= 9223372036854775808.0) return INT64_MAX;
    return value->number < -9223372036854775808.0 ? INT64_MIN : (int64_t)value->number;
}

double fluxbus_json_number(const fluxbus_json *value) {
    if (!value) return 0;
    if (value->kind == FLUXBUS_INTEGER) return (double)value->integer;
    return value->kind == FLUXBUS_NUMBER ? value->number : 0;
}

const char *fluxbus_json_string(const fluxbus_json *value) { return value && value->kind == FLUXBUS_STRING ? text_of(value) : NULL; }

size_t fluxbus_json_count(const fluxbus_json *value) { return value ? value->count : 0; }

const fluxbus_json *fluxbus_json_at(const fluxbus_json *value, size_t index) {
    if (!value || !is_container(value) || index >= value->count) return NULL;
    return is_object(value) ? value_at(value, index) : parts_of(value)[index];
}

const char *fluxbus_json_name(const fluxbus_json *object, size_t index) {
    return is_object(object) && index < object->count ? text_of(name_at(object, index)) : NULL;
}

static int compare_bytes(const char *one, size_t length, const char *other, size_t other_length) {
    size_t shared = length < other_length ? length : other_length;
    int order = shared ? (unsigned char)*one - (unsigned char)*other : 0;
    if (!order) order = memcmp(one, other, shared);
    return order ? order : (length > other_length) - (length < other_length);
}

int compare_names(const fluxbus_json *one, const fluxbus_json *other) {
    return one == other ? 0 : compare_bytes(text_of(one), one->count, text_of(other), other->count);
}

const fluxbus_json *fluxbus_json_member(const fluxbus_json *object, const char *name) {
    if (!is_object(object)) return NULL;
    size_t length = strlen(name), low = 0, high = object->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const fluxbus_json *there = name_at(object, middle);
        int order = compare_bytes(text_of(there), there->count, name, length);
        if (order == 0) return value_at(object, middle);
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

void push(values *to, fluxbus_json *value) {
    if (to->count == to->room) {
        fluxbus_json **before = to->items;
        to->room = to->room ? 2 * to->room : 64;
        to->items = reallocate(to->is_borrowed ? NULL : before, to->room, sizeof *to->items);
        if (to->is_borrowed) memcpy(to->items, before, to->count * sizeof *before);
        to->is_borrowed = false;
    }
    to->items[to->count++] = value;
}

bool fluxbus_json_is(const fluxbus_json *value, fluxbus_kind kind, bool may_be_absent, bool may_be_null) {
    if (!value) return may_be_absent;
    if (value->kind == FLUXBUS_NULL) return may_be_null || kind == FLUXBUS_NULL;
    return value->kind == kind || (kind == FLUXBUS_NUMBER && value->kind == FLUXBUS_INTEGER);
}

/* Takes both, and gives what is no value. */
static fluxbus_json *neither(fluxbus_json *one, fluxbus_json *other) {
    fluxbus_json_release(one);
    fluxbus_json_release(other);
    return fluxbus_json_parse("", 0);
}

fluxbus_json *fluxbus_json_with(fluxbus_json *object, const char *name, fluxbus_json *value) {
    if (!value) return object;
    bool is_valid = is_object(object) && value->kind != FLUXBUS_INVALID && is_utf8(name, strlen(name));
    if (!is_valid) return neither(object, value);
    values parts = {0};
    fluxbus_json *added = json_string(name, strlen(name));
    bool is_there = false;
    for (size_t index = 0; index <= object->count; index++) {
        int order = index < object->count ? compare_names(name_at(object, index), added) : 1;
        if (order >= 0 && !is_there) {
            push(&parts, added);
            push(&parts, value);
            is_there = true;
        }
        if (order == 0 || index == object->count) continue;
        push(&parts, fluxbus_json_retain(name_at(object, index)));
        push(&parts, fluxbus_json_retain(value_at(object, index)));
    }
    fluxbus_json *larger = json_object(parts.items, parts.count / 2);
    free(parts.items);
    fluxbus_json_release(object);
    return larger;
}

fluxbus_json *fluxbus_json_append(fluxbus_json *array, fluxbus_json *value) {
    bool is_valid = array && array->kind == FLUXBUS_ARRAY && value && value->kind != FLUXBUS_INVALID;
    if (!is_valid) return neither(array, value);
    fluxbus_json *larger = container(FLUXBUS_ARRAY, parts_of(array), array->count, 1);
    larger = reallocate(larger, 1, sizeof *larger + (array->count + 1) * sizeof *parts_of(larger));
    for (size_t index = 0; index < array->count; index++) fluxbus_json_retain(parts_of(larger)[index]);
    parts_of(larger)[larger->count++] = value;
    fluxbus_json_release(array);
    return larger;
}

/* -- Merge patches -- */

/* An object that is being merged: where it is in the state and in the patch, both in the order of names. */
typedef struct merging {
    const fluxbus_json *state, *patch;
    size_t in_state, in_patch, start;
} merging;

/* Takes the next member of either. True if it is an object to be merged, with what is there in `inner`. */
static bool merge_member(merging *at, values *out, merging *inner) {
    size_t of_state = at->state ? at->state->count : 0;
    int order = at->in_state == of_state         ? 1
              : at->in_patch == at->patch->count ? -1
                                                 : compare_names(name_at(at->state, at->in_state), name_at(at->patch, at->in_patch));
    const fluxbus_json *before = order <= 0 ? value_at(at->state, at->in_state) : NULL;
    if (order < 0) {
        push(out, fluxbus_json_retain(name_at(at->state, at->in_state++)));
        push(out, fluxbus_json_retain(before));
        return false;
    }
    if (order == 0) at->in_state++;
    const fluxbus_json *name = name_at(at->patch, at->in_patch), *part = value_at(at->patch, at->in_patch);
    at->in_patch++;
    if (part->kind == FLUXBUS_NULL) return false;
    push(out, fluxbus_json_retain(name));
    *inner = (merging){.state = is_object(before) ? before : NULL, .patch = part, .start = out->count};
    if (is_object(part)) return true;
    push(out, fluxbus_json_retain(part));
    return false;
}

fluxbus_json *fluxbus_json_merge(const fluxbus_json *state, const fluxbus_json *patch) {
    if (!is_object(patch)) return fluxbus_json_retain(patch);
    merging first = {.state = is_object(state) ? state : NULL, .patch = patch}, *stack = NULL;
    values out = {0};
    size_t depth = 0, room = 0;
    for (merging inner = first;;) {
        if (depth == room) {
            room = room ? 2 * room : 16;
            stack = reallocate(stack, room, sizeof *stack);
        }
        stack[depth++] = inner;
        merging *at = &stack[depth - 1];
        for (;;) {
            if (at->in_patch < at->patch->count || (at->state && at->in_state < at->state->count)) {
                if (merge_member(at, &out, &inner)) break;
                continue;
            }
            fluxbus_json *object = json_object(out.items + at->start, (out.count - at->start) / 2);
            out.count = at->start;
            if (--depth == 0) {
                free(stack);
                free(out.items);
                return object;
            }
            push(&out, object);
            at = &stack[depth - 1];
        }
    }
}

/* -- Text -- */

void make_room(buffer *to, size_t length) {
    if (to->room - to->length >= length) return;
    size_t needed = to->length + length;
    to->room = needed > 2 * to->room ? needed : 2 * to->room;
    if (to->room < 128) to->room = 128;
    to->bytes = reallocate(to->bytes, to->room, 1);
}

void append_integer(buffer *to, int64_t integer) {
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    do digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (integer < 0) digits[--at] = '-';
    append(to, digits + at, sizeof digits - at);
}

void append_quoted(buffer *to, const char *bytes, size_t length) {
    static const char hexadecimal[] = "0123456789abcdef";
    make_room(to, length + 2);
    append(to, "\"", 1);
    size_t start = 0;
    for (size_t at = 0;; at++) {
        while (at < length && (unsigned char)bytes[at] >= 0x20 && bytes[at] != '"' && bytes[at] != '\\') at++;
        if (at == length) break;
        unsigned char byte = (unsigned char)bytes[at];
        append(to, bytes + start, at - start);
        start = at + 1;
        const char *named = strchr("\"\"\\\\\bb\ff\nn\rr\tt", byte);
        char escape[6] = {'\\', 'u', '0', '0', hexadecimal[byte >> 4], hexadecimal[byte & 15]};
        if (byte && named) escape[1] = byte == '"' || byte == '\\' ? (char)byte : named[1];
        append(to, escape, byte && named ? 2 : 6);
    }
    append(to, bytes + start, length - start);
    append(to, "\"", 1);
}

void append_member(buffer *to, const char *name, const char *text) {
    append_text(to, name);
    append_quoted(to, text, strlen(text));
}

static void append_scalar(buffer *to, const fluxbus_json *value) {
    switch (value->kind) {
    case FLUXBUS_NULL: append(to, "null", 4); break;
    case FLUXBUS_BOOLEAN: append_text(to, value->integer ? "true" : "false"); break;
    case FLUXBUS_INTEGER: append_integer(to, value->integer); break;
    case FLUXBUS_NUMBER: append_number(to, value->number); break;
    default: append_quoted(to, text_of(value), value->count);
    }
}

bool append_json(buffer *to, const fluxbus_json *value) {
    struct {
        const fluxbus_json *value;
        size_t index;
    } stack[DEEPEST];
    size_t depth = 0;
    for (;;) {
        if (!value || value->kind == FLUXBUS_INVALID) return false;
        if (is_container(value)) {
            if (depth == DEEPEST) return false;
            stack[depth].value = value;
            stack[depth++].index = 0;
            append(to, is_object(value) ? "{" : "[", 1);
        } else {
            append_scalar(to, value);
        }
        while (depth && stack[depth - 1].index == stack[depth - 1].value->count) {
            append(to, is_object(stack[--depth].value) ? "}" : "]", 1);
        }
        if (!depth) return true;
        const fluxbus_json *whole = stack[depth - 1].value;
        size_t index = stack[depth - 1].index++;
        if (index) append(to, ",", 1);
        if (is_object(whole)) {
            append_quoted(to, text_of(name_at(whole, index)), name_at(whole, index)->count);
            append(to, ":", 1);
        }
        value = fluxbus_json_at(whole, index);
    }
}

char *fluxbus_json_text(const fluxbus_json *value) {
    buffer text = {0};
    if (!append_json(&text, value)) {
        free(text.bytes);
        return NULL;
    }
    return ended(&text);
}
