/*
 * Reads JSON (RFC 8259) without recursion: what is open stands in a stack of bounded depth. Integers are exact or refused, strings
 * are UTF-8 or refused. The same reader makes values of templates, in which arguments stand for parts. Numbers are written here,
 * too, in the locale in which they are read.
 */
#define _GNU_SOURCE
#include "json.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static fluxbus_json words[] = {
    {.kind = FLUXBUS_NULL, .is_static = true},
    {.kind = FLUXBUS_BOOLEAN, .is_static = true},
    {.kind = FLUXBUS_BOOLEAN, .is_static = true, .integer = 1},
    {.kind = FLUXBUS_INVALID, .is_static = true},
};

typedef struct reader {
    const char *at, *end, *mistake;
    readings *readings;
    /* Of a template. */
    va_list *arguments;
    values values;
    buffer scratch;
    size_t depth;
    /* For each array or object that is open: where its parts begin, and which of both it is. */
    size_t starts[DEEPEST];
    bool objects[DEEPEST];
} reader;

static fluxbus_json *fail(reader *reader, const char *mistake) {
    reader->mistake = mistake;
    return NULL;
}

static void skip_space(reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r' || *reader->at == '\n'))
        reader->at++;
}

static bool takes(reader *reader, char byte) {
    if (reader->at < reader->end && *reader->at <= ' ') skip_space(reader);
    if (reader->at == reader->end || *reader->at != byte) return false;
    reader->at++;
    return true;
}

/* -- Strings -- */

/* The bytes of the character there, if it is one in UTF-8, else 0. */
static size_t character(const unsigned char *at, size_t left) {
    unsigned char first = at[0];
    if (first < 0x80) return 1;
    size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first < 0xc2 || first > 0xf4 || size > left) return 0;
    for (size_t index = 1; index < size; index++) if ((at[index] & 0xc0) != 0x80) return 0;
    bool is_short = (first == 0xe0 && at[1] < 0xa0) || (first == 0xf0 && at[1] < 0x90);
    bool is_beyond = (first == 0xed && at[1] > 0x9f) || (first == 0xf4 && at[1] > 0x8f);
    return is_short || is_beyond ? 0 : size;
}

/* How many bytes of ASCII follow that stand for themselves in a string. */
static size_t plain_bytes(const char *at, const char *end, char quote) {
    const char *start = at;
    while (at < end && (signed char)*at >= 0x20 && *at != quote && *at != '\\') at++;
    return (size_t)(at - start);
}

bool is_utf8(const char *bytes, size_t length) {
    size_t size = 1;
    for (size_t at = 0; at < length && size; at += size) size = character((const unsigned char *)bytes + at, length - at);
    return size;
}

static bool read_unit(reader *reader, unsigned *unit) {
    if (reader->end - reader->at < 4) return false;
    *unit = 0;
    for (int index = 0; index < 4; index++) {
        char digit = *reader->at++;
        int value = digit >= '0' && digit <= '9' ? digit - '0'
                  : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                  : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                 : -1;
        if (value < 0) return false;
        *unit = *unit << 4 | (unsigned)value;
    }
    return true;
}

/* The character of `\u` and four digits; with another such unit, if it is one half. */
static bool read_escaped_character(reader *reader) {
    unsigned scalar, low;
    if (!read_unit(reader, &scalar)) return false;
    if (scalar >= 0xd800 && scalar < 0xe000) {
        bool has_low = scalar < 0xdc00 && reader->end - reader->at >= 2 && reader->at[0] == '\\' && reader->at[1] == 'u';
        if (!has_low) return false;
        reader->at += 2;
        if (!read_unit(reader, &low) || low < 0xdc00 || low > 0xdfff) return false;
        scalar = 0x10000 + ((scalar - 0xd800) << 10) + (low - 0xdc00);
    }
    char bytes[4] = {(char)scalar};
    size_t size = scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4;
    for (size_t index = size; size > 1 && index-- > 0; scalar >>= 6) {
        unsigned mark = index ? 0x80 : size == 2 ? 0xc0 : size == 3 ? 0xe0 : 0xf0;
        bytes[index] = (char)(mark | (index ? scalar & 0x3f : scalar));
    }
    append(&reader->scratch, bytes, size);
    return true;
}

static bool read_escape(reader *reader) {
    static const char letters[] = "\"\\/bfnrt'", characters[] = "\"\\/\b\f\n\r\t'";
    if (reader->at == reader->end) return false;
    char escape = *reader->at++;
    if (escape == 'u') return read_escaped_character(reader);
    const char *found = escape ? strchr(letters, escape) : NULL;
    if (!found || (escape == '\'' && !reader->arguments)) return false;
    append(&reader->scratch, characters + (found - letters), 1);
    return true;
}

/* The bytes of a string behind its quote, in the text itself or in `scratch`. */
static bool read_bytes(reader *reader, char quote, const char **bytes, size_t *length) {
    const char *start = reader->at;
    bool is_plain = true;
    reader->scratch.length = 0;
    for (;;) {
        reader->at += plain_bytes(reader->at, reader->end, quote);
        if (reader->at == reader->end) return fail(reader, "a string does not end"), false;
        unsigned char byte = (unsigned char)*reader->at;
        if (byte == (unsigned char)quote || byte == '\\') {
            if (!is_plain || byte == '\\') append(&reader->scratch, start, (size_t)(reader->at - start));
            if (byte == (unsigned char)quote) break;
            is_plain = false;
            reader->at++;
            if (!read_escape(reader)) return fail(reader, "a string has an escape that is none"), false;
            start = reader->at;
        } else if (byte < 0x20) {
            return fail(reader, "a string holds a control character"), false;
        } else {
            size_t size = character((const unsigned char *)reader->at, (size_t)(reader->end - reader->at));
            if (!size) return fail(reader, "a string is not UTF-8"), false;
            reader->at += size;
        }
    }
    *bytes = is_plain ? start : reader->scratch.bytes;
    *length = is_plain ? (size_t)(reader->at - start) : reader->scratch.length;
    reader->at++;
    return true;
}

static fluxbus_json *argument_string(reader *reader) {
    const char *text = va_arg(*reader->arguments, const char *);
    if (!text || !is_utf8(text, strlen(text))) return fail(reader, "an argument is not UTF-8");
    return json_string(text, strlen(text));
}

static fluxbus_json *read_name(reader *reader) {
    if (reader->arguments && reader->end - reader->at > 1 && reader->at[0] == '%' && reader->at[1] == 's') {
        reader->at += 2;
        return argument_string(reader);
    }
    const char *bytes;
    size_t length;
    char quote = reader->at < reader->end ? *reader->at : 0;
    if (quote != '"' && !(quote == '\'' && reader->arguments)) return fail(reader, "a member has no name");
    reader->at++;
    if (!read_bytes(reader, quote, &bytes, &length)) return NULL;
    if (!reader->readings || length == 0 || length > 64) return json_string(bytes, length);
    size_t hash = length * 7 + (unsigned char)bytes[0] * 31 + (unsigned char)bytes[length / 2] * 5 + (unsigned char)bytes[length - 1];
    fluxbus_json **slot = &reader->readings->names[hash % 256];
    if (!*slot || (*slot)->count != length || memcmp(text_of(*slot), bytes, length) != 0) {
        fluxbus_json_release(*slot);
        *slot = json_string(bytes, length);
    }
    return fluxbus_json_retain(*slot);
}

void readings_clear(readings *readings) {
    for (size_t index = 0; index < 256; index++) fluxbus_json_release(readings->names[index]);
    free(readings->values.items);
    free(readings->scratch.bytes);
    memset(readings, 0, sizeof *readings);
}

/* -- Numbers -- */

static fluxbus_json *json_integer(int64_t integer) {
    fluxbus_json *value = json_string("", 0);
    value->kind = FLUXBUS_INTEGER;
    value->integer = integer;
    return value;
}

static fluxbus_json *json_number(double number) {
    if (!isfinite(number)) return NULL;
    fluxbus_json *value = json_string("", 0);
    value->kind = FLUXBUS_NUMBER;
    value->number = number;
    return value;
}

/* The C locale, in which the point is a point; made by whoever comes first. */
static locale_t plain_locale(void) {
    static _Atomic(locale_t) shared;
    locale_t known = atomic_load(&shared), mine;
    if (known) return known;
    mine = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (atomic_compare_exchange_strong(&shared, &known, mine)) return mine;
    freelocale(mine);
    return known;
}

/* The fewest digits that give the same number again; with a fraction or an exponent, as it is no integer. */
void append_number(buffer *to, double number) {
    char text[40];
    locale_t before = uselocale(plain_locale());
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    uselocale(before);
    append_text(to, text);
    if (!strpbrk(text, ".e")) append(to, ".0", 2);
}

static size_t digits(reader *reader) {
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') reader->at++;
    return (size_t)(reader->at - start);
}

/* Goes on if one of these bytes is there. */
static bool passes(reader *reader, const char *bytes) {
    bool is_there = reader->at < reader->end && *reader->at && strchr(bytes, *reader->at);
    reader->at += is_there;
    return is_there;
}

static fluxbus_json *read_number(reader *reader) {
    const char *start = reader->at;
    bool is_negative = passes(reader, "-");
    const char *first = reader->at;
    size_t whole = digits(reader);
    if (!whole || (whole > 1 && *first == '0')) return fail(reader, "a value is none");
    bool has_fraction = passes(reader, "."), has_all = !has_fraction || digits(reader), has_exponent = passes(reader, "eE");
    if (has_exponent) passes(reader, "+-");
    if (!has_all || (has_exponent && !digits(reader))) return fail(reader, "a number is incomplete");
    if (has_fraction || has_exponent) {
        reader->scratch.length = 0;
        append(&reader->scratch, start, (size_t)(reader->at - start));
        fluxbus_json *number = json_number(strtod_l(ended(&reader->scratch), NULL, plain_locale()));
        return number ? number : fail(reader, "a number is too large");
    }
    uint64_t magnitude = 0;
    for (size_t index = 0; index < whole; index++) {
        unsigned digit = (unsigned)(first[index] - '0');
        if (magnitude > (UINT64_MAX - digit) / 10) return fail(reader, "an integer has more than 64 bits");
        magnitude = magnitude * 10 + digit;
    }
    if (magnitude > (uint64_t)INT64_MAX + is_negative) return fail(reader, "an integer has more than 64 bits");
    return json_integer(is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude);
}

/* -- Values -- */

static fluxbus_json *read_word(reader *reader, const char *word, fluxbus_json *value) {
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) return fail(reader, "a value is none");
    reader->at += length;
    return value;
}

static fluxbus_json *read_argument(reader *reader) {
    const char *kinds[] = {"%d", "%ld", "%lld", "%g", "%i", "%s", "%p"};
    size_t kind = 0, left = (size_t)(reader->end - reader->at);
    while (kind < 7 && (strlen(kinds[kind]) > left || memcmp(reader->at, kinds[kind], strlen(kinds[kind])) != 0)) kind++;
    if (kind == 7) return fail(reader, "a template has a conversion that is none");
    reader->at += strlen(kinds[kind]);
    fluxbus_json *value = NULL;
    switch (kind) {
    case 0: return json_integer(va_arg(*reader->arguments, int));
    case 1: return json_integer(va_arg(*reader->arguments, long));
    case 2: return json_integer(va_arg(*reader->arguments, long long));
    case 3: value = json_number(va_arg(*reader->arguments, double)); break;
    case 4: return &words[va_arg(*reader->arguments, int) ? 2 : 1];
    case 5: return argument_string(reader);
    default: value = fluxbus_json_retain(va_arg(*reader->arguments, const fluxbus_json *));
    }
    return value && value->kind != FLUXBUS_INVALID ? value : fail(reader, "an argument is no value");
}

static fluxbus_json *read_scalar(reader *reader) {
    const char *bytes;
    size_t length;
    char byte = reader->at < reader->end ? *reader->at : 0;
    if (byte == '"' || (byte == '\'' && reader->arguments)) {
        reader->at++;
        return read_bytes(reader, byte, &bytes, &length) ? json_string(bytes, length) : NULL;
    }
    switch (byte) {
    case 'n': return read_word(reader, "null", &words[0]);
    case 'f': return read_word(reader, "false", &words[1]);
    case 't': return read_word(reader, "true", &words[2]);
    case '%': return reader->arguments ? read_argument(reader) : fail(reader, "a value is none");
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return read_number(reader);
    default: return fail(reader, "a value is none");
    }
}

typedef struct member {
    fluxbus_json *name, *value;
    size_t index;
} member;

static int compare_members(const void *one, const void *other) {
    const member *first = one, *second = other;
    int order = compare_names(first->name, second->name);
    return order ? order : (first->index > second->index) - (first->index < second->index);
}

/* Puts members into the order of their names; of those with the same name the last one stays. Gives how many there are. */
static size_t sort_members(fluxbus_json **parts, size_t count) {
    member few[16], *members = count <= 16 ? few : reallocate(NULL, count, sizeof *members);
    bool is_sorted = true;
    for (size_t index = 0; index < count; index++) {
        member next = {parts[2 * index], parts[2 * index + 1], index};
        size_t place = index;
        if (index && compare_members(&members[index - 1], &next) > 0) is_sorted = false;
        /* A few are put where they belong at once. */
        while (count <= 16 && place && compare_members(&members[place - 1], &next) > 0) {
            members[place] = members[place - 1];
            place--;
        }
        members[place] = next;
    }
    if (!is_sorted && count > 16) qsort(members, count, sizeof *members, compare_members);
    size_t kept = 0;
    for (size_t index = 0; index < count; index++) {
        if (index + 1 < count && compare_names(members[index].name, members[index + 1].name) == 0) {
            fluxbus_json_release(members[index].name);
            fluxbus_json_release(members[index].value);
            continue;
        }
        parts[2 * kept] = members[index].name;
        parts[2 * kept++ + 1] = members[index].value;
    }
    if (members != few) free(members);
    return kept;
}

/* Reads a name and what stands behind it. */
static bool read_member_name(reader *reader) {
    skip_space(reader);
    fluxbus_json *name = read_name(reader);
    if (!name) return false;
    push(&reader->values, name);
    return takes(reader, ':') || fail(reader, "a member has no value");
}

static fluxbus_json *close_container(reader *reader) {
    size_t start = reader->starts[--reader->depth], count = reader->values.count - start;
    fluxbus_json **parts = reader->values.items + start;
    reader->values.count = start;
    if (!count) parts = NULL;
    if (!reader->objects[reader->depth]) return json_array(parts, count);
    return json_object(parts, count ? sort_members(parts, count / 2) : 0);
}

/* The value that is read, once no array or object is open any more. */
static fluxbus_json *read_value(reader *reader) {
    for (;;) {
        fluxbus_json *value = NULL;
        skip_space(reader);
        char byte = reader->at < reader->end ? *reader->at : 0;
        if (byte == '{' || byte == '[') {
            if (reader->depth == DEEPEST) return fail(reader, "values are nested too deeply");
            reader->at++;
            reader->starts[reader->depth] = reader->values.count;
            reader->objects[reader->depth++] = byte == '{';
            if (takes(reader, byte == '{' ? '}' : ']')) value = close_container(reader);
            else if (byte == '{' && !read_member_name(reader)) return NULL;
        } else if (!(value = read_scalar(reader))) {
            return NULL;
        }
        while (value) {
            if (!reader->depth) return value;
            push(&reader->values, value);
            value = NULL;
            bool is_in_object = reader->objects[reader->depth - 1];
            if (takes(reader, is_in_object ? '}' : ']')) value = close_container(reader);
            else if (!takes(reader, ',')) return fail(reader, "a comma or an end is missing");
            else if (is_in_object && !read_member_name(reader)) return NULL;
        }
    }
}

static void begin(reader *reader, const char *text, size_t length, va_list *arguments) {
    /* The stack of what is open is left as it is: it is large, and nothing in it is read before it is written. */
    memset(reader, 0, offsetof(struct reader, starts));
    reader->at = text;
    reader->end = text + length;
    reader->arguments = arguments;
}

static fluxbus_json *read_all(reader *reader) {
    fluxbus_json *value = read_value(reader);
    if (value) skip_space(reader);
    if (value && reader->at < reader->end) {
        fluxbus_json_release(value);
        value = fail(reader, "something stands behind the value");
    }
    for (size_t index = 0; index < reader->values.count; index++) fluxbus_json_release(reader->values.items[index]);
    reader->values.count = 0;
    return value;
}

fluxbus_json *json_read(readings *readings, const char *text, size_t length, const char **mistake) {
    reader reader;
    begin(&reader, text, length, NULL);
    reader.readings = readings;
    reader.values = readings->values;
    reader.scratch = readings->scratch;
    fluxbus_json *value = read_all(&reader);
    readings->values = reader.values;
    readings->scratch = reader.scratch;
    *mistake = reader.mistake;
    return value;
}

/* Without anything from before. */
static fluxbus_json *read_once(const char *text, size_t length, va_list *arguments) {
    reader reader;
    fluxbus_json *few[32];
    begin(&reader, text, length, arguments);
    reader.values = (values){few, 0, 32, true};
    fluxbus_json *value = read_all(&reader);
    if (!reader.values.is_borrowed) free(reader.values.items);
    free(reader.scratch.bytes);
    return value ? value : &words[3];
}

fluxbus_json *fluxbus_json_parse(const char *text, size_t length) { return read_once(text, length, NULL); }

fluxbus_json *fluxbus_json_format_va(const char *text, va_list arguments) {
    va_list copy;
    va_copy(copy, arguments);
    fluxbus_json *value = read_once(text, strlen(text), &copy);
    va_end(copy);
    return value;
}

fluxbus_json *fluxbus_json_format(const char *text, ...) {
    va_list arguments;
    va_start(arguments, text);
    fluxbus_json *value = fluxbus_json_format_va(text, arguments);
    va_end(arguments);
    return value;
}
