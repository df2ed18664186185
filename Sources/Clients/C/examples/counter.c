/* One counter in as many processes as you like: each line of input is a number to add, or `reset`; every process prints the count
 * whenever any of them changes it. */
#include <fluxbus.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(fluxbus_mirror *counters, const fluxbus_change *change, const fluxbus_error *error, void *context) {
    (void)context;
    if (error) fprintf(stderr, "%s\n", error->message);
    if (!change) return;
    const fluxbus_json *state = fluxbus_mirror_get(counters, "counter/example");
    printf("%lld\n", (long long)fluxbus_json_integer(fluxbus_json_member(state, "count")));
    fflush(stdout);
}

int main(void) {
    fluxbus *bus = fluxbus_connect(NULL, NULL);
    fluxbus_pending created = {0};
    fluxbus_create(bus, "counter/example", NULL, fluxbus_json_format("{'ifMissing': true}"), fluxbus_keep, &created);
    if (!fluxbus_await(bus, &created)) fprintf(stderr, "%s\n", created.message);
    fluxbus_pending_clear(&created);
    fluxbus_mirror_open(bus, "counter/example", NULL, show, NULL);

    char line[64];
    for (;;) {
        struct pollfd ready[] = {{.fd = 0, .events = POLLIN}, {.fd = fluxbus_get_fd(bus), .events = POLLIN}};
        poll(ready, 2, -1);
        if (ready[1].revents && !fluxbus_process(bus)) break;
        if (!ready[0].revents) continue;
        if (!fgets(line, sizeof line, stdin)) break;
        if (!strncmp(line, "reset", 5)) fluxbus_dispatch(bus, "counter/example", "reset", NULL, NULL, NULL, NULL);
        else fluxbus_dispatch(bus, "counter/example", "increment", fluxbus_json_format("{'by': %d}", atoi(line)), NULL, NULL, NULL);
    }
    fluxbus_close(bus, 5);
    fluxbus_free(bus);
    return 0;
}
