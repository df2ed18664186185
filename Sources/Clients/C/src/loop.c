/*
 * Keeps a client connected, without blocking: begins again when a connection is lost or silent. One epoll descriptor, which the
 * program watches, has the socket, a timer, and a name that is being looked up.
 */
#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 16)

typedef enum stage { STARTING, RESTING, LOOKING_UP, CONNECTING, SECURING, TALKING, STOPPED } stage;

struct loop {
    fluxbus *bus;
    stage stage;
    int epoll, timer, socket;
    uint32_t interest;
    /* The program watches the descriptor itself, and is told when there is something to send. */
    bool is_attached, is_processing;
    /* Why it never begins. */
    char *mistake;

    addresses addresses;
    size_t address;
    /* How many addresses are left in this attempt. */
    size_t untried;
    lookup *lookup;
    struct addrinfo *candidates, *candidate;
    tls_files files;
    tls *tls;

    int64_t connect_timeout, keep_alive, back_off[2];
    int64_t patience_until, attempt_until, candidate_until, retry_at, pulse_at, armed;
    unsigned attempts, silence;
    bool has_heard, was_live;
    char *input;
};

static void begin_attempt(struct loop *loop);

static int64_t clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static const address *current(const struct loop *loop) { return &loop->addresses.items[loop->address]; }

/* -- The timer -- */

static void arm(struct loop *loop, int64_t when) {
    if (when < 0 || (loop->armed > loop->bus->now && loop->armed <= when)) return;
    loop->armed = when;
    struct itimerspec at = {.it_value = {.tv_sec = (time_t)(when / 1000), .tv_nsec = (long)(when % 1000) * 1000000 + 1}};
    timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* -- The socket -- */

static void watch(struct loop *loop, uint32_t events) {
    if (loop->socket < 0 || events == loop->interest) return;
    struct epoll_event event = {.events = events, .data.fd = loop->socket};
    epoll_ctl(loop->epoll, loop->interest ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, loop->socket, &event);
    loop->interest = events;
}

static void close_socket(struct loop *loop) {
    if (loop->socket >= 0) close(loop->socket);
    loop->socket = -1;
    loop->interest = 0;
}

static void disconnect(struct loop *loop) {
    close_socket(loop);
    tls_free(loop->tls);
    loop->tls = NULL;
    if (loop->candidates) freeaddrinfo(loop->candidates);
    loop->candidates = loop->candidate = NULL;
    if (loop->lookup) {
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, lookup_fd(loop->lookup), NULL);
        lookup_drop(loop->lookup);
        loop->lookup = NULL;
    }
}

static void rest(struct loop *loop) {
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0) random = (uint32_t)loop->bus->now * 2654435761u;
    int64_t longest = loop->back_off[0];
    for (unsigned each = 0; each < loop->attempts && longest < loop->back_off[1]; each++) longest *= 2;
    if (longest > loop->back_off[1]) longest = loop->back_off[1];
    loop->attempts++;
    loop->untried = loop->addresses.count - 1;
    /* At random, so that a bus's clients do not come back in step. */
    loop->retry_at = clock_now() + longest / 2 + (int64_t)((double)(longest - longest / 2) * random / UINT32_MAX);
    loop->stage = RESTING;
}

/* The connection, or the attempt to make one, has failed. Takes the message. */
static void failed(struct loop *loop, const char *code, char *message) {
    fluxbus *bus = loop->bus;
    /* It may have ended while what came was handled. */
    if (loop->stage == STOPPED) { free(message); return; }
    bool was_talking = loop->stage == TALKING, was_open = bus->is_open;
    disconnect(loop);
    loop->stage = RESTING;
    /* Before the program is told, which may ask for the next attempt at once. */
    if (was_open) loop->attempts = 0, rest(loop);
    if (was_talking) fluxbus_lost(bus, message);
    else failure_set(&bus->error, &(fluxbus_error){code, message, NULL});
    free(message);
    if (bus->phase == FLUXBUS_CLOSED) return;
    fluxbus_error error = bus->error;
    bool is_first = !loop->was_live, goes_on = is_one_of(error.code, "unreachable untrusted timed_out limit unavailable closed");
    /* Where it was, or at the next one. */
    if (!was_open) loop->address = (loop->address + 1) % loop->addresses.count;
    if (goes_on && !was_open && loop->untried) {
        loop->untried--;
        begin_attempt(loop);
        return;
    }
    if (!goes_on || (is_first && clock_now() >= loop->patience_until)) {
        end_bus(bus, &error);
        return;
    }
    if (was_open) return;
    rest(loop);
    if (!is_first) say(bus, FLUXBUS_LOST, &error);
}

static void unreachable(struct loop *loop, const char *why) {
    failed(loop, "unreachable", sentence("Nothing answers at %s: %s.", current(loop)->text, why ? why : "what came does not follow the protocol"));
}

static void cut(struct loop *loop, const char *why) {
    if (loop->stage == TALKING) failed(loop, "closed", copy_text(why));
    else unreachable(loop, why);
}

static void talk(struct loop *loop) {
    loop->stage = TALKING;
    fluxbus_connected(loop->bus, !current(loop)->is_unix);
}

static void secure(struct loop *loop) {
    char *message = NULL;
    bool is_untrusted = false;
    int result = tls_handshake(loop->tls, &message, &is_untrusted);
    if (result > 0) talk(loop);
    if (result >= 0) return;
    if (is_untrusted) failed(loop, "untrusted", sentence("The bus can't prove that it is the one: %s.", message));
    else unreachable(loop, message);
    free(message);
}

/* False and errno if nothing can come of it. */
static bool open_socket(struct loop *loop, const struct sockaddr *place, socklen_t size) {
    close_socket(loop);
    loop->socket = socket(place->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (loop->socket < 0 || (connect(loop->socket, place, size) < 0 && errno != EINPROGRESS && errno != EINTR)) return false;
    loop->stage = CONNECTING;
    watch(loop, EPOLLIN | EPOLLOUT);
    return true;
}

/* Tries the places of a host, one after the other. */
static void try_candidates(struct loop *loop) {
    while (loop->candidate) {
        struct addrinfo *candidate = loop->candidate;
        loop->candidate = candidate->ai_next;
        /* What is sent to one may be lost, so others have the rest of the time. */
        loop->candidate_until = (clock_now() + loop->attempt_until) / 2;
        if (open_socket(loop, candidate->ai_addr, candidate->ai_addrlen)) return;
    }
    unreachable(loop, strerror(errno));
}

static void finish_connecting(struct loop *loop) {
    struct pollfd ready = {.fd = loop->socket, .events = POLLOUT};
    bool is_ready = poll(&ready, 1, 0) == 1;
    if (!is_ready && (!loop->candidate || clock_now() < loop->candidate_until)) return;
    int failure = is_ready ? 0 : ETIMEDOUT, yes = 1;
    socklen_t size = sizeof failure;
    char *message = NULL;
    if (is_ready) getsockopt(loop->socket, SOL_SOCKET, SO_ERROR, &failure, &size);
    if (failure) {
        errno = failure;
        try_candidates(loop);
        return;
    }
    watch(loop, EPOLLIN);
    if (!current(loop)->is_unix) setsockopt(loop->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    loop->stage = SECURING;
    if (!current(loop)->is_tls) talk(loop);
    else if ((loop->tls = tls_start(&loop->files, current(loop)->host, &message))) secure(loop);
    else failed(loop, "invalid_options", sentence("There can be no connection to %s: %s.", current(loop)->text, message));
    free(message);
}

static void begin_attempt(struct loop *loop) {
    const address *address = current(loop);
    loop->attempt_until = clock_now() + loop->connect_timeout / (int64_t)loop->addresses.count;
    if (address->is_unix) {
        struct sockaddr_un place = unix_address(address);
        if (!open_socket(loop, (struct sockaddr *)&place, sizeof place)) unreachable(loop, strerror(errno));
        return;
    }
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    if (!getaddrinfo(address->host, address->port, &wanted, &loop->candidates)) {
        loop->candidate = loop->candidates;
        try_candidates(loop);
        return;
    }
    struct epoll_event event = {.events = EPOLLIN};
    loop->stage = LOOKING_UP;
    if (!(loop->lookup = lookup_start(address))) unreachable(loop, strerror(errno));
    else epoll_ctl(loop->epoll, EPOLL_CTL_ADD, lookup_fd(loop->lookup), &event);
}

static void finish_lookup(struct loop *loop) {
    struct addrinfo *found = NULL;
    int error = 0;
    if (!lookup_done(loop->lookup, &found, &error)) return;
    disconnect(loop);
    loop->candidates = loop->candidate = found;
    if (error) unreachable(loop, gai_strerror(error));
    else try_candidates(loop);
}

/* -- Bytes -- */

static void hear(struct loop *loop, size_t length) {
    if (!loop->tls && !fluxbus_received(loop->bus, loop->input, length)) cut(loop, NULL);
    if (!loop->tls) return;
    tls_take(loop->tls, loop->input, length);
    if (loop->stage == SECURING) secure(loop);
    while (loop->stage == TALKING) {
        long plain = tls_read(loop->tls, loop->input, CHUNK);
        if (plain == 0) return;
        if (plain < 0) cut(loop, "the connection was lost");
        else if (!fluxbus_received(loop->bus, loop->input, (size_t)plain)) cut(loop, NULL);
    }
}

static void read_socket(struct loop *loop) {
    /* So often at most, before the program has its turn again. */
    for (int turn = 0; turn < 16 && (loop->stage == TALKING || loop->stage == SECURING); turn++) {
        ssize_t length = recv(loop->socket, loop->input, CHUNK, 0);
        if (length > 0) {
            loop->has_heard = true;
            hear(loop, (size_t)length);
            if ((size_t)length < CHUNK) return;
        } else if (length == 0) {
            cut(loop, "the connection was lost");
        } else if (errno != EINTR) {
            if (errno != EAGAIN) cut(loop, strerror(errno));
            return;
        }
    }
}

/* What goes over the socket next. */
static const void *outgoing(struct loop *loop, size_t *length) {
    if (!loop->tls) return fluxbus_outgoing(loop->bus, length);
    const void *secured = tls_outgoing(loop->tls, length);
    if (*length || loop->stage != TALKING) return secured;
    const void *plain = fluxbus_outgoing(loop->bus, length);
    if (*length > CHUNK) *length = CHUNK;
    if (*length && tls_write(loop->tls, plain, *length)) fluxbus_sent(loop->bus, *length);
    return tls_outgoing(loop->tls, length);
}

static void flush(struct loop *loop) {
    size_t length = 0;
    while (loop->stage == TALKING || loop->stage == SECURING) {
        const void *bytes = outgoing(loop, &length);
        if (!length) {
            watch(loop, EPOLLIN);
            return;
        }
        ssize_t sent = send(loop->socket, bytes, length, MSG_NOSIGNAL);
        if (sent >= 0) {
            if (loop->tls) tls_sent(loop->tls, (size_t)sent);
            else fluxbus_sent(loop->bus, (size_t)sent);
        } else if (errno != EINTR) {
            /* Of a bus that is gone, what it said before is still to be read, and then its end. */
            watch(loop, errno == EAGAIN ? EPOLLIN | EPOLLOUT : EPOLLIN);
            return;
        }
    }
}

static void schedule(struct loop *loop) {
    fluxbus *bus = loop->bus;
    int64_t next = fluxbus_tick(bus, clock_now());
    /* Behind what is asked for when something is late. */
    flush(loop);
    if (loop->stage == STOPPED) return;
    arm(loop, next);
    if (loop->stage == CONNECTING && loop->candidate) arm(loop, loop->candidate_until);
    arm(loop, loop->stage == RESTING ? loop->retry_at : bus->is_open ? loop->pulse_at : loop->attempt_until);
}

/* Asks a bus that is silent whether it is there, and gives up a connection that stays silent. */
static void beat(struct loop *loop) {
    if (!loop->bus->is_open || loop->bus->now < loop->pulse_at) return;
    loop->silence = loop->has_heard ? 0 : loop->silence + 1;
    loop->has_heard = false;
    loop->pulse_at = loop->bus->now + loop->keep_alive;
    if (loop->silence == 1) submit_own(loop->bus, ",\"op\":\"ping\"", NULL, NULL);
    if (loop->silence >= 2) cut(loop, "the bus has said nothing for a long time");
}

static void step(struct loop *loop) {
    fluxbus *bus = loop->bus;
    switch (loop->stage) {
    case STARTING:
        loop->untried = loop->addresses.count - 1;
        if (loop->mistake) end_bus(bus, &(fluxbus_error){"invalid_address", loop->mistake, NULL});
        else begin_attempt(loop);
        break;
    case RESTING:
        if (bus->now >= loop->retry_at) begin_attempt(loop);
        break;
    case LOOKING_UP: finish_lookup(loop); break;
    case CONNECTING: finish_connecting(loop); break;
    case SECURING:
    case TALKING: read_socket(loop); break;
    case STOPPED: return;
    }
    if (loop->stage >= LOOKING_UP && loop->stage <= TALKING && !bus->is_open && clock_now() >= loop->attempt_until) {
        static const char late[] = "The bus did not answer in the time allowed; see whether it is busy.";
        /* It is no answer to a request, which may wait for another connection. */
        if (loop->stage == TALKING) loop->stage = CONNECTING, fluxbus_lost(bus, late);
        failed(loop, "timed_out", copy_text(late));
    }
}

bool fluxbus_process(fluxbus *bus) {
    struct loop *loop = bus->loop;
    if (!loop || bus->depth) return false;
    enter(bus);
    loop->is_processing = true;
    bool was_open = bus->is_open;
    fluxbus_tick(bus, clock_now());
    if (loop->armed && bus->now >= loop->armed && loop->stage != STOPPED) {
        uint64_t count;
        if (read(loop->timer, &count, sizeof count) != 0) loop->armed = 0;
    }
    step(loop);
    if (bus->is_open && !was_open) {
        loop->was_live = true;
        loop->attempts = loop->silence = 0;
        loop->pulse_at = clock_now() + loop->keep_alive;
    }
    beat(loop);
    check_leaving(bus);
    schedule(loop);
    loop->is_processing = false;
    bool goes_on = !bus->is_freed && bus->phase != FLUXBUS_CLOSED;
    leave(bus);
    return goes_on;
}

void loop_outgoing(struct loop *loop) {
    if (!loop->is_attached || loop->is_processing) return;
    if (loop->bus->due) arm(loop, loop->bus->due);
    if (loop->stage == TALKING) watch(loop, EPOLLIN | EPOLLOUT);
}

void loop_stop(struct loop *loop) {
    disconnect(loop);
    loop->stage = STOPPED;
    /* The descriptor stays ready, so that whoever watches it is told. */
    struct itimerspec at = {.it_value = {.tv_nsec = 1}};
    timerfd_settime(loop->timer, 0, &at, NULL);
}

void loop_free(struct loop *loop) {
    disconnect(loop);
    close(loop->epoll);
    close(loop->timer);
    addresses_free(&loop->addresses);
    char *texts[] = {loop->mistake, loop->files.ca, loop->files.cert, loop->files.key, loop->input};
    for (size_t index = 0; index < sizeof texts / sizeof *texts; index++) free(texts[index]);
    free(loop);
}

/* -- For the program -- */

static char *option_or(const char *given, const char *variable) {
    const char *value = given ? given : variable ? getenv(variable) : NULL;
    return value && *value ? copy_text(value) : NULL;
}

fluxbus *fluxbus_connect(const char *address, const fluxbus_options *given) {
    fluxbus_options options = given ? *given : (fluxbus_options){0};
    fluxbus *bus = fluxbus_new(&options);
    struct loop *loop = allocate(sizeof *loop);
    *loop = (struct loop){.bus = bus, .socket = -1, .input = allocate(CHUNK)};
    loop->mistake = addresses_read(&loop->addresses, address);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN};
    if (!loop->mistake && (loop->epoll < 0 || loop->timer < 0)) loop->mistake = sentence("There is no descriptor left: %s.", strerror(errno));
    epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->timer, &event);
    /* A certificate that is given is not paired with the environment's key. */
    bool is_given = options.cert || options.key;
    loop->files.ca = option_or(options.ca, "FLUXBUS_CA");
    loop->files.cert = option_or(options.cert, is_given ? NULL : "FLUXBUS_CERTIFICATE");
    loop->files.key = option_or(options.key, is_given ? NULL : "FLUXBUS_KEY");
    loop->connect_timeout = milliseconds(options.connect_timeout, 5);
    loop->keep_alive = milliseconds(options.keep_alive, 30);
    loop->back_off[0] = milliseconds(options.back_off[0], 0.05), loop->back_off[1] = milliseconds(options.back_off[1], 10);
    bus->loop = loop, bus->clock = clock_now;
    loop->patience_until = time_of(bus) + (options.patience > 0 ? milliseconds(options.patience, 0) : 0);
    arm(loop, bus->now);
    return bus;
}

int fluxbus_get_fd(fluxbus *bus) {
    if (!bus->loop) return -1;
    bus->loop->is_attached = true;
    loop_outgoing(bus->loop);
    return bus->loop->epoll;
}

int fluxbus_get_events(const fluxbus *bus) { return (void)bus, POLLIN; }

bool fluxbus_wait(fluxbus *bus, double seconds) {
    struct loop *loop = bus->loop;
    if (!loop || bus->depth) return false;
    enter(bus);
    schedule(loop);
    struct pollfd ready = {.fd = bus->is_freed ? -1 : loop->epoll, .events = POLLIN};
    leave(bus);
    if (ready.fd < 0) return false;
    poll(&ready, 1, seconds < 0 || seconds > 2e6 ? -1 : (int)(seconds * 1000 + 0.999));
    return fluxbus_process(bus);
}

void fluxbus_run(fluxbus *bus) { while (fluxbus_wait(bus, -1)) continue; }

void fluxbus_reconnect(fluxbus *bus) {
    if (!bus->loop || bus->loop->stage != RESTING) return;
    arm(bus->loop, bus->loop->retry_at = time_of(bus));
}

void fluxbus_close(fluxbus *bus, double timeout) {
    enter(bus);
    fluxbus_leave(bus, timeout);
    bool is_freed = bus->is_freed;
    leave(bus);
    if (!is_freed) fluxbus_run(bus);
}

void fluxbus_keep(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context) {
    (void)bus;
    fluxbus_pending *pending = context;
    fluxbus_error kept = error ? *error : (fluxbus_error){0};
    fluxbus_pending_clear(pending);
    *pending = (fluxbus_pending){true, fluxbus_json_retain(reply), copy_text(kept.code), copy_text(kept.message), fluxbus_json_retain(kept.details)};
}

bool fluxbus_await(fluxbus *bus, fluxbus_pending *pending) {
    while (!pending->is_done && fluxbus_wait(bus, -1)) continue;
    return pending->reply;
}

void fluxbus_pending_clear(fluxbus_pending *pending) {
    fluxbus_json_release(pending->reply);
    fluxbus_json_release(pending->details);
    free(pending->code);
    free(pending->message);
    *pending = (fluxbus_pending){0};
}
