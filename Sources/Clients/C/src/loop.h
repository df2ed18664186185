/* Sockets: where a bus is, how its connection is secured, and the loop that keeps a client connected. */
#pragma once

#include "machine.h"

#include <netdb.h>
#include <sys/un.h>

/* An address may have so many bytes. */
#define LONGEST_ADDRESS 512

typedef struct address {
    /* As it is written, for messages. */
    char *text;
    bool is_unix, is_tls;
    /* A path, or a host. */
    char *host;
    char port[6];
} address;

typedef struct addresses {
    address *items;
    size_t count;
} addresses;

/* Reads the addresses in a text, or finds the usual ones without it. NULL, or what is wrong, to be freed. */
char *addresses_read(addresses *addresses, const char *text);
void addresses_free(addresses *addresses);
struct sockaddr_un unix_address(const address *address);

/* A name that is looked up by a thread, because the C library has no way that does not block. */
typedef struct lookup lookup;

/* NULL and errno where there can be no thread. */
lookup *lookup_start(const address *address);
/* A descriptor that is readable when it is done. */
int lookup_fd(const lookup *lookup);
/* Whether it is done; then what was found, or an error of getaddrinfo. */
bool lookup_done(lookup *lookup, struct addrinfo **found, int *error);
void lookup_drop(lookup *lookup);

/* One end of a TLS connection, over memory. */
typedef struct tls tls;

typedef struct tls_files {
    char *ca, *cert, *key;
} tls_files;

/* NULL and a message, to be freed, where it can't be. */
tls *tls_start(const tls_files *files, const char *host, char **message);
void tls_free(tls *tls);
void tls_take(tls *tls, const void *bytes, size_t length);
/* 1 when the handshake is done, 0 while it is not, -1 and a message when it has failed; `is_untrusted` says for whom. */
int tls_handshake(tls *tls, char **message, bool *is_untrusted);
/* The bytes that are read, 0 where more must come, -1 at the end. */
long tls_read(tls *tls, void *bytes, size_t length);
bool tls_write(tls *tls, const void *bytes, size_t length);
const void *tls_outgoing(tls *tls, size_t *length);
void tls_sent(tls *tls, size_t length);
