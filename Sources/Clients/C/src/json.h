/* JSON inside the library: values, a growing text, a reader that remembers names. */
#pragma once

#include "../fluxbus.h"

#include <stdatomic.h>
#include <string.h>

/* Values may be nested so deeply; the bus's own limit is 64. */
#define DEEPEST 512

struct fluxbus_json {
    atomic_uint references;
    uint8_t kind;
    bool is_static;
    /* Bytes, elements or members. */
    size_t count;
    union {
        int64_t integer;
        double number;
        /* The next one to be freed. */
        fluxbus_json *next;
    };
    /* Behind it: the bytes of a string and a zero; the elements of an array; name and value of each member, by ascending names. */
};

/* Memory, or the end of the program. */
void *allocate(size_t size);
void *reallocate(void *memory, size_t count, size_t size);
char *copy_text(const char *text);

typedef struct buffer {
    char *bytes;
    size_t length, room;
} buffer;

void append_quoted(buffer *to, const char *bytes, size_t length);
void append_integer(buffer *to, int64_t integer);
void make_room(buffer *to, size_t length);

static inline void append(buffer *to, const void *bytes, size_t length)
{
    if (to->room - to->length < length) make_room(to, length);
    if (length) memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static inline void append_text(buffer *to, const char *text) { append(to, text, strlen(text)); }
static inline char *ended(buffer *text) { return append(text, "", 1), text->bytes; }

void append_number(buffer *to, double number);
/* A member: what stands before it, such as `,"op":`, and a string. */
void append_member(buffer *to, const char *name, const char *text);
/* False of an invalid value, or one that is nested too deeply. */
bool append_json(buffer *to, const fluxbus_json *value);

static inline const char *text_of(const fluxbus_json *value) { return (const char *)(value + 1); }
static inline fluxbus_json **parts_of(const fluxbus_json *value) { return (fluxbus_json **)(uintptr_t)(value + 1); }
static inline const fluxbus_json *name_at(const fluxbus_json *object, size_t index) { return parts_of(object)[2 * index]; }
static inline const fluxbus_json *value_at(const fluxbus_json *object, size_t index) { return parts_of(object)[2 * index + 1]; }
static inline bool is_object(const fluxbus_json *value) { return value && value->kind == FLUXBUS_OBJECT; }

int compare_names(const fluxbus_json *one, const fluxbus_json *other);
bool is_utf8(const char *bytes, size_t length);

fluxbus_json *json_string(const char *bytes, size_t length);
fluxbus_json *json_array(fluxbus_json *const *elements, size_t count);
/* Takes names and values in turn, already in order. */
fluxbus_json *json_object(fluxbus_json *const *parts, size_t count);

/* Values, as many as come. */
typedef struct values {
    fluxbus_json **items;
    size_t count, room;
    /* The items stand in memory of somebody else, until there are more. */
    bool is_borrowed;
} values;

void push(values *to, fluxbus_json *value);

/* What one reading leaves for the next: memory, and names, because states of one type share theirs. */
typedef struct readings {
    fluxbus_json *names[256];
    values values;
    buffer scratch;
} readings;

void readings_clear(readings *readings);
/* The value that the text is. NULL and a reason if it is none. */
fluxbus_json *json_read(readings *readings, const char *text, size_t length, const char **mistake);
