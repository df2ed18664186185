/* What mirrors and action streams have in common. */
#pragma once

#include "machine.h"

struct subscription {
    fluxbus *bus;
    subscription *next;
    bool is_mirror;
    /* The program has closed it: it is freed when nobody refers to it. */
    bool is_closed;
    /* Its end was told. */
    bool has_ended;
    /* Its number on this connection; 0 while there is none. */
    int64_t number;
    /* How many requests refer to it. */
    unsigned asked;
    char *body;
    /* What was seen last; no epoch: nothing. */
    int64_t revision;
    char epoch[LONGEST_EPOCH + 1];
    void *context;
};

struct fluxbus_mirror {
    subscription base;
    fluxbus_changed *changed;
    table states;
    /* A change, of which more parts may come. */
    table news;
    bool is_reset;
    fluxbus_json *cause;
};

struct fluxbus_actions {
    subscription base;
    fluxbus_acted *acted;
    /* What was told last. */
    int64_t seen_revision, seen_index;
};

/* Adds it to the bus. Takes the options. */
void open_subscription(fluxbus *bus, subscription *subscription, const char *target, fluxbus_json *options, const char *kind, void *context);
void close_subscription(subscription *subscription);
/* It has seen everything up to this revision of the epoch. */
void stand(subscription *subscription, int64_t revision);

void tell_change(fluxbus_mirror *mirror, const fluxbus_change *change, const fluxbus_error *error);
/* False where a change before it is missing. */
bool take_change(fluxbus_mirror *mirror, const fluxbus_json *event);
void forget_parts(fluxbus_mirror *mirror);
