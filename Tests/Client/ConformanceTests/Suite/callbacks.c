/*
 * What a program may do while the C client calls it, and what becomes of requests that it has given up or whose bus is another one by
 * then: on the state machine, and in the end on the loop, with a bus that a thread of this program is. It ends with the line of what
 * is not so.
 */
#include "checks.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* -- The state machine -- */

/* Whether what is sent has so many lines, and this in it. */
static bool sends(fluxbus *bus, int lines, const char *part)
{
	char *text = sent(bus);
	bool is_there = strstr(text, part);
	for (const char *at = text; (at = strchr(at, '\n')); at++) lines--;
	free(text);
	return is_there && !lines;
}

static void hear(fluxbus *bus, const char *line)
{
	CHECK(fluxbus_received(bus, line, strlen(line)));
}

/* The hello with that number is answered. */
static void greet(fluxbus *bus, int number, const char *members)
{
	char line[128];
	fluxbus_connected(bus, false);
	snprintf(line, sizeof line, "{\"id\":%d,\"ok\":true,\"revision\":5,%s}\n", number, members);
	hear(bus, line);
}

static int told;
static bool is_freed;

static void count(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	(void)bus, (void)reply, (void)context;
	CHECK(error && !is_freed);
	told++;
}

static void count_end(fluxbus_mirror *mirror, const fluxbus_change *change, const fluxbus_error *error, void *context)
{
	(void)mirror, (void)error, (void)context;
	CHECK(!change && !is_freed);
	told++;
}

static void free_bus(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	count(bus, reply, error, context);
	fluxbus_free(bus);
	is_freed = true;
}

static void free_at_end(fluxbus *bus, fluxbus_phase phase, const fluxbus_error *error, void *context)
{
	(void)error, (void)context;
	if (phase == FLUXBUS_CLOSED) fluxbus_free(bus);
}

/* Whoever waits is told before `fluxbus_free` returns, and nobody later. */
static void check_free(void)
{
	for (int way = 0; way < 3; way++) {
		fluxbus *bus = fluxbus_new(NULL);
		is_freed = false, told = 0;
		greet(bus, 1, "\"epoch\":\"e\"");
		fluxbus_request(bus, "revert", fluxbus_json_format("{'timeout': 1}"), free_bus, NULL);
		for (int each = 0; each < 2; each++) fluxbus_request(bus, "revert", NULL, count, NULL);
		fluxbus_mirror_open(bus, "counter", NULL, count_end, NULL);
		if (way == 0) fluxbus_leave(bus, 0);
		else if (way == 1) fluxbus_lost(bus, NULL);
		else fluxbus_tick(bus, 1000);
		CHECK(is_freed && told == 4);
	}
	fluxbus_close(fluxbus_connect("unix:/nowhere/bus.sock", &(fluxbus_options){.status = free_at_end}), 0);
}

/* What is given up without a connection is gone. */
static void check_given_up(void)
{
	char code[64] = "";
	fluxbus *bus = fluxbus_new(NULL);
	fluxbus_tick(bus, 1);
	fluxbus_get(bus, "counter/a", fluxbus_json_format("{'timeout': 1}"), keep_code, code);
	uint64_t numbers[] = {fluxbus_get(bus, "counter/b", NULL, count, NULL), fluxbus_states(bus, "counter", NULL, count, NULL)};
	CHECK(fluxbus_get_unanswered(bus) == 3);
	fluxbus_tick(bus, 1001);
	CHECK(!strcmp(code, "timed_out") && fluxbus_get_unanswered(bus) == 2);
	told = 0;
	for (int each = 0; each < 2; each++) fluxbus_forget(bus, numbers[each]);
	CHECK(!told && fluxbus_get_unanswered(bus) == 0);
	fluxbus_get(bus, "counter/c", NULL, keep_code, code);
	greet(bus, 5, "\"epoch\":\"e\"");
	CHECK(sends(bus, 2, "counter/c"));
	fluxbus_free(bus);
}

/* Who leaves waits for all pages that were asked for before. */
static void check_pages(void)
{
	char code[64] = "";
	fluxbus *bus = fluxbus_new(NULL);
	greet(bus, 1, "\"epoch\":\"e\"");
	fluxbus_states(bus, "counter", NULL, keep_code, code);
	fluxbus_leave(bus, 10);
	hear(bus, "{\"id\":2,\"ok\":true,\"revision\":5,\"states\":{\"counter/a\":{}},\"next\":\"counter/a\"}\n");
	CHECK(!*code && sends(bus, 3, "\"after\":\"counter/a\""));
	const char *last = "{\"id\":3,\"ok\":true,\"revision\":5,\"states\":{}}\n";
	CHECK(!fluxbus_received(bus, last, strlen(last)));
	CHECK(!strcmp(code, "ok") && fluxbus_get_phase(bus) == FLUXBUS_CLOSED);
	fluxbus_free(bus);
}

/* A revision means nothing in another epoch, unless the request says itself of which one it is. */
static void check_epochs(void)
{
	char codes[6][64] = {""};
	fluxbus *bus = fluxbus_new(NULL);
	greet(bus, 1, "\"epoch\":\"e1\"");
	fluxbus_get(bus, "counter/a", fluxbus_json_format("{'revision': 4}"), keep_code, codes[0]);
	fluxbus_drop(bus, "counter/a", fluxbus_json_format("{'ifRevision': 4}"), keep_code, codes[1]);
	CHECK(sends(bus, 3, "\"ifRevision\":4}"));
	fluxbus_lost(bus, NULL);
	fluxbus_drop(bus, "counter/b", fluxbus_json_format("{'ifRevision': 4}"), keep_code, codes[2]);
	fluxbus_batch(bus, fluxbus_json_format("[{'store': 'counter/a', 'action': 'go', 'ifRevision': 4}]"), NULL, keep_code, codes[3]);
	fluxbus_request(bus, "history", fluxbus_json_format("{'since': 4}"), keep_code, codes[4]);
	fluxbus_batch(bus, fluxbus_json_format("[['counter/a', 'go', {'since': 1}]]"), NULL, keep_code, codes[5]);
	greet(bus, 8, "\"epoch\":\"e2\"");
	for (int each = 0; each < 6; each++) CHECK(!strcmp(codes[each], each == 1 || each == 5 ? "" : "conflict"));
	char *text = sent(bus);
	CHECK(strstr(text, "\"store\":\"counter/a\",\"ifRevision\":4,\"after\":5,\"epoch\":\"e1\"}\n{\"id\":7,"));
	free(text);
	fluxbus_free(bus);
}

/* A store that goes with its session may have gone, where the reply is that of a connection before. */
static void check_ephemeral(void)
{
	for (int is_resumed = 0; is_resumed < 2; is_resumed++) {
		char code[64] = "", other[64] = "";
		fluxbus *bus = fluxbus_new(&(fluxbus_options){.linger = is_resumed});
		greet(bus, 1, "\"epoch\":\"e\",\"resumed\":false");
		fluxbus_create(bus, "counter/a", NULL, fluxbus_json_format("{'ephemeral': true}"), keep_code, code);
		fluxbus_create(bus, "counter/b", NULL, NULL, keep_code, other);
		fluxbus_lost(bus, NULL);
		greet(bus, 4, is_resumed ? "\"epoch\":\"e\",\"resumed\":true" : "\"epoch\":\"e\"");
		hear(bus, "{\"id\":2,\"ok\":true,\"revision\":4,\"created\":true,\"duplicate\":true}\n");
		hear(bus, "{\"id\":3,\"ok\":true,\"revision\":4,\"created\":true,\"duplicate\":true}\n");
		CHECK(!strcmp(code, is_resumed ? "ok" : "outcome_unknown") && !strcmp(other, "ok"));
		fluxbus_free(bus);
	}
}

/* The request with that number is refused; without it, as where a line is too long. */
static void refuse(fluxbus *bus, int number, const char *error)
{
	char line[128], id[32] = "";
	if (number) snprintf(id, sizeof id, "\"id\":%d,", number);
	snprintf(line, sizeof line, "{%s\"ok\":false,\"error\":{%s}}\n", id, error);
	hear(bus, line);
}

/* The bus looks at these before it looks whether it has committed the request. */
static void check_sent_again(void)
{
	static const char *const refusals[][2] = {
		{"\"code\":\"forbidden\"", "outcome_unknown"}, {"\"code\":\"unknown_type\"", "outcome_unknown"},
		{"\"code\":\"too_large\"", "outcome_unknown"}, {"\"code\":\"limit\"", "outcome_unknown"},
		{"\"code\":\"conflict\"", "outcome_unknown"}, {"\"code\":\"conflict\",\"revision\":7", "conflict"},
		{"\"code\":\"rejected\"", "rejected"},
	};
	for (int each = 0; each < 14; each++) {
		const char *error = refusals[each / 2][0], *wanted = refusals[each / 2][1];
		char first[64] = "", again[64] = "", read[64] = "";
		bool has_id = each % 2;
		fluxbus *bus = fluxbus_new(NULL);
		greet(bus, 1, "\"epoch\":\"e\"");
		fluxbus_drop(bus, "counter/a", NULL, keep_code, first);
		refuse(bus, has_id ? 2 : 0, error);
		fluxbus_drop(bus, "counter/a", NULL, keep_code, again);
		fluxbus_get(bus, "counter/a", NULL, keep_code, read);
		fluxbus_lost(bus, NULL);
		greet(bus, 5, "\"epoch\":\"e\"");
		refuse(bus, has_id ? 3 : 0, error);
		refuse(bus, has_id ? 4 : 0, error);
		CHECK(!strcmp(again, wanted) && !strcmp(first, read) && strcmp(read, "outcome_unknown"));
		fluxbus_free(bus);
	}
}

/* The number of a subscription may be that of another one on the next connection. */
static void check_unsubscribe(void)
{
	char code[64] = "";
	fluxbus *bus = fluxbus_new(NULL);
	greet(bus, 1, "\"epoch\":\"e\"");
	fluxbus_request(bus, "unsubscribe", fluxbus_json_format("{'sub': 1}"), keep_code, code);
	CHECK(sends(bus, 2, "\"sub\":1"));
	fluxbus_lost(bus, NULL);
	CHECK(!strcmp(code, "outcome_unknown"));
	greet(bus, 3, "\"epoch\":\"e\"");
	CHECK(sends(bus, 1, "hello"));
	fluxbus_free(bus);
}

/* A will that was sent may be left, also where the program leaves before the answer. */
static void check_will(void)
{
	char codes[3][64] = {""};
	fluxbus *bus = fluxbus_new(NULL);
	greet(bus, 1, "\"epoch\":\"e\"");
	fluxbus_will(bus, fluxbus_json_format("[]"), keep_code, codes[0]);
	fluxbus_request(bus, "ping", NULL, keep_code, codes[1]);
	fluxbus_lost(bus, NULL);
	fluxbus_will(bus, fluxbus_json_format("[]"), keep_code, codes[2]);
	fluxbus_leave(bus, 0);
	for (int each = 0; each < 3; each++) CHECK(!strcmp(codes[each], each ? "closed" : "outcome_unknown"));
	fluxbus_free(bus);
}

/* -- The loop -- */

/* The places of every host. */
static struct sockaddr_in places[2];
static struct addrinfo found[2];

int getaddrinfo(const char *host, const char *port, const struct addrinfo *wanted, struct addrinfo **all)
{
	(void)host, (void)port, (void)wanted;
	for (int each = 0; each < 2; each++) {
		found[each] = (struct addrinfo){
			.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_addrlen = sizeof places[each],
			.ai_addr = (struct sockaddr *)&places[each], .ai_next = each ? NULL : &found[1],
		};
	}
	*all = found;
	return 0;
}

void freeaddrinfo(struct addrinfo *all) { (void)all; }

static int listening(int backlog, struct sockaddr_in *place)
{
	socklen_t size = sizeof *place;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*place = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	CHECK(!bind(listener, (struct sockaddr *)place, size) && !listen(listener, backlog));
	CHECK(!getsockname(listener, (struct sockaddr *)place, &size));
	return listener;
}

/* A bus for one connection, which answers what is about `counter/late` when something else is asked. */
static void *serve(void *context)
{
	char line[512];
	int connection = accept(*(int *)context, NULL, NULL), late = 0;
	FILE *stream = fdopen(connection, "r");
	CHECK(stream);
	while (fgets(line, sizeof line, stream)) {
		int id = atoi(line + strlen("{\"id\":"));
		for (int each = late ? late : id; each <= id && !strstr(line, "counter/late"); each++)
			dprintf(connection, "{\"id\":%d,\"ok\":true,\"revision\":5,\"epoch\":\"e\",\"states\":{}}\n", each);
		late = strstr(line, "counter/late") ? id : 0;
	}
	fclose(stream);
	return NULL;
}

static void wait_inside(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	fluxbus_pending pending = {0};
	size_t length;
	(void)reply;
	CHECK(!error);
	fluxbus_get(bus, "counter/b", NULL, fluxbus_keep, &pending);
	CHECK(!fluxbus_await(bus, &pending) && !pending.is_done && !fluxbus_process(bus) && !fluxbus_wait(bus, -1));
	CHECK(fluxbus_outgoing(bus, &length) && length);
	fluxbus_forget(bus, *(uint64_t *)context + 1);
	*(uint64_t *)context = 0;
}

static void ask_again(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	CHECK(!reply && !strcmp(error->code, "timed_out"));
	fluxbus_get(bus, "counter/again", NULL, keep_code, context);
}

/* A client that is connected to the bus of a thread. */
static fluxbus *connected(int *listener, double connect_timeout, pthread_t *thread)
{
	CHECK(!pthread_create(thread, NULL, serve, listener));
	fluxbus_options options = {.connect_timeout = connect_timeout, .keep_alive = 600};
	fluxbus *bus = fluxbus_connect("tcp:bus.example:7411", &options);
	while (fluxbus_get_phase(bus) == FLUXBUS_CONNECTING) fluxbus_wait(bus, -1);
	CHECK(fluxbus_get_phase(bus) == FLUXBUS_LIVE);
	return bus;
}

/* A bus that ends its first connection once it has greeted. */
static void *cut(void *context)
{
	char line[512];
	int connection = accept(*(int *)context, NULL, NULL);
	CHECK(read(connection, line, sizeof line) > 0);
	dprintf(connection, "{\"id\":1,\"ok\":true,\"revision\":5,\"epoch\":\"e\"}\n");
	close(connection);
	return serve(context);
}

static void hurry(fluxbus *bus, fluxbus_phase phase, const fluxbus_error *error, void *context)
{
	(void)error;
	if (phase == FLUXBUS_LIVE) ++*(int *)context;
	if (phase == FLUXBUS_LOST) fluxbus_reconnect(bus);
}

/* Who hears that the connection is lost may ask for the next one at once. */
static void check_reconnect(int *listener)
{
	int connections = 0;
	pthread_t thread;
	time_t start = time(NULL);
	CHECK(!pthread_create(&thread, NULL, cut, listener));
	fluxbus_options options = {.back_off = {600, 600}, .status = hurry, .context = &connections};
	fluxbus *bus = fluxbus_connect("tcp:bus.example:7411", &options);
	while (connections < 2) CHECK(fluxbus_wait(bus, 20) && time(NULL) - start < 15);
	fluxbus_free(bus);
	pthread_join(thread, NULL);
}

static void check_loop(void)
{
	/* Nobody takes what comes to the first place: these fill its queue, so that the system drops it. */
	int deaf = listening(0, &places[0]), listener = listening(4, &places[1]), fillers[4];
	for (int each = 0; each < 4; each++) {
		fillers[each] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		connect(fillers[each], (struct sockaddr *)&places[0], sizeof places[0]);
	}
	pthread_t threads[2];
	fluxbus_free(connected(&listener, 2, &threads[0]));
	places[0] = places[1];
	fluxbus *bus = connected(&listener, 600, &threads[1]);
	/* Nothing waits for the bus inside of what it calls. */
	uint64_t number = fluxbus_get(bus, "counter/a", NULL, wait_inside, &number);
	while (number || fluxbus_get_unanswered(bus)) CHECK(fluxbus_wait(bus, -1));
	/* It is late before there is anything to wait for, and what is asked for then is sent. */
	char code[64] = "";
	fluxbus_get(bus, "counter/late", fluxbus_json_format("{'timeout': %g}", 0.01), ask_again, code);
	poll(NULL, 0, 20);
	CHECK(!*code);
	time_t start = time(NULL);
	while (!*code) CHECK(fluxbus_wait(bus, 20));
	CHECK(!strcmp(code, "ok") && time(NULL) - start < 15);
	fluxbus_free(bus);
	for (int each = 0; each < 2; each++) pthread_join(threads[each], NULL);
	check_reconnect(&listener);
	for (int each = 0; each < 4; each++) close(fillers[each]);
	close(deaf);
	close(listener);
}

int main(void)
{
	check_free();
	check_given_up();
	check_pages();
	check_epochs();
	check_ephemeral();
	check_sent_again();
	check_unsubscribe();
	check_will();
	check_loop();
}
