/*
 * What a program subscribes to, from one connection to the next. Each subscription knows what it has seen, and asks for what comes
 * after that. One that the program closes stays in the list until no function that may look at it is under way.
 */
#include "subscription.h"

#include <stdlib.h>

static fluxbus_mirror *mirror_of(subscription *subscription) { return (fluxbus_mirror *)(void *)subscription; }
static fluxbus_actions *actions_of(subscription *subscription) { return (fluxbus_actions *)(void *)subscription; }

void stand(subscription *subscription, int64_t revision) {
    subscription->revision = revision;
    memcpy(subscription->epoch, subscription->bus->epoch, sizeof subscription->epoch);
}

void tell_change(fluxbus_mirror *mirror, const fluxbus_change *change, const fluxbus_error *error) {
    if (mirror->changed) mirror->changed(mirror, change, error, mirror->base.context);
}

static void tell_action(fluxbus_actions *actions, const fluxbus_action *action, const fluxbus_error *error) {
    if (actions->acted) actions->acted(actions, action, error, actions->base.context);
}

static void tell_end(subscription *subscription, const fluxbus_error *error) {
    if (subscription->has_ended || subscription->is_closed) return;
    subscription->has_ended = true;
    if (subscription->is_mirror) tell_change(mirror_of(subscription), NULL, error);
    else tell_action(actions_of(subscription), NULL, error);
}

/* -- Asking -- */

static void unsubscribe(fluxbus *bus, int64_t number) {
    char *body = sentence(",\"op\":\"unsubscribe\",\"sub\":%lld", (long long)number);
    submit_own(bus, body, NULL, NULL);
    free(body);
}

static void granted(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context) {
    subscription *subscription = context;
    int64_t number = fluxbus_json_integer(fluxbus_json_member(reply, "sub"));
    subscription->asked--;
    if (subscription->is_closed) {
        if (reply) unsubscribe(bus, number);
        bus->has_closed = true;
        return;
    }
    if (error) tell_end(subscription, error);
    else subscription->number = number;
    if (error || subscription->is_mirror || subscription->epoch[0]) return;
    fluxbus_action gap = {.gap = true, .revision = fluxbus_json_integer(fluxbus_json_member(reply, "revision"))};
    stand(subscription, gap.revision);
    tell_action(actions_of(subscription), &gap, NULL);
}

static void follow(subscription *subscription) {
    draft draft = begin_request(subscription->bus, NULL, (call){.done = granted, .context = subscription, .is_own = true});
    append_text(&draft.line, subscription->body);
    if (subscription->epoch[0]) {
        append_member(&draft.line, ",\"epoch\":", subscription->epoch);
        append_text(&draft.line, ",\"since\":");
        append_integer(&draft.line, subscription->revision);
    }
    if (subscription->is_mirror) forget_parts(mirror_of(subscription));
    subscription->asked++;
    submit(&draft);
}

void open_subscription(fluxbus *bus, subscription *subscription, const char *target, fluxbus_json *options, const char *kind, void *context) {
    static const fluxbus_error invalid = {"invalid_request", "Options are an object without `id`, `ack` and `timeout`; a target is UTF-8.", NULL};
    buffer body = {0};
    append_text(&body, ",\"op\":\"subscribe\"");
    append_target(&body, target, true);
    append_text(&body, kind);
    bool is_valid = is_utf8(target, strlen(target)) && !fluxbus_json_member(options, "timeout") && append_members(&body, options);
    fluxbus_json_release(options);
    subscription->bus = bus, subscription->body = ended(&body), subscription->context = context;
    struct subscription **last = &bus->subscriptions;
    while (*last) last = &(*last)->next;
    *last = subscription;
    enter(bus);
    if (!is_valid) tell_end(subscription, &invalid);
    else if (bus->phase == FLUXBUS_CLOSED) tell_end(subscription, fluxbus_get_error(bus));
    else if (bus->is_open) follow(subscription);
    leave(bus);
}

void close_subscription(subscription *subscription) {
    if (!subscription || subscription->is_closed) return;
    fluxbus *bus = subscription->bus;
    enter(bus);
    subscription->is_closed = bus->has_closed = true;
    if (subscription->number && bus->is_open && !subscription->has_ended) unsubscribe(bus, subscription->number);
    subscription->number = 0;
    leave(bus);
}

/* -- Actions -- */

static void take_action(fluxbus_actions *actions, const fluxbus_json *event) {
    const char *kind = fluxbus_json_string(fluxbus_json_member(event, "event"));
    int64_t revision = fluxbus_json_integer(fluxbus_json_member(event, "revision"));
    int64_t index = fluxbus_json_integer(fluxbus_json_member(event, "index"));
    fluxbus_action told = {.gap = kind && !strcmp(kind, "gap"), .revision = revision};
    if (kind && !strcmp(kind, "action")) {
        /* A connection may be lost between those of one commit: all are asked for again, and what was seen is left out. */
        bool is_new = revision > actions->seen_revision || (revision == actions->seen_revision && index > actions->seen_index);
        if (!is_new && !strcmp(actions->base.epoch, actions->base.bus->epoch)) return;
        /* One without an index is the only one of its commit, which is not asked for again. */
        stand(&actions->base, revision - (fluxbus_json_member(event, "index") != NULL));
        actions->seen_revision = revision;
        actions->seen_index = index;
        const char *store = fluxbus_json_string(fluxbus_json_member(event, "store"));
        told.target = store ? store : fluxbus_json_string(fluxbus_json_member(event, "type"));
        told.action = fluxbus_json_string(fluxbus_json_member(event, "action"));
        told.payload = fluxbus_json_member(event, "payload");
        told.by = fluxbus_json_member(event, "by");
        told.time = fluxbus_json_number(fluxbus_json_member(event, "time"));
        told.result = fluxbus_json_member(event, "result");
        told.results = fluxbus_json_member(event, "results");
        told.traceparent = fluxbus_json_string(fluxbus_json_member(event, "traceparent"));
    } else if (told.gap || (kind && !strcmp(kind, "bookmark"))) {
        stand(&actions->base, revision);
        actions->seen_revision = 0;
        actions->seen_index = -1;
        if (!told.gap) return;
    } else {
        return;
    }
    tell_action(actions, &told, NULL);
}

/* -- The bus -- */

static void discard(subscription *subscription) {
    if (subscription->is_mirror) forget_parts(mirror_of(subscription));
    if (subscription->is_mirror) table_clear(&mirror_of(subscription)->states);
    free(subscription->body);
    free(subscription);
}

void sweep_subscriptions(fluxbus *bus, bool all) {
    bus->has_closed = false;
    for (subscription **at = &bus->subscriptions; *at;) {
        subscription *each = *at;
        if (all || (each->is_closed && !each->asked)) {
            *at = each->next;
            discard(each);
        } else {
            at = &each->next;
        }
    }
}

void resume_subscriptions(fluxbus *bus) {
    for (subscription *each = bus->subscriptions; each; each = each->next) if (!each->is_closed && !each->has_ended) follow(each);
}

void cut_subscriptions(fluxbus *bus) {
    for (subscription *each = bus->subscriptions; each; each = each->next) {
        each->number = 0;
        each->asked = 0;
        bus->has_closed |= each->is_closed;
    }
}

void end_subscriptions(fluxbus *bus, const fluxbus_error *error) {
    cut_subscriptions(bus);
    for (subscription *each = bus->subscriptions; each; each = each->next) tell_end(each, error);
}

bool take_event(fluxbus *bus, const fluxbus_json *event) {
    const fluxbus_json *revision = fluxbus_json_member(event, "revision");
    int64_t number = fluxbus_json_integer(fluxbus_json_member(event, "sub"));
    subscription *found = bus->subscriptions;
    while (found && (found->number != number || found->is_closed)) found = found->next;
    if (!found || !number || fluxbus_json_kind(revision) != FLUXBUS_INTEGER) return true;
    if (found->is_mirror && !take_change(mirror_of(found), event)) return false;
    if (!found->is_mirror) take_action(actions_of(found), event);
    bool is_whole = !fluxbus_json_boolean(fluxbus_json_member(event, "more"));
    if (is_whole && fluxbus_json_integer(revision) > bus->revision) bus->revision = fluxbus_json_integer(revision);
    return true;
}

fluxbus_actions *fluxbus_actions_open(fluxbus *bus, const char *target, fluxbus_json *options, fluxbus_acted *acted, void *context) {
    fluxbus_actions *actions = allocate(sizeof *actions);
    *actions = (fluxbus_actions){.acted = acted, .seen_index = -1};
    open_subscription(bus, &actions->base, target, options, ",\"actions\":true", context);
    return actions;
}

void fluxbus_actions_close(fluxbus_actions *actions) { close_subscription(actions ? &actions->base : NULL); }
