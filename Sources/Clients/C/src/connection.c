/*
 * What comes over a connection: lines, replies, events, and its end. Whatever does not follow the protocol is a fault, with which
 * the connection ends; the next one continues from what was exact.
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>

static bool fault(fluxbus *bus, const char *what) {
    if (!bus->fault) bus->fault = sentence("what came does not follow the protocol: %s", what);
    return false;
}

/* -- Greeting -- */

static void greeted(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context) {
    (void)context;
    if (error) {
        failure_set(&bus->refusal, error);
        return;
    }
    const char *epoch = fluxbus_json_string(fluxbus_json_member(reply, "epoch"));
    const fluxbus_json *revision = fluxbus_json_member(reply, "revision");
    /* It is sent back as it is. */
    bool is_name = epoch && strlen(epoch) <= LONGEST_EPOCH;
    for (const char *at = epoch; is_name && *at; at++) is_name = *at > ' ' && *at != '"' && *at != '\\';
    if (!is_name || fluxbus_json_kind(revision) != FLUXBUS_INTEGER) {
        fault(bus, "the greeting has no epoch or no revision");
        return;
    }
    if (strcmp(epoch, bus->epoch) != 0) {
        strcpy(bus->epoch, epoch);
        bus->revision = 0;
    }
    if (fluxbus_json_integer(revision) > bus->revision) bus->revision = fluxbus_json_integer(revision);
    fluxbus_json_release(bus->greeting);
    bus->greeting = fluxbus_json_retain(reply);
    bus->is_open = true;
    if (bus->will && !fluxbus_json_boolean(fluxbus_json_member(reply, "resumed"))) submit_own(bus, bus->will, NULL, NULL);
    resume_subscriptions(bus);
    say(bus, FLUXBUS_LIVE, NULL);
    write_waiting(bus);
}

void fluxbus_connected(fluxbus *bus, bool is_remote) {
    if (bus->phase == FLUXBUS_CLOSED) return;
    enter(bus);
    bus->rest.length = bus->out.length = bus->out_start = 0;
    failure_clear(&bus->goodbye);
    failure_clear(&bus->refusal);
    free(bus->fault);
    bus->fault = NULL;
    char *body = sentence("%s%s%s", bus->hello, bus->linger, is_remote ? bus->token : "");
    submit_own(bus, body, greeted, NULL);
    free(body);
    leave(bus);
}

/* -- Lines -- */

/* For the next connection: all of the request but its number. */
static void keep_will(fluxbus *bus, const request *request) {
    const char *rest = memchr(request->line, ',', request->length), *end = request->line + request->length;
    free(bus->will);
    bus->will = sentence("%.*s", (int)(end - rest), rest);
}

static bool take_reply(fluxbus *bus, const fluxbus_json *reply) {
    request *request = bus->unanswered.first;
    bool is_ok = fluxbus_json_boolean(fluxbus_json_member(reply, "ok"));
    const fluxbus_json *id = fluxbus_json_member(reply, "id");
    /* A line that the bus could not read is answered without its id. */
    bool has_id = fluxbus_json_kind(id) == FLUXBUS_INTEGER;
    bool is_next = request && (has_id ? (uint64_t)fluxbus_json_integer(id) == request->number : !id && !is_ok);
    if (!is_next) return fault(bus, "a reply came out of turn");
    take(&bus->unanswered);
    int64_t revision = is_ok ? fluxbus_json_integer(fluxbus_json_member(reply, "revision")) : 0;
    if (revision > bus->revision) bus->revision = revision;
    if (is_ok && request->call.is_will) keep_will(bus, request);
    const fluxbus_json *details = is_ok ? NULL : fluxbus_json_member(reply, "error");
    const char *code = fluxbus_json_string(fluxbus_json_member(details, "code"));
    const char *message = fluxbus_json_string(fluxbus_json_member(details, "message"));
    fluxbus_error error = {code ? code : "unexpected_reply", message ? message : "The bus refused the request without saying why.", details};
    /* What is sent again may have been committed, which these can't say; a conflict over `ifRevision`, which names a revision, can. */
    bool is_unknown = is_one_of(error.code, "conflict forbidden unknown_type too_large limit unavailable");
    is_unknown &= request->written > 1 && !fluxbus_json_member(details, "revision");
    /* A store that was made before may have gone with a connection since then. */
    is_unknown |= request->call.is_ephemeral && request->is_torn && fluxbus_json_boolean(fluxbus_json_member(reply, "duplicate"));
    is_unknown &= request->call.is_keyed;
    settle(bus, request, is_ok && !is_unknown ? reply : NULL, is_unknown ? &outcome_unknown : is_ok ? NULL : &error);
    write_waiting(bus);
    check_leaving(bus);
    return true;
}

static bool take_line(fluxbus *bus, const char *line, size_t length) {
    if (length && line[length - 1] == '\r') length--;
    if (!length) return true;
    const char *mistake;
    fluxbus_json *message = json_read(&bus->readings, line, length, &mistake);
    if (!message) return fault(bus, mistake);
    bool follows = is_object(message) || fault(bus, "a line is no object");
    if (follows) {
        const fluxbus_json *event = fluxbus_json_member(message, "event");
        const char *kind = fluxbus_json_string(event);
        if (!event) {
            follows = take_reply(bus, message);
        } else if (kind && !strcmp(kind, "goodbye")) {
            const char *code = fluxbus_json_string(fluxbus_json_member(message, "code"));
            const char *why = fluxbus_json_string(fluxbus_json_member(message, "message"));
            failure_set(&bus->goodbye, &(fluxbus_error){code ? code : "", why ? why : "The bus did not say why.", message});
        } else if (kind && bus->is_open) {
            follows = take_event(bus, message) || fault(bus, "changes before a change are missing");
        }
    }
    fluxbus_json_release(message);
    return follows && !bus->fault && !bus->refusal.code && bus->phase != FLUXBUS_CLOSED;
}

bool fluxbus_received(fluxbus *bus, const void *bytes, size_t length) {
    const char *at = bytes, *end = at + length;
    bool goes_on = bus->phase != FLUXBUS_CLOSED && !bus->fault;
    enter(bus);
    while (goes_on && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t part = (size_t)((newline ? newline : end) - at);
        if (bus->rest.length + part > LONGEST_LINE) goes_on = fault(bus, "a line is too long");
        else if (!newline || bus->rest.length) append(&bus->rest, at, part);
        if (newline && goes_on) {
            goes_on = bus->rest.length ? take_line(bus, bus->rest.bytes, bus->rest.length) : take_line(bus, at, part);
            bus->rest.length = 0;
        }
        at = newline ? newline + 1 : end;
    }
    leave(bus);
    return goes_on;
}

/* -- What is sent -- */

const void *fluxbus_outgoing(fluxbus *bus, size_t *length) {
    *length = bus->out.length - bus->out_start;
    return *length ? bus->out.bytes + bus->out_start : NULL;
}

void fluxbus_sent(fluxbus *bus, size_t length) {
    bus->out_start += length;
    if (bus->out_start < bus->out.length && bus->out_start < 1 << 20) return;
    bus->out.length -= bus->out_start;
    if (bus->out.length) memmove(bus->out.bytes, bus->out.bytes + bus->out_start, bus->out.length);
    bus->out_start = 0;
}

/* -- Its end -- */

void fluxbus_lost(fluxbus *bus, const char *why) {
    if (bus->phase == FLUXBUS_CLOSED) return;
    enter(bus);
    const char *reason = bus->goodbye.code ? bus->goodbye.message : bus->fault ? bus->fault : why ? why : "the connection was lost";
    char *message = sentence("The connection to the bus has ended: %s", reason);
    fluxbus_error error = {"closed", message, bus->goodbye.details};
    if (bus->refusal.code) error = bus->refusal;
    bus->is_open = false;
    bus->rest.length = bus->out.length = bus->out_start = 0;
    cut_subscriptions(bus);
    /* What may be repeated comes before what waited meanwhile; whoever hears about the rest may do anything. */
    queue again = {0}, gone = {0};
    for (request *request; (request = take(&bus->unanswered));) {
        char *end = request->line + request->length;
        bool tells_seen = request->call.is_keyed && !request->call.has_seen && request->written == 1;
        if (tells_seen) request->seen = (size_t)sprintf(end, ",\"after\":%lld,\"epoch\":\"%s\"", (long long)request->after, bus->epoch);
        if (request->call.is_own || request->is_forgotten) free(request);
        else put(request->call.repeats ? &again : &gone, request);
    }
    for (request *request; (request = take(&bus->waiting));) put(&again, request);
    bus->waiting = again, bus->unanswered = gone;
    for (request *request; (request = take(&bus->unanswered));) settle(bus, request, NULL, &outcome_unknown);
    bool is_final = bus->goodbye.code && !strcmp(bus->goodbye.code, "protocol");
    if (bus->has_asked_to_leave) end_bus(bus, NULL);
    else if (is_final) end_bus(bus, &error);
    else if (bus->phase == FLUXBUS_LIVE) say(bus, FLUXBUS_LOST, &error);
    else if (bus->phase != FLUXBUS_CLOSED) failure_set(&bus->error, &error);
    check_leaving(bus);
    free(message);
    leave(bus);
}
