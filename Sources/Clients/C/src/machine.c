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

/* The bytes of what a request has seen, at most. */
#define SEEN (LONGEST_EPOCH + 64)

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

void failure_set(failure *failure, const char *code, const char *message, const fluxbus_json *details) {
    fluxbus_error made = {copy_text(code), copy_text(message), fluxbus_json_retain(details)};
    failure_clear(failure);
    *failure = made;
}

const fluxbus_error outcome_unknown = {
    "outcome_unknown", "The connection was lost, and whether this was committed is unknown: look, then decide.", NULL};
static const fluxbus_error late = {
    "timed_out", "The bus did not answer in the time allowed; whether this was committed is unknown: look, then decide.", NULL};
static const fluxbus_error closed = {"closed", "The bus was closed by this program.", NULL};

void enter(fluxbus *bus) { bus->depth++; }

static void destroy(fluxbus *bus);

void leave(fluxbus *bus) {
    if (--bus->depth) return;
    if (bus->is_freed) destroy(bus);
    else if (bus->has_closed) sweep_subscriptions(bus, false);
}

void say(fluxbus *bus, fluxbus_phase phase, const fluxbus_error *error) {
    bus->phase = phase;
    if (error && error != &bus->error) failure_set(&bus->error, error->code, error->message, error->details);
    if (!error) failure_clear(&bus->error);
    if (bus->on_status) bus->on_status(bus, phase, error ? &bus->error : NULL, bus->context);
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

static void write_out(fluxbus *bus, request *request) {
    if (!request->written++) {
        /* There is room for it. */
        buffer seen = {request->line + request->length, 0, SEEN};
        if (request->call.is_keyed) {
            append_text(&seen, ",\"after\":");
            append_integer(&seen, bus->revision);
            append_text(&seen, ",\"epoch\":\"");
            append_text(&seen, bus->epoch);
            append_text(&seen, "\"");
        }
        append_text(&seen, "}\n");
        request->length += seen.length;
    }
    put(&bus->unanswered, request);
    append(&bus->out, request->line, request->length);
    if (bus->loop) loop_outgoing(bus->loop);
}

void write_waiting(fluxbus *bus) {
    while (bus->is_open && bus->waiting.first && bus->unanswered.count < WINDOW) {
        request *request = take(&bus->waiting);
        if (request->is_forgotten) settle(bus, request, NULL, &closed);
        else write_out(bus, request);
    }
}

/* -- Requests -- */

bool is_one_of(const char *name, const char *list) {
    size_t length = strlen(name);
    for (const char *found = list; length && (found = strstr(found, name)); found += length)
        if ((found == list || found[-1] == ' ') && (found[length] == ' ' || !found[length])) return true;
    return false;
}

static uint64_t refuse(draft *draft, const fluxbus_error *error) {
    fluxbus *bus = draft->bus;
    uint64_t number = draft->number;
    free(draft->line.bytes);
    enter(bus);
    if (draft->call.done) draft->call.done(bus, NULL, error, draft->call.context);
    leave(bus);
    return number;
}

draft begin_request(fluxbus *bus, const char *op, call call) {
    draft draft = {.bus = bus, .call = call, .number = ++bus->numbers, .is_valid = true};
    make_room(&draft.line, sizeof(request) + SEEN + 256);
    draft.line.length = sizeof(request);
    append_text(&draft.line, "{\"id\":");
    append_integer(&draft.line, (int64_t)draft.number);
    if (call.is_keyed && !call.has_key) {
        append_text(&draft.line, ",\"key\":\"");
        append_text(&draft.line, bus->prefix);
        append_text(&draft.line, "-");
        append_integer(&draft.line, (int64_t)draft.number);
        append_text(&draft.line, "\"");
    }
    if (op) append_member(&draft.line, ",\"op\":", op);
    return draft;
}

uint64_t submit(draft *draft) {
    static const fluxbus_error leaving = {"closed", "This program is closing the bus.", NULL};
    fluxbus *bus = draft->bus;
    if (bus->phase == FLUXBUS_CLOSED) return refuse(draft, bus->error.code ? &bus->error : &closed);
    if (bus->is_leaving && !draft->call.is_own) return refuse(draft, &leaving);
    make_room(&draft->line, SEEN);
    request *request = (struct request *)(void *)draft->line.bytes;
    *request = (struct request){.call = draft->call, .number = draft->number, .length = draft->line.length - sizeof *request};
    if (bus->timeout && !draft->call.is_own) request->deadline = time_of(bus) + bus->timeout;
    if (draft->call.is_own) {
        write_out(bus, request);
    } else {
        put(&bus->waiting, request);
        write_waiting(bus);
    }
    return draft->number;
}

void submit_own(fluxbus *bus, const char *body, fluxbus_done *done, void *context) {
    draft draft = begin_request(bus, NULL, (call){.done = done, .context = context, .is_own = true});
    append_text(&draft.line, body);
    submit(&draft);
}

bool append_members(buffer *line, const fluxbus_json *members) {
    if (!members) return true;
    size_t start = line->length;
    if (!is_object(members) || !append_json(line, members)) return false;
    if (members->count) line->bytes[start] = ',';
    else line->length = start;
    if (members->count) line->length--;
    return true;
}

void append_target(buffer *line, const char *target, bool is_pattern) {
    bool is_match = is_pattern && strpbrk(target, "*?");
    append_member(line, is_match ? ",\"match\":" : strchr(target, '/') ? ",\"store\":" : ",\"type\":", target);
}

static draft begin(fluxbus *bus, const char *op, const fluxbus_json *options, fluxbus_done *done, void *context) {
    bool is_keyed = !strcmp(op, "dispatch") || is_one_of(op, "create drop cancel");
    bool repeats = is_keyed || is_one_of(op, "get will stores types history blame samples sync ping stats timers clients unsubscribe");
    call call = {.done = done, .context = context, .is_keyed = is_keyed, .repeats = repeats};
    if (options && is_keyed) {
        call.is_keyed = !fluxbus_json_boolean(fluxbus_json_member(options, "dryRun"));
        call.has_key = fluxbus_json_member(options, "key");
    }
    return begin_request(bus, op, call);
}

static void take_page(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context);

/* What a request is about; NULL where it has no such member. */
typedef struct subject {
    const char *target;
    bool is_pattern;
    const char *action;
    /* What stands before the value. */
    const char *name;
    fluxbus_json *value, *options;
} subject;

static bool is_text(const char *text) { return !text || is_utf8(text, strlen(text)); }

/* Takes the values of the subject. */
static uint64_t finish(draft *draft, subject subject) {
    static const fluxbus_error invalid = {
        "invalid_request", "This can't be written as JSON: options are an object, and texts are UTF-8.", NULL};
    draft->is_valid &= is_text(subject.target) && is_text(subject.action);
    if (draft->is_valid && subject.target) append_target(&draft->line, subject.target, subject.is_pattern);
    if (draft->is_valid && subject.action) append_member(&draft->line, ",\"action\":", subject.action);
    if (subject.value) append_text(&draft->line, subject.name), draft->is_valid &= append_json(&draft->line, subject.value);
    draft->is_valid &= append_members(&draft->line, subject.options);
    fluxbus_json_release(subject.value);
    fluxbus_json_release(subject.options);
    return draft->is_valid ? submit(draft) : refuse(draft, &invalid);
}

static uint64_t ask(fluxbus *bus, const char *op, subject subject, fluxbus_done *done, void *context) {
    draft draft = begin(bus, op, subject.options, done, context);
    draft.call.gives_state = subject.target && !strcmp(op, "get") && done != take_page;
    draft.is_valid = is_text(op);
    return finish(&draft, subject);
}

uint64_t fluxbus_request(fluxbus *bus, const char *op, fluxbus_json *members, fluxbus_done *done, void *context) {
    return ask(bus, op, (subject){.options = members}, done, context);
}

uint64_t fluxbus_dispatch(fluxbus *bus, const char *target, const char *action, fluxbus_json *payload, fluxbus_json *options,
                          fluxbus_done *done, void *context) {
    return ask(bus, "dispatch", (subject){target, false, action, ",\"payload\":", payload, options}, done, context);
}

uint64_t fluxbus_create(fluxbus *bus, const char *address, fluxbus_json *state, fluxbus_json *options, fluxbus_done *done, void *context) {
    return ask(bus, "create", (subject){address, false, NULL, ",\"state\":", state, options}, done, context);
}

uint64_t fluxbus_drop(fluxbus *bus, const char *target, fluxbus_json *options, fluxbus_done *done, void *context) {
    return ask(bus, "drop", (subject){.target = target, .options = options}, done, context);
}

uint64_t fluxbus_get(fluxbus *bus, const char *address, fluxbus_json *options, fluxbus_done *done, void *context) {
    return ask(bus, "get", (subject){.target = address, .options = options}, done, context);
}

/* Actions as `[target, action, payload]`, written as the protocol has them. */
static bool append_actions(buffer *line, const fluxbus_json *actions) {
    if (fluxbus_json_kind(actions) != FLUXBUS_ARRAY) return false;
    append_text(line, ",\"actions\":[");
    for (size_t index = 0; index < actions->count; index++) {
        const fluxbus_json *step = parts_of(actions)[index], *payload = fluxbus_json_at(step, 2);
        if (index) append_text(line, ",");
        if (is_object(step)) {
            if (!append_json(line, step)) return false;
            continue;
        }
        const char *target = fluxbus_json_string(fluxbus_json_at(step, 0)), *action = fluxbus_json_string(fluxbus_json_at(step, 1));
        if (!target || !action) return false;
        size_t start = line->length;
        append_target(line, target, false);
        line->bytes[start] = '{';
        append_member(line, ",\"action\":", action);
        if (payload) append_text(line, ",\"payload\":");
        if (payload && !append_json(line, payload)) return false;
        append_text(line, "}");
    }
    append_text(line, "]");
    return true;
}

uint64_t fluxbus_batch(fluxbus *bus, fluxbus_json *actions, fluxbus_json *options, fluxbus_done *done, void *context) {
    draft draft = begin(bus, "dispatch", options, done, context);
    draft.is_valid = append_actions(&draft.line, actions);
    fluxbus_json_release(actions);
    return finish(&draft, (subject){.options = options});
}

uint64_t fluxbus_will(fluxbus *bus, fluxbus_json *actions, fluxbus_done *done, void *context) {
    draft draft = begin(bus, "will", NULL, done, context);
    size_t start = draft.line.length;
    draft.is_valid = append_actions(&draft.line, actions);
    fluxbus_json_release(actions);
    if (draft.is_valid) {
        free(bus->will);
        bus->will = sentence(",\"op\":\"will\"%.*s", (int)(draft.line.length - start), draft.line.bytes + start);
    }
    return finish(&draft, (subject){.target = NULL});
}

void fluxbus_forget(fluxbus *bus, uint64_t number) {
    for (int each = 0; each < 2; each++) {
        for (request *request = (each ? &bus->waiting : &bus->unanswered)->first; request; request = request->next)
            if (request->number == number) request->is_forgotten = true;
    }
}

/* -- Pages of states -- */

typedef struct paging {
    table states;
    char *target;
    fluxbus_json *options;
    fluxbus_done *done;
    void *context;
} paging;

static uint64_t ask_for_page(fluxbus *bus, paging *paging, const fluxbus_json *after) {
    fluxbus_json *options = fluxbus_json_retain(paging->options);
    return ask(bus, "get", (subject){paging->target, true, NULL, ",\"after\":", fluxbus_json_retain(after), options}, take_page, paging);
}

static void take_page(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context) {
    paging *paging = context;
    const fluxbus_json *states = fluxbus_json_member(reply, "states"), *next = fluxbus_json_member(reply, "next");
    for (size_t index = 0; is_object(states) && index < states->count; index++)
        table_set(&paging->states, name_at(states, index), fluxbus_json_retain(value_at(states, index)));
    if (!error && fluxbus_json_string(next)) {
        ask_for_page(bus, paging, next);
        return;
    }
    fluxbus_json *all = error ? NULL : table_object(&paging->states);
    if (paging->done) paging->done(bus, all, error, paging->context);
    fluxbus_json_release(all);
    table_clear(&paging->states);
    fluxbus_json_release(paging->options);
    free(paging->target);
    free(paging);
}

uint64_t fluxbus_states(fluxbus *bus, const char *target, fluxbus_json *options, fluxbus_done *done, void *context) {
    paging *paging = allocate(sizeof *paging);
    *paging = (struct paging){.target = copy_text(target), .options = options, .done = done, .context = context};
    return ask_for_page(bus, paging, NULL);
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

static char *ended(buffer *text) {
    append(text, "", 1);
    return text->bytes;
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
    bus->depth++;
    if (bus->phase != FLUXBUS_CLOSED) end_bus(bus, NULL);
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

void fluxbus_free(fluxbus *bus) {
    if (!bus) return;
    enter(bus);
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
    if (error) failure_set(&bus->error, error->code, error->message, error->details);
    const fluxbus_error *why = error ? &bus->error : &closed;
    bus->phase = FLUXBUS_CLOSED;
    request *request;
    while ((request = take(&bus->unanswered)) || (request = take(&bus->waiting))) {
        /* What was written once may have been committed. */
        bool is_known = !request->written || (request->call.repeats && !request->call.is_keyed);
        if (request->call.is_own) request->is_forgotten = true;
        settle(bus, request, NULL, is_known ? why : &outcome_unknown);
    }
    if (bus->loop) loop_stop(bus->loop);
    end_subscriptions(bus, error ? why : NULL);
    say(bus, FLUXBUS_CLOSED, error ? why : NULL);
    leave(bus);
}

/* -- Leaving -- */

static void left(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context) {
    (void)reply, (void)error, (void)context;
    end_bus(bus, NULL);
}

void check_leaving(fluxbus *bus) {
    if (!bus->is_leaving || bus->phase == FLUXBUS_CLOSED || bus->has_asked_to_leave) return;
    if (bus->waiting.first || bus->unanswered.first) return;
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
    bus->leave_at = time_of(bus) + milliseconds(timeout, 0);
    if (timeout <= 0) end_bus(bus, NULL);
    else check_leaving(bus);
    if (bus->loop) loop_outgoing(bus->loop);
    leave(bus);
}

static int64_t give_up_late(fluxbus *bus, queue *queue) {
    for (request *request = queue->first; request; request = request->next) {
        if (!request->deadline || request->is_forgotten) continue;
        if (request->deadline > bus->now) return request->deadline;
        request->is_forgotten = true;
        if (request->call.done) request->call.done(bus, NULL, &late, request->call.context);
        /* All are settled then. */
        if (bus->phase == FLUXBUS_CLOSED) break;
    }
    return -1;
}

int64_t fluxbus_tick(fluxbus *bus, int64_t now) {
    bus->now = now;
    enter(bus);
    /* What waits was asked for later than what was sent. */
    int64_t next = bus->timeout ? give_up_late(bus, &bus->unanswered) : -1;
    if (bus->timeout && next < 0) next = give_up_late(bus, &bus->waiting);
    if (bus->is_leaving && now >= bus->leave_at) end_bus(bus, NULL);
    if (bus->is_leaving && (next < 0 || bus->leave_at < next)) next = bus->leave_at;
    if (bus->phase == FLUXBUS_CLOSED) next = -1;
    leave(bus);
    return next;
}
