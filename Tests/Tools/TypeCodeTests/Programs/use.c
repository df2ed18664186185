/* Uses printed headers as a program of its own does: dispatches to a bus over a connection of its own, and prints each request as it
 * goes over the wire, with its reply. With -DMISTAKE=… it has one that the compiler must find. */
#include "awkward.h"
#include "counter.h"
#include "door.h"
#include "everything.h"
#include "presence.h"
#include "thermostat.h"
#include "todo.h"
#include "value.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int socket_of(const char *path)
{
	struct sockaddr_un place = {.sun_family = AF_UNIX};
	int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(place.sun_path, path);
	if (connect(descriptor, (struct sockaddr *)&place, sizeof place)) exit(2);
	return descriptor;
}

/* The request as it is written by hand, without what the client adds. */
static void print_request(const char *line, size_t length)
{
	fluxbus_json *request = fluxbus_json_parse(line, length), *shown = fluxbus_json_format("{}");
	for (size_t index = 0; index < fluxbus_json_count(request); index++) {
		const char *name = fluxbus_json_name(request, index);
		if (strcmp(name, "id") && strcmp(name, "key") && strcmp(name, "after") && strcmp(name, "epoch")) {
			shown = fluxbus_json_with(shown, name, fluxbus_json_retain(fluxbus_json_at(request, index)));
		}
	}
	if (!fluxbus_json_member(shown, "payload")) shown = fluxbus_json_with(shown, "payload", fluxbus_json_format("{}"));
	char *text = fluxbus_json_text(shown);
	puts(text);
	free(text);
	fluxbus_json_release(request);
	fluxbus_json_release(shown);
}

static int descriptor;

/* Sends what is outgoing, and takes what comes until nothing is unanswered. */
static void settle(fluxbus *bus, bool is_shown)
{
	static char bytes[1 << 16];
	size_t length;
	const char *line = fluxbus_outgoing(bus, &length);
	if (is_shown) print_request(line, length);
	if (send(descriptor, line, length, 0) != (ssize_t)length) exit(3);
	fluxbus_sent(bus, length);
	while (fluxbus_get_unanswered(bus)) {
		ssize_t got = recv(descriptor, bytes, sizeof bytes, 0);
		if (got <= 0 || !fluxbus_received(bus, bytes, (size_t)got)) exit(4);
	}
}

static void show(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	(void)bus, (void)context;
	char *text = fluxbus_json_text(reply);
	puts(text ? text : error->message);
	free(text);
}

#define DO(call) (call, settle(bus, true))

static void dispatch(fluxbus *bus)
{
	DO(counter_increment(bus, "main", &(struct counter_increment_payload){.has_by = true, .by = 5}, NULL, show, NULL));
	DO(counter_increment(bus, "main", NULL, NULL, show, NULL));
	DO(thermostat_set_target(bus, "main", &(struct thermostat_set_target_payload){.celsius = 21.5}, NULL, show, NULL));
	DO(thermostat_boost(bus, "main", NULL, show, NULL));
	DO(thermostat_set_mode(bus, "main", &(struct thermostat_set_mode_payload){.mode = "manual"}, NULL, show, NULL));
	DO(door_open(bus, "main", NULL, show, NULL));
	DO(todo_add(bus, "main", &(struct todo_add_payload){.id = "1", .title = "Milk"}, NULL, show, NULL));
	DO(todo_toggle(bus, "main", &(struct todo_toggle_payload){.id = "1"}, NULL, show, NULL));
	DO(presence_enter(bus, "main", &(struct presence_enter_payload){.name = "anna"}, NULL, show, NULL));
	fluxbus_json *values[] = {
		fluxbus_json_format("{'a': [null, 1.5, 'x']}"), fluxbus_json_format("null"), fluxbus_json_format("['q']"),
		fluxbus_json_format("{'a': 1}"), fluxbus_json_format("[1]"), fluxbus_json_format("{'a b': 1}"), fluxbus_json_format("['a']"),
	};
	DO(value_set(bus, "main", &(struct value_set_payload){.value = values[0]}, NULL, show, NULL));
	DO(awk_ward_1_import(bus, "main", &(struct awk_ward_1_import_payload){
		.in = 5, .my_name = "n", .class_ = values[1], .quo_te = values[2], .has_self = true, .self = 2.5, .func = "f",
		.default_ = values[3], .has_value1 = true, .value1 = true, .payload = values[4]}, NULL, show, NULL));
	DO(awk_ward_1_import(bus, "main", &(struct awk_ward_1_import_payload){.in = 6}, NULL, show, NULL));
	DO(awk_ward_1_switch_on2(bus, "main", NULL, show, NULL));
	DO(awk_ward_1_switch_on(bus, "main", NULL, show, NULL));
	DO(awk_ward_1_switch_on3(bus, "main", &(struct awk_ward_1_switch_on3_payload){.by = 2}, NULL, show, NULL));
	DO(awk_ward_1_list(bus, "main", NULL, show, NULL));
	DO(awk_ward_1_str(bus, "main", NULL, show, NULL));
	DO(awk_ward_1_init(bus, "main", NULL, show, NULL));
	DO(awk_ward_1_default(bus, "main", NULL, show, NULL));
	DO(awk_ward_1_dispatch(bus, "main", NULL, show, NULL));
	DO(awk_ward_1_encode2(bus, "main", NULL, show, NULL));
	DO(awk_ward_1_self(bus, "main", NULL, show, NULL));
	DO(awk_ward_1_match(bus, "main", NULL, show, NULL));
	DO(counter_increment(bus, NULL, &(struct counter_increment_payload){.has_by = true, .by = 0}, NULL, show, NULL));
	DO(everything_configure(bus, "main", &(struct everything_configure_payload){
		.door = {.open = true}, .measured_is_null = true, .mode = "by hand", .has_note = true, .extra = values[4], .names = values[6],
		.ages = values[5], .has_level = true, .level = 6, .has_limit = true, .limit = 1.5, .has_step = true, .step = 2}, NULL, show,
		NULL));
	DO(everything_quiet(bus, "main", &(struct everything_quiet_payload){.has_for_ = true, .for_ = 1}, NULL, show, NULL));
	for (size_t index = 0; index < sizeof values / sizeof *values; index++) fluxbus_json_release(values[index]);
}

/* A state is read, and what is written of it is read again. */
static void read_state(fluxbus *bus, const fluxbus_json *value, const fluxbus_error *error, void *context)
{
	(void)bus, (void)error, (void)context;
	struct everything state;
	struct everything_rooms_value room;
	struct thermostat none;
	bool is_read = everything_decode(value, &state) && state.count == 6 && !strcmp(state.mode, "by hand") && fluxbus_json_kind(state.union_) == FLUXBUS_NULL
		&& everything_rooms_value_decode(fluxbus_json_member(state.rooms, "hall"), &room) && room.size == 9 && !room.note
		&& room.has_door && !room.door.open && state.sum == 3;
	if (!is_read || thermostat_decode(value, &none)) exit(5);
	fluxbus_json *written = everything_encode(&state);
	for (size_t index = 0; index < fluxbus_json_count(written); index++) {
		const fluxbus_json *there = fluxbus_json_member(value, fluxbus_json_name(written, index));
		char *one = fluxbus_json_text(fluxbus_json_at(written, index)), *other = fluxbus_json_text(there);
		/* A number that is whole is written with a fraction. */
		bool is_same = fluxbus_json_kind(fluxbus_json_at(written, index)) == FLUXBUS_NUMBER
			? fluxbus_json_number(fluxbus_json_at(written, index)) == fluxbus_json_number(there) : !strcmp(one, other);
		if (!is_same) exit(6);
		free(one);
		free(other);
	}
	if (fluxbus_json_count(written) + 1 != fluxbus_json_count(value)) exit(7);
	fluxbus_json_release(written);
}

#ifdef MISTAKE
static void mistake(fluxbus *bus)
{
#if MISTAKE == 1
	counter_increment(bus, "main", &(struct counter_increment_payload){.bye = 5}, NULL, NULL, NULL);
#elif MISTAKE == 2
	counter_increment(bus, "main", NULL, NULL);
#elif MISTAKE == 3
	door_opens(bus, "main", NULL, NULL, NULL);
#elif MISTAKE == 4
	thermostat_set_target(bus, "main", &(struct thermostat_set_mode_payload){.mode = "auto"}, NULL, NULL, NULL);
#endif
}
#endif

int main(int count, char **words)
{
	if (count != 2) return 64;
	descriptor = socket_of(words[1]);
	fluxbus *bus = fluxbus_new(NULL);
#ifdef MISTAKE
	mistake(bus);
#endif
	fluxbus_connected(bus, false);
	settle(bus, false);
	dispatch(bus);
	fluxbus_get(bus, "everything/main", NULL, read_state, NULL);
	settle(bus, false);
	fluxbus_free(bus);
	return 0;
}
