/*
 * Fuzzes the C client: with -DTARGET_JSON its JSON reader, writer and merge patches, else the state machine, by what a bus may say and
 * a program may do in any order. Whatever comes, each request is answered once, and nothing is left.
 */
#include <fluxbus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(bool is_right, const char *what)
{
	if (is_right) return;
	fprintf(stderr, "%s\n", what);
	abort();
}

#ifdef TARGET_JSON

static bool is_valid(const fluxbus_json *value) { return fluxbus_json_kind(value) != FLUXBUS_INVALID; }

/* What is read, written and read again is the same text. */
static fluxbus_json *round_trip(fluxbus_json *value)
{
	char *text = fluxbus_json_text(value);
	expect(text, "a value can't be written");
	fluxbus_json *again = fluxbus_json_parse(text, strlen(text));
	char *second = fluxbus_json_text(again);
	expect(second && !strcmp(text, second), "a value is another one when it is read again");
	free(text);
	free(second);
	fluxbus_json_release(value);
	return again;
}

static bool equal(const fluxbus_json *one, const fluxbus_json *other)
{
	char *first = fluxbus_json_text(one), *second = fluxbus_json_text(other);
	bool is_equal = !strcmp(first, second);
	free(first);
	free(second);
	return is_equal;
}

/* Without nulls in objects, and so without anything that a patch takes away: it is the state that it makes. */
static bool has_null(const fluxbus_json *value)
{
	char *text = fluxbus_json_text(value);
	bool has = strstr(text, ":null");
	free(text);
	return has;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = size ? memchr(data, 0, size) : NULL;
	size_t first = cut ? (size_t)(cut - data) : size;
	fluxbus_json *state = fluxbus_json_parse((const char *)data, first);
	fluxbus_json *patch = cut ? fluxbus_json_parse((const char *)cut + 1, size - first - 1) : fluxbus_json_retain(state);
	if (is_valid(state)) state = round_trip(state);
	if (is_valid(state) && is_valid(patch)) {
		fluxbus_json *merged = fluxbus_json_merge(state, patch), *twice = fluxbus_json_merge(merged, patch);
		expect(equal(merged, twice), "a patch does something when it is applied again");
		fluxbus_json *whole = fluxbus_json_merge(NULL, patch);
		expect(has_null(patch) || equal(whole, patch), "a patch without nulls makes something else of nothing");
		fluxbus_json_release(whole);
		fluxbus_json_release(twice);
		merged = round_trip(merged);
		if (fluxbus_json_kind(merged) == FLUXBUS_OBJECT) {
			merged = fluxbus_json_with(merged, "a", fluxbus_json_append(fluxbus_json_format("[]"), fluxbus_json_retain(state)));
			expect(!is_valid(merged) || equal(fluxbus_json_at(fluxbus_json_member(merged, "a"), 0), state), "a member is another");
		}
		fluxbus_json_release(merged);
	}
	fluxbus_json_release(state);
	fluxbus_json_release(patch);
	return 0;
}

#else

#define MOST 64

static int asked, answered, calls[1 << 12], mirrors_open;
static fluxbus_mirror *mirrors[MOST];
static fluxbus_actions *streams[MOST];
static const uint8_t *input, *input_end;

static uint8_t next(void) { return input < input_end ? *input++ : 0; }

static void done(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	(void)bus;
	expect(!reply != !error || (!reply && !error), "there is a reply and an error");
	expect(!error || (error->code && error->message), "an error says nothing");
	expect(calls[(intptr_t)context]++ == 0, "an answer comes twice");
	answered++;
	/* Sometimes it leaves, or asks for more, when it is told something. */
	if (next() == 200) fluxbus_leave(bus, 0);
	if (next() == 201 && asked + 1 < 1 << 12) fluxbus_dispatch(bus, "a/b", "go", NULL, NULL, done, (void *)(intptr_t)asked++);
}

static void changed(fluxbus_mirror *mirror, const fluxbus_change *change, const fluxbus_error *error, void *context)
{
	(void)error;
	for (size_t index = 0; change && index < fluxbus_json_count(change->states); index++) {
		const fluxbus_json *there = fluxbus_mirror_get(mirror, fluxbus_json_name(change->states, index));
		if (strlen(fluxbus_json_name(change->states, index)) > 0) expect(there != NULL || !change->reset, "a state is missing");
	}
	/* Sometimes it leaves while it is told something. */
	if (change && change->revision % 7 == 3 && context) {
		intptr_t place = (intptr_t)context - 1;
		if (mirrors[place] == mirror) mirrors[place] = NULL, fluxbus_mirror_close(mirror);
	}
}

static void acted(fluxbus_actions *actions, const fluxbus_action *action, const fluxbus_error *error, void *context)
{
	(void)actions, (void)error, (void)context;
	if (action && !action->gap && action->target) expect(strlen(action->target) < 1 << 20, "a target does not end");
}

/* The ids of what was sent and is not answered here. */
static int64_t ids[1 << 12];
static size_t oldest, newest;

static void read_outgoing(fluxbus *bus)
{
	size_t length;
	const char *bytes = fluxbus_outgoing(bus, &length), *at = bytes, *end = bytes + length, *newline;
	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		fluxbus_json *line = fluxbus_json_parse(at, (size_t)(newline - at));
		expect(fluxbus_json_kind(line) == FLUXBUS_OBJECT, "the client sends what is no object");
		if (newest < 1 << 12) ids[newest++] = fluxbus_json_integer(fluxbus_json_member(line, "id"));
		fluxbus_json_release(line);
		at = newline + 1;
	}
	expect(at == end, "the client sends half a line");
	fluxbus_sent(bus, length);
}

/* Says a line, whole or in parts. */
static bool hear(fluxbus *bus, const char *text)
{
	size_t length = strlen(text), part = next() % 4 ? length : length / 2;
	return fluxbus_received(bus, text, part) && fluxbus_received(bus, text + part, length - part);
}

static bool reply(fluxbus *bus)
{
	char line[512];
	read_outgoing(bus);
	long long id = oldest < newest ? (long long)ids[oldest++] : 99;
	uint8_t form = next();
	const char *error = form % 8 == 1 ? "conflict" : form % 8 == 2 ? "unavailable" : NULL;
	if (error) snprintf(line, sizeof line, "{\"id\":%lld,\"ok\":false,\"error\":{\"code\":\"%s\",\"message\":\"No.\"}}\n", id, error);
	else snprintf(line, sizeof line, "{\"id\":%lld,\"ok\":true,\"revision\":%d,\"epoch\":\"e%d\",\"sub\":%d,\"resumed\":%s,"
		"\"states\":{\"counter/a\":{\"count\":%d}}%s}\n", id, next(), form & 1, 1 + next() % 4, form & 2 ? "true" : "false", next(),
		form % 16 == 7 ? ",\"next\":\"counter/a\"" : "");
	return hear(bus, line);
}

static bool event(fluxbus *bus)
{
	static const char *parts[] = {
		"\"states\":{\"counter/a\":{\"count\":1}}", "\"changes\":{\"counter/a\":{\"count\":2,\"x\":null}}", "\"dropped\":[\"counter/a\"]",
		"\"states\":{\"counter/b\":{}},\"dropped\":[\"counter/c\"]", "\"changes\":{\"counter/b\":{\"a\":{\"b\":{\"c\":null}}}}", "\"states\":[1]",
	};
	static const char *kinds[] = {"change", "change", "change", "bookmark", "action", "gap", "goodbye", "news"};
	char line[512], from[40] = "";
	uint8_t form = next(), revision = next();
	if (form & 1) snprintf(from, sizeof from, "\"from\":%d,%s", next(), form & 2 ? "\"reset\":true," : "");
	snprintf(line, sizeof line, "{\"event\":\"%s\",\"sub\":%d,%s\"revision\":%d,%s%s,\"store\":\"counter/a\",\"action\":\"go\",\"index\":%d}\n",
		kinds[next() % 8], 1 + next() % 4, from, revision, form & 4 ? "\"more\":true," : "", parts[next() % 6], form >> 4);
	return hear(bus, line);
}

static fluxbus_json *options(void)
{
	uint8_t form = next();
	return form % 4 == 1 ? fluxbus_json_format("{'dryRun': true}") : form % 4 == 2 ? fluxbus_json_format("{'key': 'mine'}")
		: form % 8 == 3 ? fluxbus_json_format("[") : NULL;
}

static void act(fluxbus *bus, uint8_t what)
{
	uint8_t place = next() % MOST;
	void *context = (void *)(intptr_t)asked;
	if (what < 8 && asked + 1 < 1 << 12) asked++;
	else if (what < 8) return;
	switch (what) {
	case 0: fluxbus_dispatch(bus, "counter/a", "go", fluxbus_json_format("{'by': %d}", place), options(), done, context); break;
	case 1: fluxbus_batch(bus, fluxbus_json_format("[['a/b', 'go', {}], {'op': 'create', 'store': 'a/c'}]"), options(), done, context); break;
	case 2: fluxbus_create(bus, "counter/\xff", NULL, options(), done, context); break;
	case 3: fluxbus_get(bus, "counter/a", options(), done, context); break;
	case 4: fluxbus_states(bus, "counter*", options(), done, context); break;
	case 5: fluxbus_will(bus, fluxbus_json_format("[['counter/a', 'go']]"), done, context); break;
	case 6: fluxbus_request(bus, place & 1 ? "revert" : "history", options(), done, context); break;
	case 7: fluxbus_drop(bus, "counter", options(), done, context); break;
	case 8:
		if (mirrors[place]) fluxbus_mirror_close(mirrors[place]);
		mirrors[place] = NULL;
		if (mirrors_open++ < 100) mirrors[place] = fluxbus_mirror_open(bus, "counter", options(), changed, (void *)(intptr_t)(place + 1));
		break;
	case 9:
		if (streams[place]) fluxbus_actions_close(streams[place]);
		streams[place] = NULL;
		if (mirrors_open++ < 100) streams[place] = fluxbus_actions_open(bus, "counter", options(), acted, NULL);
		break;
	case 10: fluxbus_tick(bus, (int64_t)next() * 100); break;
	default: if (next() % 16 == 0) fluxbus_leave(bus, next() % 2);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fluxbus_options given = {.linger = size % 3, .timeout = size % 2 ? 5 : 0, .token = "secret"};
	bool is_connected = false;
	input = data;
	input_end = data + size;
	asked = answered = mirrors_open = 0;
	memset(calls, 0, sizeof calls);
	memset(mirrors, 0, sizeof mirrors);
	memset(streams, 0, sizeof streams);
	fluxbus *bus = fluxbus_new(&given);
	while (input < input_end) {
		uint8_t what = next() % 24;
		bool goes_on = true;
		if (!is_connected && what >= 12) {
			oldest = newest = 0;
			fluxbus_connected(bus, what & 1);
			is_connected = true;
		} else if (what < 12) {
			act(bus, what);
		} else if (what < 18) {
			goes_on = reply(bus);
		} else if (what < 22) {
			goes_on = event(bus);
		} else if (what == 22) {
			size_t length = next();
			if (length > (size_t)(input_end - input)) length = (size_t)(input_end - input);
			goes_on = fluxbus_received(bus, input, length);
			input += length;
		} else {
			goes_on = false;
		}
		if (is_connected && !goes_on) fluxbus_lost(bus, NULL), is_connected = false;
	}
	fluxbus_free(bus);
	expect(answered == asked, "a request is not answered");
	return 0;
}

#endif
