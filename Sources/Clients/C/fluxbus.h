/*
 * A client of FluxBus, the state bus, in C11.
 *
 * Nothing here blocks but the functions that say so. A bus is used by one thread at a time; its values may go to other threads.
 * Requests and mirrors outlive connections: the client connects again by itself, continues where it was, and repeats what was
 * unanswered, so that it commits exactly once. The program ends with a sentence where memory is exhausted.
 *
 * Who owns a `fluxbus_json *`: one that is not const is given away, to the function that takes it or to the caller that it is
 * returned to; a const one is lent. NULL says nothing: no payload, no options, no such member.
 */
#ifndef FLUXBUS_H
#define FLUXBUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FLUXBUS_FORMAT(index) __attribute__((format(printf, index, index + 1)))
#else
#define FLUXBUS_FORMAT(index)
#endif

/* The version of the library, such as `0.2.0`. */
const char *fluxbus_version(void);

/* -- Values --------------------------------------------------------------------------------------------------------- */

/* A JSON value. It never changes, and any thread may read, retain and release it. */
typedef struct fluxbus_json fluxbus_json;

typedef enum fluxbus_kind {
    FLUXBUS_INVALID, /* no value: NULL, or what is made of text that is none. A request with it is refused */
    FLUXBUS_NULL,
    FLUXBUS_BOOLEAN,
    FLUXBUS_INTEGER, /* exact, of 64 bits */
    FLUXBUS_NUMBER,
    FLUXBUS_STRING,
    FLUXBUS_ARRAY,
    FLUXBUS_OBJECT
} fluxbus_kind;

/* The value that the text is, all of it. Names that come twice have the last value. */
fluxbus_json *fluxbus_json_parse(const char *text, size_t length);
/* The value of a template, such as `"{'by': %d, 'who': %s}"`: JSON, in which single quotes do, too. `%d`, `%ld` and `%lld` stand
 * for an integer, `%g` for a number, `%i` for a boolean, `%s` for a string or a member's name, `%p` for a value, which is lent. */
fluxbus_json *fluxbus_json_format(const char *text, ...) FLUXBUS_FORMAT(1);
fluxbus_json *fluxbus_json_format_va(const char *text, va_list arguments);
/* Text of one line, to be freed with `free`; NULL of an invalid value. */
char *fluxbus_json_text(const fluxbus_json *value);

fluxbus_json *fluxbus_json_retain(const fluxbus_json *value);
void fluxbus_json_release(fluxbus_json *value);

fluxbus_kind fluxbus_json_kind(const fluxbus_json *value);
/* Of a value of another kind false, 0 or NULL. A number is truncated to an integer, and an integer is a number, too. */
bool fluxbus_json_boolean(const fluxbus_json *value);
int64_t fluxbus_json_integer(const fluxbus_json *value);
double fluxbus_json_number(const fluxbus_json *value);
/* UTF-8 with a zero behind it. A string may hold zeros, too: `fluxbus_json_count` gives its bytes. */
const char *fluxbus_json_string(const fluxbus_json *value);
/* The elements of an array, the members of an object, the bytes of a string. */
size_t fluxbus_json_count(const fluxbus_json *value);
/* An element of an array; or a member of an object, in the order of names. */
const fluxbus_json *fluxbus_json_at(const fluxbus_json *value, size_t index);
const char *fluxbus_json_name(const fluxbus_json *object, size_t index);
const fluxbus_json *fluxbus_json_member(const fluxbus_json *object, const char *name);
/* Whether the value is of this kind, or a null or an absent one where that is allowed. An integer is a number, too. */
bool fluxbus_json_is(const fluxbus_json *value, fluxbus_kind kind, bool may_be_absent, bool may_be_null);
/* The object with one member more, or with another value of it; without a value the object itself. */
fluxbus_json *fluxbus_json_with(fluxbus_json *object, const char *name, fluxbus_json *value);
/* The array with one element more. */
fluxbus_json *fluxbus_json_append(fluxbus_json *array, fluxbus_json *value);
/* The state that a merge patch (RFC 7396) makes of another one, which stays as it is. */
fluxbus_json *fluxbus_json_merge(const fluxbus_json *state, const fluxbus_json *patch);

/* -- Errors --------------------------------------------------------------------------------------------------------- */

/*
 * A refusal of the bus, or a failure on the way to it. `code` is for programs, `message` one sentence for people, `details` has
 * further members of the bus's error. Besides the codes of the protocol there are `invalid_address`, `invalid_options`, `unreachable`, `untrusted`,
 * `timed_out`, `closed`, `outcome_unknown` and `unexpected_reply`.
 */
typedef struct fluxbus_error {
    const char *code;
    const char *message;
    const fluxbus_json *details;
} fluxbus_error;

/* -- The bus -------------------------------------------------------------------------------------------------------- */

/* A client of one bus. */
typedef struct fluxbus fluxbus;

typedef enum fluxbus_phase {
    FLUXBUS_CONNECTING, /* there was no connection yet */
    FLUXBUS_LIVE,
    FLUXBUS_LOST,  /* there will be another attempt */
    FLUXBUS_CLOSED /* there will be none */
} fluxbus_phase;

/* Tells how the connection is, and why: `error` is NULL where it is live, and where the program itself has closed the bus. */
typedef void fluxbus_status(fluxbus *bus, fluxbus_phase phase, const fluxbus_error *error, void *context);
/* Gives a reply, or the error instead; called once. Both are lent until it returns. */
typedef void fluxbus_done(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context);

/* Zeros stand for the default, which is in parentheses. Durations are in seconds. Texts are copied. */
typedef struct fluxbus_options {
    const char *client;           /* what this program calls itself */
    const char *token;            /* who it is beyond this machine ($FLUXBUS_TOKEN) */
    const char *ca, *cert, *key;  /* files of PEM for tls: ($FLUXBUS_CA or the system's, $FLUXBUS_CERTIFICATE, $FLUXBUS_KEY) */
    const char *session;          /* the name under which will and ephemeral stores outlive a connection (a random one) */
    double linger;                /* how long they do (not at all) */
    double timeout;               /* of a request (none) */
    double connect_timeout;       /* of an attempt (5) */
    double patience;              /* how long a first connection is tried for (one attempt) */
    double keep_alive;            /* of silence, before the bus is asked whether it is there (30) */
    double back_off[2];           /* the first and the longest wait before another attempt (0.05, 10) */
    fluxbus_status *status;
    void *context;                /* of `status` */
    void *reserved[4];
} fluxbus_options;

/*
 * Begins to connect to the bus at one of several addresses between commas or spaces: `unix:/path/to/socket`, `tcp:HOST:PORT` or
 * `tls:HOST:PORT`. NULL stands for `$FLUXBUS_ADDRESS`, then `$XDG_RUNTIME_DIR/fluxbus/bus.sock`, then `/run/fluxbus/bus.sock`.
 * Never NULL: a bus that can't be reached has ended, and says why. Requests may be made at once. `options` may be NULL.
 */
fluxbus *fluxbus_connect(const char *address, const fluxbus_options *options);
/* Ends the connection at once: before it returns, whoever waits is told `closed`, and nobody is told anything after that. Mirrors and
 * action streams go with it. May be called anywhere. */
void fluxbus_free(fluxbus *bus);

/* Begins to leave: once every request is answered, or after the timeout, the bus has ended. */
void fluxbus_leave(fluxbus *bus, double timeout);
/* Leaves, and waits for that. Blocks; where the bus calls the program, it only begins to leave. */
void fluxbus_close(fluxbus *bus, double timeout);

fluxbus_phase fluxbus_get_phase(const fluxbus *bus);
/* Why the bus has ended, or was lost; NULL before, and where the program itself has closed it. */
const fluxbus_error *fluxbus_get_error(const fluxbus *bus);
/* What the bus said of itself at the last connection: `epoch`, `identity`, `limits`, `version`. */
const fluxbus_json *fluxbus_get_greeting(const fluxbus *bus);
/* The newest revision that was heard of. */
int64_t fluxbus_get_revision(const fluxbus *bus);
/* How many requests have no answer yet. 10,000 of them are sent at once, the others wait in memory: this is what bounds them. */
size_t fluxbus_get_unanswered(const fluxbus *bus);

/* -- A loop --------------------------------------------------------------------------------------------------------- */

/*
 * For a loop of the program's own (sd-event, libuv, GLib, poll): one descriptor, the same as long as the bus is, and the events to
 * wait for, in terms of poll: always POLLIN. Timers are in it, too. Whenever it is ready, call `fluxbus_process`, which does not block.
 */
int fluxbus_get_fd(fluxbus *bus);
int fluxbus_get_events(const fluxbus *bus);
/* Reads, writes, connects, and calls whoever waits. False once the bus has ended; and at once where it calls the program. */
bool fluxbus_process(fluxbus *bus);

/* For a program without a loop: waits until something happens, or so many seconds (negative: as long as it takes), and processes
 * it. False once the bus has ended; and at once where it calls the program. Blocks. */
bool fluxbus_wait(fluxbus *bus, double seconds);
/* Waits and processes until the bus has ended. Blocks. */
void fluxbus_run(fluxbus *bus);
/* Makes the next attempt at once. */
void fluxbus_reconnect(fluxbus *bus);

/* An answer that is waited for: `fluxbus_dispatch(…, fluxbus_keep, &pending)`, and then `fluxbus_await`. Zeros at first. */
typedef struct fluxbus_pending {
    bool is_done;
    fluxbus_json *reply; /* NULL after an error */
    char *code, *message;
    fluxbus_json *details;
} fluxbus_pending;

fluxbus_done fluxbus_keep;
/* Waits for the answer: true if it is a reply, false if it is an error, or where the bus calls the program. Blocks. */
bool fluxbus_await(fluxbus *bus, fluxbus_pending *pending);
/* Releases what is kept in it, and makes it zeros again. */
void fluxbus_pending_clear(fluxbus_pending *pending);

/* -- Requests ------------------------------------------------------------------------------------------------------- */

/*
 * A target is one store, `counter/kitchen`, or every store of a type, `counter`; what reads takes patterns, too: `counter/k*`.
 * `options` is an object with further members of the protocol's request but `id` and `ack`, `{'ifRevision': 4, 'return': 'states'}`,
 * and perhaps with `timeout`: so many seconds the request may take, instead of those of the bus. It is not sent.
 * `done` may be NULL. It is called before the function returns where the request is refused here.
 * Each function returns the number of the request, for `fluxbus_forget`.
 */

/* Any request of the protocol: `fluxbus_request(bus, "history", fluxbus_json_format("{'since': %d}", 4), done, NULL)`. */
uint64_t fluxbus_request(fluxbus *bus, const char *op, fluxbus_json *members, fluxbus_done *done, void *context);
/* Commits an action, exactly once, now, or later with the options `in` and `at`. */
uint64_t fluxbus_dispatch(fluxbus *bus, const char *target, const char *action, fluxbus_json *payload, fluxbus_json *options,
                          fluxbus_done *done, void *context);
/* Commits several actions as one: an array of `[target, action, payload]`, or of elements as the protocol has them, such as
 * `{'op': 'create', 'store': 'counter/b'}`. */
uint64_t fluxbus_batch(fluxbus *bus, fluxbus_json *actions, fluxbus_json *options, fluxbus_done *done, void *context);
uint64_t fluxbus_create(fluxbus *bus, const char *address, fluxbus_json *state, fluxbus_json *options, fluxbus_done *done,
                        void *context);
/* Drops a store; or, with the option `where`, the stores of a type for which that expression holds. */
uint64_t fluxbus_drop(fluxbus *bus, const char *target, fluxbus_json *options, fluxbus_done *done, void *context);
/* Gives the state of one store. */
uint64_t fluxbus_get(fluxbus *bus, const char *address, fluxbus_json *options, fluxbus_done *done, void *context);
/* Gives all states that match, by address, which it reads page by page; it can't be forgotten after the first, and the timeout is
 * that of one page. */
uint64_t fluxbus_states(fluxbus *bus, const char *target, fluxbus_json *options, fluxbus_done *done, void *context);
/* Leaves actions for the end of this client: the bus dispatches them, however it ends. Those that it refuses leave what was left
 * before as it is. */
uint64_t fluxbus_will(fluxbus *bus, fluxbus_json *actions, fluxbus_done *done, void *context);
/* Gives up a request: `done` is not called, and it is not sent again. It may have been committed. */
void fluxbus_forget(fluxbus *bus, uint64_t request);

/* -- Mirrors and actions -------------------------------------------------------------------------------------------- */

/* The states of all stores that match, kept as they are on the bus. */
typedef struct fluxbus_mirror fluxbus_mirror;

/* What a mirror has become. After a `reset` it stands for everything: what is not in `states` is gone. */
typedef struct fluxbus_change {
    int64_t revision;
    const fluxbus_json *states;  /* those that are new or different, by address */
    const fluxbus_json *dropped; /* the addresses of those that are gone */
    bool reset;
    int64_t coalesced;         /* how many commits are merged in it */
    const fluxbus_json *cause; /* with the option `cause`, and of one commit: `actions`, `by`, `time`, perhaps `traceparent` */
} fluxbus_change;

/* Tells a change: at first all states, as a reset. At the end `change` is NULL, and `error` is the bus's, or NULL. */
typedef void fluxbus_changed(fluxbus_mirror *mirror, const fluxbus_change *change, const fluxbus_error *error, void *context);

/* Options are `where`, `select` and `cause`. */
fluxbus_mirror *fluxbus_mirror_open(fluxbus *bus, const char *target, fluxbus_json *options, fluxbus_changed *changed, void *context);
/* Ends it: `changed` is not called any more. Also allowed while it is called. */
void fluxbus_mirror_close(fluxbus_mirror *mirror);
/* The state of one store; NULL where there is none. */
const fluxbus_json *fluxbus_mirror_get(const fluxbus_mirror *mirror, const char *address);
/* All states, by address. */
fluxbus_json *fluxbus_mirror_states(const fluxbus_mirror *mirror);
size_t fluxbus_mirror_count(const fluxbus_mirror *mirror);
/* That of the last event; 0 while there was none. */
int64_t fluxbus_mirror_revision(const fluxbus_mirror *mirror);

/* Actions as they are committed. */
typedef struct fluxbus_actions fluxbus_actions;

/* An action that was committed; or, as a `gap`, that those up to and with this revision may be missing. */
typedef struct fluxbus_action {
    bool gap;
    int64_t revision;
    const char *target; /* a store's address, or a type */
    const char *action;
    const fluxbus_json *payload;
    const fluxbus_json *by;
    double time; /* in seconds since 1970 */
    const fluxbus_json *result;  /* what it returned, where the target is a store */
    const fluxbus_json *results; /* the same by the stores' addresses, where it is a type */
    const char *traceparent;     /* the place of its dispatch in a trace; NULL where that had none */
} fluxbus_action;

/* Tells an action, or a gap: up to its revision some may be missing. At the end `action` is NULL, and `error` the bus's, or NULL. */
typedef void fluxbus_acted(fluxbus_actions *actions, const fluxbus_action *action, const fluxbus_error *error, void *context);

/* With the option `where` it is those on stores for which that expression holds before or after. */
fluxbus_actions *fluxbus_actions_open(fluxbus *bus, const char *target, fluxbus_json *options, fluxbus_acted *acted, void *context);
void fluxbus_actions_close(fluxbus_actions *actions);

/* -- Without sockets ------------------------------------------------------------------------------------------------ */

/*
 * The client as a state machine, for a program that has connections of its own: it does no I/O and reads no clock. Tell it what
 * becomes of connections and what comes over them, and send what is outgoing. `fluxbus_connect` puts sockets to it.
 */
fluxbus *fluxbus_new(const fluxbus_options *options);
/* There is a new connection; beyond this machine the token is said. */
void fluxbus_connected(fluxbus *bus, bool is_remote);
/* Takes what has come. False: end the connection, and say so by `fluxbus_lost`. */
bool fluxbus_received(fluxbus *bus, const void *bytes, size_t length);
/* What is to be sent; stays until it is said how much of it was. */
const void *fluxbus_outgoing(fluxbus *bus, size_t *length);
void fluxbus_sent(fluxbus *bus, size_t length);
/* The connection is no more, for a reason that may be NULL. What may be repeated waits for the next one. */
void fluxbus_lost(fluxbus *bus, const char *why);
/* It is so many milliseconds on a clock that only moves forward. Gives the time of the next call, or -1. */
int64_t fluxbus_tick(fluxbus *bus, int64_t now);

#ifdef __cplusplus
}
#endif
#endif
