/*
 * What a program asks for, as lines of the protocol. A request is encoded once, in the memory that it stands in; what it had seen is
 * added when it is first written.
 */
#include "machine.h"

#include <stdlib.h>

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
    if (bus->is_leaving && !draft->call.is_own && !draft->call.goes_on) return refuse(draft, &leaving);
    make_room(&draft->line, SEEN);
    request *request = (struct request *)(void *)draft->line.bytes;
    strcpy(draft->line.bytes + draft->line.length, draft->call.names_revision ? bus->epoch : "");
    *request = (struct request){.call = draft->call, .number = draft->number, .length = draft->line.length - sizeof *request};
    int64_t timeout = draft->call.timeout ? draft->call.timeout : bus->timeout;
    if (draft->call.is_own) {
        write_out(bus, request);
    } else {
        if (timeout) expect(bus, request->deadline = time_of(bus) + timeout);
        put(&bus->waiting, request);
        write_waiting(bus);
    }
    if (bus->loop) loop_outgoing(bus->loop);
    return draft->number;
}

void submit_own(fluxbus *bus, const char *body, fluxbus_done *done, void *context) {
    draft draft = begin_request(bus, NULL, (call){.done = done, .context = context, .is_own = true});
    append_text(&draft.line, body);
    submit(&draft);
}

bool append_members(buffer *line, const fluxbus_json *members) {
    if (!members) return true;
    if (!is_object(members) || fluxbus_json_member(members, "id") || fluxbus_json_member(members, "ack")) return false;
    for (size_t index = 0; index < members->count; index++) {
        const fluxbus_json *name = name_at(members, index);
        if (!strcmp(text_of(name), "timeout")) continue;
        append_text(line, ",");
        append_quoted(line, text_of(name), name->count);
        append_text(line, ":");
        if (!append_json(line, value_at(members, index))) return false;
    }
    return true;
}

void append_target(buffer *line, const char *target, bool is_pattern) {
    bool is_match = is_pattern && strpbrk(target, "*?");
    append_member(line, is_match ? ",\"match\":" : strchr(target, '/') ? ",\"store\":" : ",\"type\":", target);
}

/* Notes what is particular about the members of a request, or of the elements of a batch. */
static void note(call *call, const fluxbus_json *value) {
    const fluxbus_json *steps = is_object(value) ? fluxbus_json_member(value, "actions") : value;
    call->is_ephemeral |= fluxbus_json_boolean(fluxbus_json_member(value, "ephemeral"));
    for (size_t index = 0; is_object(value) && index < value->count; index++)
        call->names_revision |= is_one_of(text_of(name_at(value, index)), "ifRevision revision since until");
    for (size_t index = 0; index < fluxbus_json_count(steps); index++)
        if (is_object(fluxbus_json_at(steps, index))) note(call, fluxbus_json_at(steps, index));
}

static draft begin(fluxbus *bus, const char *op, const fluxbus_json *options, fluxbus_done *done, void *context) {
    bool is_keyed = !strcmp(op, "dispatch") || is_one_of(op, "create drop cancel");
    bool repeats = is_keyed || is_one_of(op, "get will stores types history blame samples sync ping stats timers clients");
    call call = {.done = done, .context = context, .repeats = repeats, .is_will = !strcmp(op, "will")};
    call.is_keyed = is_keyed && !fluxbus_json_boolean(fluxbus_json_member(options, "dryRun"));
    call.has_key = fluxbus_json_member(options, "key");
    call.has_seen = fluxbus_json_member(options, "after") || fluxbus_json_member(options, "epoch");
    note(&call, options);
    call.timeout = milliseconds(fluxbus_json_number(fluxbus_json_member(options, "timeout")), 0);
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
    static const fluxbus_error invalid = {"invalid_request", "This can't be written as a request: options are an object without `id`, "
        "which the client sets itself, and without `ack`, as it needs all replies; texts are UTF-8.", NULL};
    draft->is_valid &= is_text(subject.target) && is_text(subject.action);
    if (draft->is_valid && draft->call.gives_state) append_member(&draft->line, ",\"store\":", subject.target);
    else if (draft->is_valid && subject.target) append_target(&draft->line, subject.target, subject.is_pattern);
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
    draft.call.goes_on = done == take_page && subject.value;
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
    note(&draft.call, actions);
    draft.is_valid = append_actions(&draft.line, actions);
    fluxbus_json_release(actions);
    return finish(&draft, (subject){.options = options});
}

uint64_t fluxbus_will(fluxbus *bus, fluxbus_json *actions, fluxbus_done *done, void *context) {
    draft draft = begin(bus, "will", NULL, done, context);
    draft.is_valid = append_actions(&draft.line, actions);
    fluxbus_json_release(actions);
    return finish(&draft, (subject){.target = NULL});
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

/* -- Giving up -- */

void fluxbus_forget(fluxbus *bus, uint64_t number) {
    enter(bus);
    for (int each = 0; each < 2; each++)
        for (request *request = (each ? &bus->waiting : &bus->unanswered)->first; request; request = request->next) {
            if (request->number != number || request->is_forgotten) continue;
            paging *paging = request->call.done == take_page ? request->call.context : NULL;
            /* Of what it has read so far nobody is told. */
            if (paging) paging->done = NULL, take_page(bus, NULL, &closed, paging);
            request->is_forgotten = bus->has_forgotten = true;
        }
    leave(bus);
}
