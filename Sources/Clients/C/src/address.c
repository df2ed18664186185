/* Where a bus is: addresses, and the names of hosts in them. */
#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

static const char separators[] = ", \t\r\n";

static char *malformed(const char *text) {
    return sentence("`%s` is not an address of a bus: write unix:/path/to/socket, tcp:HOST:PORT or tls:HOST:PORT.", text);
}

static char *read_host(address *address, char *rest) {
    char *colon = strrchr(rest, ':'), *end = NULL;
    long port = colon && colon[1] >= '0' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : 0;
    if (port < 1 || port > 65535 || *end) return malformed(address->text);
    *colon = 0;
    size_t length = strlen(rest);
    bool is_bracketed = length > 2 && rest[0] == '[' && rest[length - 1] == ']';
    if (is_bracketed) rest[length - 1] = 0, rest++;
    else if (!length || strpbrk(rest, ":[]")) return malformed(address->text);
    address->host = copy_text(rest);
    snprintf(address->port, sizeof address->port, "%ld", port);
    return NULL;
}

static char *read_address(address *address, const char *text) {
    char copy[LONGEST_ADDRESS];
    address->text = copy_text(text);
    if (strlen(text) >= sizeof copy) return malformed(text);
    strcpy(copy, text);
    if (!strncmp(text, "unix:/", 6)) {
        address->is_unix = true;
        address->host = copy_text(text + 5);
        if (strlen(address->host) < sizeof((struct sockaddr_un *)0)->sun_path) return NULL;
        return sentence("The path of a Unix socket may have 107 bytes, this one has %zu.", strlen(address->host));
    }
    address->is_tls = !strncmp(text, "tls:", 4);
    if (!address->is_tls && strncmp(text, "tcp:", 4) != 0) return malformed(text);
    return read_host(address, copy + 4);
}

static char *usual(void) {
    const char *named = getenv("FLUXBUS_ADDRESS"), *directory = getenv("XDG_RUNTIME_DIR");
    if (named && named[strspn(named, separators)]) return copy_text(named);
    char *own = sentence("unix:%s/fluxbus/bus.sock", directory ? directory : "");
    struct stat status;
    bool is_there = directory && directory[0] == '/' && !stat(own + 5, &status) && S_ISSOCK(status.st_mode);
    if (is_there) return own;
    free(own);
    return copy_text("unix:/run/fluxbus/bus.sock");
}

char *addresses_read(addresses *addresses, const char *given) {
    char *text = given ? copy_text(given) : usual(), *mistake = NULL, *state = NULL;
    for (char *word = strtok_r(text, separators, &state); word && !mistake; word = strtok_r(NULL, separators, &state)) {
        addresses->items = reallocate(addresses->items, addresses->count + 1, sizeof *addresses->items);
        addresses->items[addresses->count] = (address){0};
        mistake = read_address(&addresses->items[addresses->count++], word);
    }
    if (!addresses->count) mistake = malformed(given ? given : "");
    free(text);
    return mistake;
}

void addresses_free(addresses *addresses) {
    for (size_t index = 0; index < addresses->count; index++) {
        free(addresses->items[index].text);
        free(addresses->items[index].host);
    }
    free(addresses->items);
    *addresses = (struct addresses){0};
}

struct sockaddr_un unix_address(const address *address) {
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    strcpy(place.sun_path, address->host);
    return place;
}

/* -- Names -- */

struct lookup {
    /* The thread, and who waits for it: the last one frees it. */
    atomic_int owners;
    atomic_bool is_done;
    int event, error;
    struct addrinfo *found;
    char *host, port[6];
};

void lookup_drop(lookup *lookup) {
    if (atomic_fetch_sub(&lookup->owners, 1) != 1) return;
    if (lookup->found) freeaddrinfo(lookup->found);
    close(lookup->event);
    free(lookup->host);
    free(lookup);
}

static void *look_up(void *context) {
    lookup *lookup = context;
    struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    lookup->error = getaddrinfo(lookup->host, lookup->port, &wanted, &lookup->found);
    atomic_store(&lookup->is_done, true);
    eventfd_write(lookup->event, 1);
    lookup_drop(lookup);
    return NULL;
}

lookup *lookup_start(const address *address) {
    lookup *lookup = allocate(sizeof *lookup);
    memset(lookup, 0, sizeof *lookup);
    lookup->host = copy_text(address->host);
    memcpy(lookup->port, address->port, sizeof lookup->port);
    lookup->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_init(&lookup->owners, 2);
    sigset_t all, before;
    pthread_t thread;
    /* The program's signals are none of this thread's business. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = lookup->event < 0 ? errno : pthread_create(&thread, NULL, look_up, lookup);
    if (!failure) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failure) return lookup;
    atomic_store(&lookup->owners, 1);
    lookup_drop(lookup);
    errno = failure;
    return NULL;
}

int lookup_fd(const lookup *lookup) { return lookup->event; }

bool lookup_done(lookup *lookup, struct addrinfo **found, int *error) {
    if (!atomic_load(&lookup->is_done)) return false;
    *found = lookup->found;
    *error = lookup->error;
    lookup->found = NULL;
    return true;
}
