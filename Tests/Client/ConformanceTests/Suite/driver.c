/*
 * The conformance driver of the C client: `driver` in one thread, on `poll` and the descriptor of the bus; `driver --threads` reads
 * commands and writes answers in threads of their own, so that values pass from one to another.
 */
#include <fluxbus.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A command that waits for its answer, or an answer that waits for its command. */
typedef struct item {
	struct item *next;
	int64_t call, number;
	fluxbus_json *value;
} item;

typedef struct list {
	item *first, **last;
} list;

typedef struct stream {
	struct stream *next;
	char *name;
	int64_t opening;
	bool has_ended;
	fluxbus_mirror *mirror;
	fluxbus_actions *actions;
	list untils, takes, taken;
	int64_t ended;
} stream;

static fluxbus *bus;
static stream *streams;
static int64_t connecting, closing;
static bool is_threaded;

static void add(list *list, int64_t call, int64_t number, fluxbus_json *value)
{
	item *added = malloc(sizeof *added);
	*added = (item){NULL, call, number, value};
	if (!list->first) list->last = &list->first;
	*list->last = added;
	list->last = &added->next;
}

static item *take(list *list)
{
	item *first = list->first;
	if (first) list->first = first->next;
	return first;
}

/* -- Threads -- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static list commands, answers;
static bool has_no_more;
static int bell[2];

static void print(fluxbus_json *value)
{
	char *text = fluxbus_json_text(value);
	puts(text);
	fflush(stdout);
	free(text);
	fluxbus_json_release(value);
}

static void answer(fluxbus_json *value)
{
	if (!is_threaded) {
		print(value);
		return;
	}
	pthread_mutex_lock(&lock);
	add(&answers, 0, 0, value);
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&lock);
}

static void *write_answers(void *context)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		item *next = take(&answers);
		if (!next && has_no_more) break;
		if (!next) {
			pthread_cond_wait(&news, &lock);
			continue;
		}
		pthread_mutex_unlock(&lock);
		print(next->value);
		free(next);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return context;
}

static void *read_commands(void *context)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	while ((length = getline(&line, &room, stdin)) > 0) {
		fluxbus_json *command = fluxbus_json_parse(line, (size_t)length);
		pthread_mutex_lock(&lock);
		add(&commands, 0, 0, command);
		pthread_mutex_unlock(&lock);
		if (write(bell[1], "!", 1) != 1) break;
	}
	free(line);
	close(bell[1]);
	return context;
}

/* -- Answers -- */

static void give(int64_t call, const fluxbus_json *value)
{
	if (value) answer(fluxbus_json_format("{'call': %lld, 'value': %p}", (long long)call, (const void *)value));
	else answer(fluxbus_json_format("{'call': %lld, 'value': null}", (long long)call));
}

static void fail(int64_t call, const fluxbus_error *error)
{
	const char *code = error ? error->code : "closed", *message = error ? error->message : "The bus was closed.";
	answer(fluxbus_json_format("{'call': %lld, 'error': %s, 'message': %s}", (long long)call, code, message));
}

static void done(fluxbus *of, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	(void)of, (void)reply;
	int64_t call = (int64_t)(intptr_t)context;
	if (error) fail(call, error);
	else give(call, NULL);
}

static void shown(fluxbus *of, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	(void)of;
	int64_t call = (int64_t)(intptr_t)context;
	if (error) {
		fail(call, error);
		return;
	}
	long long revision = fluxbus_json_integer(fluxbus_json_member(reply, "revision"));
	bool duplicate = fluxbus_json_boolean(fluxbus_json_member(reply, "duplicate"));
	fluxbus_json *value = fluxbus_json_format("{'revision': %lld, 'duplicate': %i}", revision, duplicate);
	give(call, value);
	fluxbus_json_release(value);
}

static void got(fluxbus *of, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	(void)of;
	if (error) fail((int64_t)(intptr_t)context, error);
	else give((int64_t)(intptr_t)context, reply);
}

static void told(fluxbus *of, fluxbus_phase phase, const fluxbus_error *error, void *context)
{
	(void)of, (void)context;
	if (connecting && phase == FLUXBUS_LIVE) give(connecting, NULL);
	if (connecting && phase == FLUXBUS_CLOSED) fail(connecting, error);
	if (phase == FLUXBUS_LIVE || phase == FLUXBUS_CLOSED) connecting = 0;
	if (closing && phase == FLUXBUS_CLOSED) give(closing, NULL);
}

/* -- Streams -- */

static void check_untils(stream *stream)
{
	while (stream->untils.first && fluxbus_mirror_revision(stream->mirror) >= stream->untils.first->number) {
		item *until = take(&stream->untils);
		fluxbus_json *states = fluxbus_mirror_states(stream->mirror);
		give(until->call, states);
		fluxbus_json_release(states);
		free(until);
	}
}

static void open_or_end(stream *stream, bool is_end, const fluxbus_error *error)
{
	if (stream->opening && is_end) fail(stream->opening, error);
	else if (stream->opening) give(stream->opening, NULL);
	stream->opening = 0;
	if (!is_end) return;
	stream->has_ended = true;
	if (stream->ended) give(stream->ended, NULL);
}

static void check_takes(stream *stream)
{
	while (stream->takes.first) {
		int64_t count = 0, wanted = stream->takes.first->number;
		for (item *each = stream->taken.first; each; each = each->next) count++;
		if (count < wanted) return;
		fluxbus_json *all = fluxbus_json_format("[]");
		for (int64_t index = 0; index < wanted; index++) {
			item *next = take(&stream->taken);
			all = fluxbus_json_append(all, next->value);
			free(next);
		}
		item *taking = take(&stream->takes);
		give(taking->call, all);
		fluxbus_json_release(all);
		free(taking);
	}
}

static void changed(fluxbus_mirror *mirror, const fluxbus_change *change, const fluxbus_error *error, void *context)
{
	stream *stream = context;
	bool is_first = stream->opening;
	/* The first change may come before `fluxbus_mirror_open` returns. */
	stream->mirror = mirror;
	open_or_end(stream, !change, error);
	if (!change) return;
	check_untils(stream);
	if (is_first) return;
	fluxbus_json *shown = fluxbus_json_format("{'revision': %lld}", (long long)change->revision);
	if (change->cause) shown = fluxbus_json_with(shown, "cause", fluxbus_json_retain(change->cause));
	add(&stream->taken, 0, 0, shown);
	check_takes(stream);
}

static fluxbus_json *shown_action(const fluxbus_action *action)
{
	fluxbus_json *shown = fluxbus_json_format("{'target': %s, 'action': %s}", action->target, action->action);
	if (action->result) shown = fluxbus_json_with(shown, "result", fluxbus_json_retain(action->result));
	if (action->results) shown = fluxbus_json_with(shown, "results", fluxbus_json_retain(action->results));
	if (!action->traceparent) return shown;
	return fluxbus_json_with(shown, "traceparent", fluxbus_json_format("%s", action->traceparent));
}

static void acted(fluxbus_actions *actions, const fluxbus_action *action, const fluxbus_error *error, void *context)
{
	(void)actions;
	stream *stream = context;
	bool is_first = stream->opening;
	open_or_end(stream, !action, error);
	if (!action || is_first) return;
	if (action->gap) add(&stream->taken, 0, 0, fluxbus_json_format("{'gap': %lld}", (long long)action->revision));
	else add(&stream->taken, 0, 0, shown_action(action));
	check_takes(stream);
}

static stream *find(const char *name)
{
	stream *found = streams;
	while (found && strcmp(found->name, name) != 0) found = found->next;
	if (!found) abort();
	return found;
}

static stream *begin(const char *name, int64_t call)
{
	stream *begun = calloc(1, sizeof *begun);
	begun->name = strdup(name);
	begun->opening = call;
	begun->next = streams;
	return streams = begun;
}

/* -- Commands -- */

static const char *text(const fluxbus_json *command, const char *name) { return fluxbus_json_string(fluxbus_json_member(command, name)); }

static fluxbus_json *held(const fluxbus_json *command, const char *name)
{
	return fluxbus_json_retain(fluxbus_json_member(command, name));
}

static fluxbus_json *where(const fluxbus_json *command)
{
	const fluxbus_json *expression = fluxbus_json_member(command, "where");
	return expression ? fluxbus_json_format("{'where': %p}", (const void *)expression) : NULL;
}

static fluxbus_json *mirrored(const fluxbus_json *command)
{
	fluxbus_json *options = where(command);
	if (!fluxbus_json_boolean(fluxbus_json_member(command, "cause"))) return options;
	return fluxbus_json_with(options ? options : fluxbus_json_format("{}"), "cause", fluxbus_json_format("%i", true));
}

static fluxbus_json *traced(const fluxbus_json *command)
{
	const char *place = text(command, "traceparent");
	return place ? fluxbus_json_format("{'traceparent': %s}", place) : NULL;
}

/* Tuples of target, action and payload. */
static fluxbus_json *tuples(const fluxbus_json *command)
{
	const fluxbus_json *actions = fluxbus_json_member(command, "actions");
	fluxbus_json *list = fluxbus_json_format("[]");
	for (size_t index = 0; index < fluxbus_json_count(actions); index++) {
		const fluxbus_json *part = fluxbus_json_at(actions, index), *payload = fluxbus_json_member(part, "payload");
		fluxbus_json *tuple = fluxbus_json_format("[%s, %s]", text(part, "target"), text(part, "action"));
		list = fluxbus_json_append(list, payload ? fluxbus_json_append(tuple, fluxbus_json_retain(payload)) : tuple);
	}
	return list;
}

static void connect_bus(const fluxbus_json *command)
{
	fluxbus_options options = {.back_off = {0.001, 0.01}, .status = told};
	const fluxbus_json *given = fluxbus_json_member(command, "options");
	options.linger = fluxbus_json_number(fluxbus_json_member(given, "linger"));
	options.patience = fluxbus_json_number(fluxbus_json_member(given, "patience"));
	bus = fluxbus_connect(text(command, "address"), &options);
}

static void carry_out(const fluxbus_json *command)
{
	const char *what = text(command, "do"), *target = text(command, "target"), *name = text(command, "name");
	int64_t call = fluxbus_json_integer(fluxbus_json_member(command, "call"));
	void *context = (void *)(intptr_t)call;
	if (!strcmp(what, "connect")) {
		/* The one before has ended. */
		fluxbus_free(bus);
		connecting = call;
		connect_bus(command);
	} else if (!strcmp(what, "dispatch")) {
		fluxbus_dispatch(bus, target, text(command, "action"), held(command, "payload"), traced(command), shown, context);
	} else if (!strcmp(what, "batch")) {
		fluxbus_batch(bus, tuples(command), traced(command), shown, context);
	} else if (!strcmp(what, "create")) {
		fluxbus_create(bus, target, NULL, NULL, shown, context);
	} else if (!strcmp(what, "drop")) {
		fluxbus_drop(bus, target, where(command), shown, context);
	} else if (!strcmp(what, "get")) {
		fluxbus_get(bus, target, NULL, got, context);
	} else if (!strcmp(what, "request")) {
		fluxbus_request(bus, text(command, "op"), held(command, "members"), done, context);
	} else if (!strcmp(what, "will")) {
		fluxbus_will(bus, tuples(command), done, context);
	} else if (!strcmp(what, "mirror")) {
		stream *begun = begin(name, call);
		begun->mirror = fluxbus_mirror_open(bus, target, mirrored(command), changed, begun);
	} else if (!strcmp(what, "until")) {
		add(&find(name)->untils, call, fluxbus_json_integer(fluxbus_json_member(command, "revision")), NULL);
		check_untils(find(name));
	} else if (!strcmp(what, "states")) {
		fluxbus_json *states = fluxbus_mirror_states(find(name)->mirror);
		give(call, states);
		fluxbus_json_release(states);
	} else if (!strcmp(what, "ended")) {
		find(name)->ended = call;
		if (find(name)->has_ended) give(call, NULL);
	} else if (!strcmp(what, "actions")) {
		stream *begun = begin(name, call);
		begun->actions = fluxbus_actions_open(bus, target, NULL, acted, begun);
	} else if (!strcmp(what, "take") || !strcmp(what, "changes")) {
		add(&find(name)->takes, call, fluxbus_json_integer(fluxbus_json_member(command, "count")), NULL);
		check_takes(find(name));
	} else if (!strcmp(what, "close")) {
		const fluxbus_json *timeout = fluxbus_json_member(command, "timeout");
		closing = call;
		fluxbus_leave(bus, timeout ? fluxbus_json_number(timeout) : 5);
	} else {
		abort();
	}
}

/* -- Input -- */

/* Commands that have come, from the descriptor itself or from the thread that reads it. False at the end. */
static bool read_input(int descriptor, char **rest, size_t *length)
{
	static char chunk[1 << 16];
	ssize_t count = read(descriptor, chunk, sizeof chunk);
	if (count <= 0) return false;
	if (is_threaded) {
		for (;;) {
			pthread_mutex_lock(&lock);
			item *next = take(&commands);
			pthread_mutex_unlock(&lock);
			if (!next) return true;
			carry_out(next->value);
			fluxbus_json_release(next->value);
			free(next);
		}
	}
	*rest = realloc(*rest, *length + (size_t)count);
	memcpy(*rest + *length, chunk, (size_t)count);
	*length += (size_t)count;
	char *at = *rest, *newline;
	while ((newline = memchr(at, '\n', *length - (size_t)(at - *rest)))) {
		fluxbus_json *command = fluxbus_json_parse(at, (size_t)(newline - at));
		carry_out(command);
		fluxbus_json_release(command);
		at = newline + 1;
	}
	*length -= (size_t)(at - *rest);
	memmove(*rest, at, *length);
	return true;
}

static void empty(list *list)
{
	for (item *next; (next = take(list)); free(next)) fluxbus_json_release(next->value);
}

int main(int count, char **words)
{
	pthread_t reader, writer;
	char *rest = NULL;
	size_t length = 0;
	int descriptor = 0;
	is_threaded = count > 1 && !strcmp(words[1], "--threads");
	if (is_threaded) {
		if (pipe(bell)) return 1;
		descriptor = bell[0];
		pthread_create(&reader, NULL, read_commands, NULL);
		pthread_create(&writer, NULL, write_answers, NULL);
	}
	for (;;) {
		struct pollfd ready[2] = {{.fd = descriptor, .events = POLLIN}, {.fd = -1}};
		if (bus && fluxbus_get_phase(bus) != FLUXBUS_CLOSED) {
			ready[1] = (struct pollfd){.fd = fluxbus_get_fd(bus), .events = (short)fluxbus_get_events(bus)};
		}
		if (poll(ready, 2, -1) < 0) return 1;
		if (ready[1].revents) fluxbus_process(bus);
		if (ready[0].revents && !read_input(descriptor, &rest, &length)) break;
	}
	/* What nobody waits for any more must not keep the program. */
	connecting = closing = 0;
	for (stream *each = streams; each; each = each->next) each->opening = each->ended = 0;
	fluxbus_free(bus);
	if (is_threaded) {
		pthread_mutex_lock(&lock);
		has_no_more = true;
		pthread_cond_signal(&news);
		pthread_mutex_unlock(&lock);
		pthread_join(reader, NULL);
		pthread_join(writer, NULL);
	}
	for (stream *each; (each = streams); free(each)) {
		streams = each->next;
		empty(&each->untils);
		empty(&each->takes);
		empty(&each->taken);
		free(each->name);
	}
	free(rest);
	return 0;
}
