/*
 * Ends the program with a sentence where the C client would block: linked with `-Wl,--wrap=…` in front of what it calls. Names may be
 * looked up by a thread of the library's own, and nowhere else.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int __real_poll(struct pollfd *places, nfds_t count, int timeout);
ssize_t __real_recv(int descriptor, void *bytes, size_t length, int flags);
ssize_t __real_send(int descriptor, const void *bytes, size_t length, int flags);
int __real_connect(int descriptor, const struct sockaddr *place, socklen_t size);
int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *wanted, struct addrinfo **found);

static void expect(int is_right, const char *call)
{
	if (is_right) return;
	fprintf(stderr, "%s would block.\n", call);
	abort();
}

static int is_immediate(int descriptor) { return fcntl(descriptor, F_GETFL) & O_NONBLOCK; }

int __wrap_poll(struct pollfd *places, nfds_t count, int timeout)
{
	expect(timeout == 0, "poll");
	return __real_poll(places, count, timeout);
}

ssize_t __wrap_recv(int descriptor, void *bytes, size_t length, int flags)
{
	expect(is_immediate(descriptor), "recv");
	return __real_recv(descriptor, bytes, length, flags);
}

ssize_t __wrap_send(int descriptor, const void *bytes, size_t length, int flags)
{
	expect(is_immediate(descriptor), "send");
	return __real_send(descriptor, bytes, length, flags);
}

int __wrap_connect(int descriptor, const struct sockaddr *place, socklen_t size)
{
	expect(is_immediate(descriptor), "connect");
	return __real_connect(descriptor, place, size);
}

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *wanted, struct addrinfo **found)
{
	expect((wanted->ai_flags & AI_NUMERICHOST) || gettid() != getpid(), "getaddrinfo");
	return __real_getaddrinfo(host, port, wanted, found);
}
