/*
 * A client of one bus without its connections.
 *
 * The bus answers in order, so what is unanswered is a queue. A reply that does not belong to the head of it, or anything else that
 * does not follow the protocol, ends the connection, and the next one continues from what was exact. A request is encoded once:
 * its key, and what it had seen when it was first written, stay the same.
 */
#define _GNU_SOURCE
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

const char *fluxbus_version(void) { return FLUXBUS_VERSION; }

int64_t time_of(fluxbus *bus) { return bus->clock ? bus->now = bus->clock() : bus->now; }

/* -- Errors -- */

char *sentence(const char *format, ...) {
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return length < 0 ? copy_text("Memory is exhausted.") : text;
}

void failure_clear(failure *failure) {
    free((char *)(uintptr_t)failure->code);
    free((char *)(uintptr_t)failure->message);
    fluxbus_json_release((fluxbus_json *)(uintptr_t)failure->details);
    *failure = (fluxbus_error){0};
}

void failure_set(failure *failure, const fluxbus_error *error) {
    fluxbus_error given = error ? *error : (fluxbus_error){0};
    fluxbus_error made = {copy_text(given.code), copy_text(given.message), fluxbus_json_retain(given.details)};
    failure_clear(failure);
    *failure = made;
}

const fluxbus_error outcome_unknown = {
    "outcome_unknown", "The connection was lost, and whether this was committed is unknown: look, then decide.", NULL};
static const fluxbus_error late = {
    "timed_out", "The bus did not answer in the time allowed; whether this was committed is unknown: look, then decide.", NULL};
static const fluxbus_error elsewhere = {
    "conflict", "The bus began a new epoch after this was asked for, in which the revision that it names means another state.", NULL};
const fluxbus_error closed = {"closed", "The bus was closed by this program.", NULL};

void enter(fluxbus *bus) { bus->depth++; }

static void destroy(fluxbus *bus);
static void sweep_waiting(fluxbus *bus);

void leave(fluxbus *bus) {
    if (--bus->depth) return;
    if (bus->is_freed) { destroy(bus); return; }
    if (bus->has_closed) sweep_subscriptions(bus, false);
    if (bus->has_forgotten) sweep_waiting(bus);
}

void say(fluxbus *bus, fluxbus_phase phase, const fluxbus_error *error) {
    bus->phase = phase;
    failure_set(&bus->error, error);
    if (bus->on_status && !bus->is_freed) bus->on_status(bus, phase, fluxbus_get_error(bus), bus->context);
}

/* -- Queues -- */

void put(queue *queue, request *request) {
    request->next = NULL;
    if (!queue->first) queue->last = &queue->first;
    *queue->last = request;
    queue->last = &request->next;
    queue->count++;
}

request *take(queue *queue) {
    request *first = queue->first;
    if (first) queue->first = first->next, queue->count--;
    return first;
}

void settle(fluxbus *bus, request *request, const fluxbus_json *reply, const fluxbus_error *error) {
    if (request->call.done && !request->is_forgotten) {
        if (request->call.gives_state && reply) reply = fluxbus_json_at(fluxbus_json_member(reply, "states"), 0);
        request->call.done(bus, reply, error, request->call.context);
    }
    free(request);
}

void write_out(fluxbus *bus, request *request) {
    put(&bus->unanswered, request);
    append(&bus->out, request->line, request->length + request->seen);
    append_text(&bus->out, "}\n");
    if (!request->written++) request->after = bus->revision;
    else request->is_torn |= !fluxbus_json_boolean(fluxbus_json_member(bus->greeting, "resumed"));
}

void write_waiting(fluxbus *bus) {
    while (bus->is_open && bus->waiting.first && bus->unanswered.count < WINDOW) {
        request *request = take(&bus->waiting);
        const char *epoch = request->line + request->length;
        bool is_covered = request->call.is_keyed && request->written;
        if (request->is_forgotten) settle(bus, request, NULL, &closed);
        else if (!is_covered && *epoch && strcmp(epoch, bus->epoch) != 0) settle(bus, request, NULL, &elsewhere);
        else write_out(bus, request);
    }
}

/* -- The life of a bus -- */

static void draw(char *name, size_t bytes) {
    unsigned char random[16];
    while (getrandom(random, bytes, 0) != (ssize_t)bytes) continue;
    for (size_t index = 0; index < bytes; index++) sprintf(name + 2 * index, "%02x", random[index]);
}

int64_t milliseconds(double seconds, double fallback) {
    double chosen = seconds > 0 ? seconds : fallback;
    return chosen > 1e12 ? (int64_t)1e15 : (int64_t)(chosen * 1000 + 0.999);
}

static void add_text(buffer *line, const char *name, const char *text) {
    if (text && *text && is_utf8(text, strlen(text))) append_member(line, name, text);
}

fluxbus *fluxbus_new(const fluxbus_options *given) {
    fluxbus_options options = given ? *given : (fluxbus_options){0};
    fluxbus *bus = allocate(sizeof *bus);
    memset(bus, 0, sizeof *bus);
    draw(bus->prefix, 8);
    buffer hello = {0}, linger = {0}, token = {0};
    append_text(&hello, ",\"op\":\"hello\",\"protocol\":1");
    add_text(&hello, ",\"client\":", options.client);
    bus->has_session = options.session || options.linger > 0;
    if (bus->has_session) {
        char name[33];
        draw(name, 16);
        add_text(&hello, ",\"session\":", options.session ? options.session : name);
        append_text(&linger, ",\"linger\":");
        append_number(&linger, options.linger > 0 ? options.linger : 0);
    }
    add_text(&token, ",\"token\":", options.token ? options.token : getenv("FLUXBUS_TOKEN"));
    bus->hello = ended(&hello), bus->linger = ended(&linger), bus->token = ended(&token);
    bus->timeout = options.timeout > 0 ? milliseconds(options.timeout, 0) : 0;
    bus->on_status = options.status, bus->context = options.context;
    return bus;
}

static void destroy(fluxbus *bus) {
    if (bus->loop) loop_free(bus->loop);
    sweep_subscriptions(bus, true);
    fluxbus_json_release(bus->greeting);
    readings_clear(&bus->readings);
    failure *failures[] = {&bus->error, &bus->refusal, &bus->goodbye};
    for (size_t index = 0; index < 3; index++) failure_clear(failures[index]);
    char *texts[] = {bus->hello, bus->linger, bus->token, bus->will, bus->fault, bus->rest.bytes, bus->out.bytes};
    for (size_t index = 0; index < sizeof texts / sizeof *texts; index++) free(texts[index]);
    free(bus);
}

/* Tells everybody who waits that the bus has ended. */
static void tell_all(fluxbus *bus) {
    const fluxbus_error *why = fluxbus_get_error(bus);
    request *request;
    while ((request = take(&bus->unanswered)) || (request = take(&bus->waiting))) {
        /* What was written once may have been committed, or left as the will. */
        bool is_known = !request->written || (request->call.repeats && !request->call.is_keyed && !request->call.is_will);
        if (request->call.is_own) request->is_forgotten = true;
        settle(bus, request, NULL, !is_known ? &outcome_unknown : why ? why : &closed);
    }
    end_subscriptions(bus, why);
}

void fluxbus_free(fluxbus *bus) {
    if (!bus) return;
    enter(bus);
    end_bus(bus, NULL);
    /* Also where one who was told frees it: nobody is told anything once this returns. */
    tell_all(bus);
    bus->is_freed = true;
    leave(bus);
}

fluxbus_phase fluxbus_get_phase(const fluxbus *bus) { return bus->phase; }
const fluxbus_json *fluxbus_get_greeting(const fluxbus *bus) { return bus->greeting; }
int64_t fluxbus_get_revision(const fluxbus *bus) { return bus->revision; }
size_t fluxbus_get_unanswered(const fluxbus *bus) { return bus->unanswered.count + bus->waiting.count; }

const fluxbus_error *fluxbus_get_error(const fluxbus *bus) { return bus->error.code ? &bus->error : NULL; }

void end_bus(fluxbus *bus, const fluxbus_error *error) {
    if (bus->phase == FLUXBUS_CLOSED) return;
    enter(bus);
    bus->is_open = false;
    bus->phase = FLUXBUS_CLOSED;
    failure_set(&bus->error, error);
    if (bus->loop) loop_stop(bus->loop);
    tell_all(bus);
    say(bus, FLUXBUS_CLOSED, fluxbus_get_error(bus));
    leave(bus);
}

/* -- Leaving -- */

static void left(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context) {
    (void)reply, (void)error, (void)context;
    end_bus(bus, NULL);
}

void check_leaving(fluxbus *bus) {
    if (!bus->is_leaving || bus->phase == FLUXBUS_CLOSED || bus->has_asked_to_leave || fluxbus_get_unanswered(bus)) return;
    if (!bus->is_open || !bus->has_session) {
        end_bus(bus, NULL);
        return;
    }
    /* The session ends at once, too: the last `linger` counts. */
    char *body = sentence("%s,\"linger\":0", bus->hello);
    bus->has_asked_to_leave = true;
    submit_own(bus, body, left, NULL);
    free(body);
}

void fluxbus_leave(fluxbus *bus, double timeout) {
    if (bus->phase == FLUXBUS_CLOSED) return;
    enter(bus);
    bus->is_leaving = true;
    expect(bus, bus->leave_at = time_of(bus) + milliseconds(timeout, 0));
    if (timeout <= 0) end_bus(bus, NULL);
    else check_leaving(bus);
    if (bus->loop) loop_outgoing(bus->loop);
    leave(bus);
}

void expect(fluxbus *bus, int64_t deadline) {
    if (!bus->due || deadline < bus->due) bus->due = deadline;
}

/* Those that wait leave the queue when nobody goes through it. */
static void sweep_waiting(fluxbus *bus) {
    queue kept = {0};
    for (request *request; (request = take(&bus->waiting));) {
        if (request->is_forgotten) free(request);
        else put(&kept, request);
    }
    bus->waiting = kept;
    bus->has_forgotten = false;
}

static void give_up_late(fluxbus *bus, queue *queue) {
    for (request *request = queue->first; request; request = request->next) {
        if (!request->deadline || request->is_forgotten) continue;
        bool is_late = request->deadline <= bus->now;
        if (is_late) request->is_forgotten = bus->has_forgotten = true;
        else expect(bus, request->deadline);
        if (is_late && request->call.done) request->call.done(bus, NULL, &late, request->call.context);
        /* All are settled then. */
        if (bus->phase == FLUXBUS_CLOSED) break;
    }
}

int64_t fluxbus_tick(fluxbus *bus, int64_t now) {
    bus->now = now;
    enter(bus);
    if (bus->due && bus->due <= now) {
        bus->due = bus->is_leaving ? bus->leave_at : 0;
        give_up_late(bus, &bus->unanswered);
        give_up_late(bus, &bus->waiting);
    }
    if (bus->is_leaving && now >= bus->leave_at) end_bus(bus, NULL);
    int64_t next = bus->due && bus->phase != FLUXBUS_CLOSED ? bus->due : -1;
    leave(bus);
    return next;
}
