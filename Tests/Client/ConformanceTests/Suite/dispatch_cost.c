/*
 * What the client costs: pipelined dispatches a second beside a bare loop that writes lines like its own to a socket and counts
 * the lines that come back. `dispatch_cost SOCKET [COUNT [ROUNDS]]` prints both of each round, and the median of their ratios; it
 * fails where that is below 0.8.
 */
#define _GNU_SOURCE
#include <fluxbus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* So many requests are unanswered at once, in both. */
#define DEPTH 512

static double now(clockid_t clock)
{
	struct timespec at;
	clock_gettime(clock, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void fail(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(1);
}

static char epoch[64];
static long revision, answered, refused;

static void run_bare(const char *path, long count, int round)
{
	struct sockaddr_un place = {.sun_family = AF_UNIX};
	int bus = socket(AF_UNIX, SOCK_STREAM, 0);
	strncpy(place.sun_path, path, sizeof place.sun_path - 1);
	if (connect(bus, (struct sockaddr *)&place, sizeof place)) fail("nothing answers");
	static char out[DEPTH * 300], in[1 << 16];
	long sent = 0, answered = 0, first = revision;
	while (answered < count) {
		size_t length = 0;
		while (sent < count && sent - answered < DEPTH) {
			sent++;
			length += (size_t)sprintf(out + length, "{\"id\":%ld,\"key\":\"bare-%d-%d-%ld\",\"op\":\"dispatch\",\"store\":\"counter/main\","
				"\"action\":\"increment\",\"payload\":{\"by\":1},\"after\":%ld,\"epoch\":\"%s\"}\n", sent, getpid(), round, sent, first + answered, epoch);
		}
		for (size_t at = 0; at < length;) {
			ssize_t part = send(bus, out + at, length - at, MSG_NOSIGNAL);
			if (part < 0) fail("the bare loop can't write");
			at += (size_t)part;
		}
		ssize_t got = recv(bus, in, sizeof in, 0);
		if (got <= 0) fail("the bare loop can't read");
		if (memmem(in, (size_t)got, "\"ok\":false", 10)) fail("the bus refuses what the bare loop says");
		for (char *at = in; (at = memchr(at, '\n', (size_t)(in + got - at))); at++) answered++;
	}
	close(bus);
}



static void done(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	(void)bus, (void)reply, (void)context;
	answered++;
	refused += error != NULL;
}

static void run_client(const char *path, long count)
{
	char address[200];
	snprintf(address, sizeof address, "unix:%s", path);
	fluxbus *bus = fluxbus_connect(address, NULL);
	long sent = 0;
	answered = refused = 0;
	while (answered < count) {
		for (; sent < count && sent - answered < DEPTH; sent++) {
			fluxbus_dispatch(bus, "counter/main", "increment", fluxbus_json_format("{'by': %d}", 1), NULL, done, NULL);
		}
		if (!fluxbus_wait(bus, -1)) fail(fluxbus_get_error(bus)->message);
	}
	if (refused) fail("dispatches were refused");
	const char *name = fluxbus_json_string(fluxbus_json_member(fluxbus_get_greeting(bus), "epoch"));
	snprintf(epoch, sizeof epoch, "%s", name);
	revision = (long)fluxbus_get_revision(bus);
	fluxbus_free(bus);
}

static int compare(const void *one, const void *other)
{
	double first = *(const double *)one, second = *(const double *)other;
	return (first > second) - (first < second);
}

int main(int words, char **word)
{
	long count = words > 2 ? atol(word[2]) : 100000;
	int rounds = words > 3 ? atoi(word[3]) : 7;
	double ratios[100];
	if (words < 2 || rounds < 1 || rounds > 100) fail("usage: dispatch_cost SOCKET [COUNT [ROUNDS]]");
	run_client(word[1], count / 10 + 1);
	for (int round = 0; round < rounds; round++) {
		double began = now(CLOCK_MONOTONIC), work = now(CLOCK_PROCESS_CPUTIME_ID);
		run_bare(word[1], count, round);
		double bare = now(CLOCK_MONOTONIC) - began, bare_work = now(CLOCK_PROCESS_CPUTIME_ID) - work;
		began = now(CLOCK_MONOTONIC), work = now(CLOCK_PROCESS_CPUTIME_ID);
		run_client(word[1], count);
		double client = now(CLOCK_MONOTONIC) - began, client_work = now(CLOCK_PROCESS_CPUTIME_ID) - work;
		ratios[round] = bare / client;
		printf("bare %.0f/s (%.2f us of work each), client %.0f/s (%.2f us), ratio %.2f\n", (double)count / bare,
			bare_work * 1e6 / (double)count, (double)count / client, client_work * 1e6 / (double)count, ratios[round]);
	}
	qsort(ratios, (size_t)rounds, sizeof *ratios, compare);
	printf("median ratio %.2f\n", ratios[rounds / 2]);
	return ratios[rounds / 2] < 0.8;
}
