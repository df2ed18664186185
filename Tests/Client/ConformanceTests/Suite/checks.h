/* For programs that say what the C client does: each ends with the line of what is not so. */
#include <fluxbus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                     \
	do {                                                                \
		if (what) break;                                                \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);      \
		exit(1);                                                        \
	} while (0)

/* The code of the error, or `ok`. */
static void keep_code(fluxbus *bus, const fluxbus_json *reply, const fluxbus_error *error, void *context)
{
	(void)bus, (void)reply;
	snprintf(context, 64, "%s", error ? error->code : "ok");
}

/* All that is sent, to be freed. */
static char *sent(fluxbus *bus)
{
	size_t length;
	const char *bytes = fluxbus_outgoing(bus, &length);
	char *text = strndup(length ? bytes : "", length);
	fluxbus_sent(bus, length);
	return text;
}
