/* A service on sd-event that mirrors a store and never blocks: `mirror-sd-event TARGET` prints each change, connects again by itself,
 * and ends with SIGTERM. Build it with `cc mirror-sd-event.c $(pkg-config --cflags --libs fluxbus libsystemd)`. */
#include <fluxbus.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

static void show(fluxbus_mirror *mirror, const fluxbus_change *change, const fluxbus_error *error, void *context) {
    (void)mirror, (void)context;
    if (error) fprintf(stderr, "%s\n", error->message);
    if (!change) return;
    char *states = fluxbus_json_text(change->states), *dropped = fluxbus_json_text(change->dropped);
    printf("%lld %s %s\n", (long long)change->revision, states, dropped);
    fflush(stdout);
    free(states);
    free(dropped);
}

static void tell(fluxbus *bus, fluxbus_phase phase, const fluxbus_error *error, void *loop) {
    (void)bus;
    if (phase == FLUXBUS_LIVE) sd_notify(0, "READY=1\nSTATUS=Connected.");
    if (phase == FLUXBUS_LOST) sd_notifyf(0, "STATUS=%s", error->message);
    if (phase == FLUXBUS_CLOSED && error) fprintf(stderr, "%s\n", error->message);
    if (phase == FLUXBUS_CLOSED) sd_event_exit(loop, error ? 1 : 0);
}

static int process(sd_event_source *source, int descriptor, uint32_t events, void *bus) {
    (void)source, (void)descriptor, (void)events;
    fluxbus_process(bus);
    return 0;
}

static int stop(sd_event_source *source, const struct signalfd_siginfo *info, void *bus) {
    (void)source, (void)info;
    sd_notify(0, "STOPPING=1");
    fluxbus_leave(bus, 2);
    return 0;
}

int main(int count, char **words) {
    sd_event *loop;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (count != 2 || sd_event_default(&loop) < 0) return 64;
    fluxbus_options options = {.client = "mirror-sd-event", .patience = 60, .status = tell, .context = loop};
    fluxbus *bus = fluxbus_connect(NULL, &options);
    fluxbus_mirror_open(bus, words[1], NULL, show, NULL);
    sd_event_add_io(loop, NULL, fluxbus_get_fd(bus), (uint32_t)fluxbus_get_events(bus), process, bus);
    sd_event_add_signal(loop, NULL, SIGTERM, stop, bus);
    int status = sd_event_loop(loop);
    fluxbus_free(bus);
    sd_event_unref(loop);
    return status;
}
