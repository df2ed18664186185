/*
 * What the C client makes of options, on its state machine, where this program is bus and clock; and in the end on its loop. It ends
 * with the line of what is not so.
 */
#include "checks.h"

#include <math.h>
#include <poll.h>

/* A request that is made when another one is late. */
static void ask_again(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	CHECK(!reply && !strcmp(error->code, "timed_out"));
	fluxbus_get(bus, "counter/again", fluxbus_json_format("{'timeout': 2}"), keep_code, context);
}

static void leave(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	CHECK(!reply && !strcmp(error->code, "timed_out"));
	*(bool *)context = true;
	fluxbus_leave(bus, 0);
}

/* The mirror has ended. */
static void keep_end(fluxbus_mirror *mirror, const fluxbus_change *change, const fluxbus_error *error, void *context)
{
	(void)mirror;
	CHECK(!change);
	snprintf(context, 64, "%s", error ? error->code : "ok");
}

static bool sends(fluxbus *bus, const char *part)
{
	char *text = sent(bus);
	bool is_there = strstr(text, part);
	CHECK(!strstr(text, "timeout"));
	free(text);
	return is_there;
}

static void greet(fluxbus *bus, int number)
{
	char line[128];
	snprintf(line, sizeof line, "{\"id\":%d,\"ok\":true,\"epoch\":\"e\",\"revision\":5}\n", number);
	fluxbus_connected(bus, false);
	free(sent(bus));
	CHECK(fluxbus_received(bus, line, strlen(line)));
}

static void check_times(void)
{
	char first[64] = "", second[64] = "", third[64] = "", again[64] = "";
	fluxbus *bus = fluxbus_new(&(fluxbus_options){.timeout = 10});
	greet(bus, 1);
	fluxbus_tick(bus, 1000);
	fluxbus_get(bus, "counter/a", NULL, keep_code, first);
	fluxbus_dispatch(bus, "counter/a", "increment", NULL, fluxbus_json_format("{'timeout': %g, 'timer': 't'}", 1.5), keep_code, second);
	fluxbus_states(bus, "counter", fluxbus_json_format("{'timeout': 1, 'where': 'count > 2'}"), keep_code, third);
	fluxbus_request(bus, "will", fluxbus_json_format("{'actions': [], 'timeout': 1}"), ask_again, again);
	CHECK(sends(bus, "\"type\":\"counter\",\"where\":\"count > 2\"}"));
	CHECK(fluxbus_tick(bus, 1999) == 2000 && !*third);
	CHECK(fluxbus_tick(bus, 2000) == 2500 && !strcmp(third, "timed_out") && !*second && sends(bus, "counter/again"));
	CHECK(fluxbus_tick(bus, 2500) == 4000 && !strcmp(second, "timed_out") && !*again);
	CHECK(fluxbus_tick(bus, 4000) == 11000 && !strcmp(again, "timed_out") && !*first);
	/* Who waits for none of them any more is not asked for them again. */
	fluxbus_lost(bus, NULL);
	fluxbus_get(bus, "counter/b", fluxbus_json_format("{'timeout': 1}"), keep_code, third);
	CHECK(fluxbus_tick(bus, 4001) == 5000 && fluxbus_tick(bus, 5000) == 11000 && !strcmp(third, "timed_out"));
	fluxbus_connected(bus, false);
	char *text = sent(bus);
	CHECK(!strchr(strchr(text, '\n') + 1, '\n'));
	free(text);
	CHECK(fluxbus_tick(bus, 11000) == -1 && !strcmp(first, "timed_out"));
	fluxbus_free(bus);
}

/* The program may end the bus when it hears that it is late. */
static void check_end(void)
{
	bool has_left = false;
	char last[64] = "";
	fluxbus *bus = fluxbus_new(NULL);
	greet(bus, 1);
	fluxbus_get(bus, "counter/a", fluxbus_json_format("{'timeout': 1}"), leave, &has_left);
	fluxbus_get(bus, "counter/b", fluxbus_json_format("{'timeout': 1}"), keep_code, last);
	CHECK(fluxbus_tick(bus, 1000) == -1 && has_left && !strcmp(last, "closed"));
	fluxbus_free(bus);
}

static void check_refusals(void)
{
	char code[64] = "", end[64] = "";
	fluxbus *bus = fluxbus_new(NULL);
	greet(bus, 1);
	fluxbus_dispatch(bus, "counter/a", "increment", fluxbus_json_format("{'by': %g}", NAN), NULL, keep_code, code);
	CHECK(!strcmp(code, "invalid_request"));
	fluxbus_get(bus, "counter/a", fluxbus_json_parse("[]", 2), keep_code, code);
	CHECK(!strcmp(code, "invalid_request"));
	/* The client numbers requests itself, and needs every reply. */
	static const char *const own[] = {"{'id': 7}", "{'ack': false}"};
	for (int each = 0; each < 2; each++) {
		*code = 0;
		fluxbus_dispatch(bus, "counter/a", "increment", NULL, fluxbus_json_format(own[each]), keep_code, code);
		CHECK(!strcmp(code, "invalid_request"));
	}
	/* A mirror waits for nothing. */
	fluxbus_mirror_open(bus, "counter", fluxbus_json_format("{'timeout': 1}"), keep_end, end);
	CHECK(!strcmp(end, "invalid_request"));
	char *text = sent(bus);
	CHECK(!*text);
	free(text);
	fluxbus_free(bus);
}

/* The bus refuses what is no address of one store; a state of another one would be something else. */
static void check_get(void)
{
	fluxbus *bus = fluxbus_new(NULL);
	greet(bus, 1);
	fluxbus_get(bus, "counter", NULL, NULL, NULL);
	CHECK(sends(bus, "\"op\":\"get\",\"store\":\"counter\"}"));
	fluxbus_get(bus, "counter/*", fluxbus_json_format("{'revision': 4}"), NULL, NULL);
	CHECK(sends(bus, "\"op\":\"get\",\"store\":\"counter/*\",\"revision\":4}"));
	fluxbus_free(bus);
}

/* A program with a loop of its own is woken in time, also while there is no bus and the next attempt is far. */
static void check_loop(const char *address)
{
	char code[64] = "";
	fluxbus *bus = fluxbus_connect(address, &(fluxbus_options){.patience = 600, .back_off = {300, 300}});
	struct pollfd ready = {.fd = fluxbus_get_fd(bus), .events = (short)fluxbus_get_events(bus)};
	while (!fluxbus_get_error(bus)) CHECK(poll(&ready, 1, 20000) == 1 && fluxbus_process(bus));
	fluxbus_get(bus, "counter/a", fluxbus_json_format("{'timeout': %g}", 0.01), keep_code, code);
	while (!*code) CHECK(poll(&ready, 1, 20000) == 1 && fluxbus_process(bus));
	CHECK(!strcmp(code, "timed_out"));
	fluxbus_free(bus);
}

int main(void)
{
	check_times();
	check_end();
	check_refusals();
	check_get();
	check_loop("unix:/nowhere/bus.sock");
}
