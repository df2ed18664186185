/* The client as a state machine: what its parts share. */
#pragma once

#include "json.h"

/* A line from the bus may have this many bytes; a longer one ends the connection. */
#define LONGEST_LINE ((size_t)64 << 20)
/* So many requests are unanswered on a connection at most; further ones wait. */
#define WINDOW 10000
/* The bytes of an epoch, which is a UUID; and of what a request has seen. */
#define LONGEST_EPOCH 128
#define SEEN (LONGEST_EPOCH + 64)

/* Who waits for a request, and how it is treated. */
typedef struct call {
    fluxbus_done *done;
    void *context;
    bool is_keyed, repeats, is_will;
    /* The program gave it a key; says itself what it had seen; means a revision of the epoch of then; or makes a store that goes
     * with its session. */
    bool has_key, has_seen, names_revision, is_ephemeral;
    /* Of one connection, and not repeated on another. */
    bool is_own;
    /* Its answer is the one state in the reply; or it asks for a further page, also when this program leaves. */
    bool gives_state, goes_on;
    /* In milliseconds; 0 is that of the bus. */
    int64_t timeout;
} call;

/* A request that is not answered yet. */
typedef struct request {
    struct request *next;
    uint64_t number;
    call call;
    /* When it is given up, in milliseconds; 0 is never. */
    int64_t deadline;
    /* Nobody waits for it any more; or the session may have ended in which it was committed. */
    bool is_forgotten, is_torn;
    /* How often it was written, and the newest revision when it first was. */
    unsigned written;
    int64_t after;
    /* The request without its end. Behind it stands the epoch of a revision that it names; and once a connection is lost,
     * what had been seen when a keyed one was first written. */
    size_t length, seen;
    char line[];
} request;

typedef struct queue {
    request *first, **last;
    size_t count;
} queue;

/* An error whose parts are its own. */
typedef fluxbus_error failure;

typedef struct subscription subscription;

/* Addresses and what stands for them: a state, or NULL for one that is gone. */
typedef struct table {
    struct slot {
        fluxbus_json *name, *value;
        size_t hash;
    } *slots;
    size_t count, room;
} table;

fluxbus_json *table_get(const table *table, const char *name, size_t length);
/* Takes the value, and retains the name. */
void table_set(table *table, const fluxbus_json *name, fluxbus_json *value);
void table_remove(table *table, const fluxbus_json *name);
void table_clear(table *table);
bool table_has(const table *table, const fluxbus_json *name);
/* What has a value, or else the names of what has none, in the order of names. */
fluxbus_json *table_object(const table *table);
fluxbus_json *table_missing(const table *table);

struct loop;

struct fluxbus {
    /* Of the options: the members of hello, and the token's. */
    char *hello, *linger, *token;
    int64_t timeout;
    fluxbus_status *on_status;
    void *context;

    fluxbus_phase phase;
    fluxbus_json *greeting;
    failure error;
    /* Whether the bus has greeted on this connection. */
    bool is_open, has_session, is_leaving, has_asked_to_leave;
    int64_t leave_at, now, revision;
    /* No request is given up before; 0 is never. */
    int64_t due;
    char epoch[LONGEST_EPOCH + 1], prefix[17];
    uint64_t numbers;
    queue unanswered, waiting;
    char *will;

    readings readings;
    /* The part of a line that has come, and where the connection stands: why it must end, and what the bus said before it did. */
    buffer rest, out;
    size_t out_start;
    char *fault;
    failure refusal, goodbye;

    /* In the order in which they were opened. */
    subscription *subscriptions;
    /* How many functions that call the program are under way: as long, nothing is freed. */
    unsigned depth;
    bool has_closed, has_forgotten, is_freed;

    struct loop *loop;
    /* The clock of the loop. */
    int64_t (*clock)(void);
};

int64_t time_of(fluxbus *bus);
int64_t milliseconds(double seconds, double fallback);
/* Whether the name stands in a list of words. */
bool is_one_of(const char *name, const char *list);
void enter(fluxbus *bus);
void leave(fluxbus *bus);

/* No error clears it. */
void failure_set(failure *failure, const fluxbus_error *error);
void failure_clear(failure *failure);

extern const fluxbus_error outcome_unknown, closed;
/* A message that names something. */
char *sentence(const char *format, ...) FLUXBUS_FORMAT(1);

/* A request that is begun: its line stands behind the room for the request itself. */
typedef struct draft {
    fluxbus *bus;
    buffer line;
    call call;
    uint64_t number;
    bool is_valid;
} draft;

draft begin_request(fluxbus *bus, const char *op, call call);
uint64_t submit(draft *draft);
/* A request of this connection alone. */
void submit_own(fluxbus *bus, const char *body, fluxbus_done *done, void *context);
/* When a request is given up at the latest. */
void expect(fluxbus *bus, int64_t deadline);
/* Adds members of an object, but the time-out, which is none of the protocol's. */
bool append_members(buffer *line, const fluxbus_json *members);
void append_target(buffer *line, const char *target, bool is_pattern);

/* No connection after this one. Whoever waits hears why; no error means that this program is done. */
void end_bus(fluxbus *bus, const fluxbus_error *error);
/* Tells whoever waits for it, and frees it. */
void settle(fluxbus *bus, request *request, const fluxbus_json *reply, const fluxbus_error *error);
void write_out(fluxbus *bus, request *request);
void write_waiting(fluxbus *bus);
void put(queue *queue, request *request);
request *take(queue *queue);
void say(fluxbus *bus, fluxbus_phase phase, const fluxbus_error *error);
void check_leaving(fluxbus *bus);

/* Subscriptions. */
void resume_subscriptions(fluxbus *bus);
void cut_subscriptions(fluxbus *bus);
void end_subscriptions(fluxbus *bus, const fluxbus_error *error);
/* Frees those that are closed, or all. */
void sweep_subscriptions(fluxbus *bus, bool all);
/* Takes an event. False and a fault where it does not follow. */
bool take_event(fluxbus *bus, const fluxbus_json *event);

/* The loop, if there is one. */
void loop_outgoing(struct loop *loop);
void loop_stop(struct loop *loop);
void loop_free(struct loop *loop);
