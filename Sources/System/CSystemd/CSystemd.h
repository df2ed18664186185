/* libsystemd as Swift sees it, and the few things of the C library that go with it and that Swift
 * can't import: macros, and calls that the headers show only with GNU extensions. Those extensions must not be asked for
 * here: headers that look different with them clash with what Swift's C library module saw without. So these calls are
 * declared by hand. Everything is a constant or a thin call; no logic lives here. */
#ifndef FLUXBUS_CSYSTEMD_H
#define FLUXBUS_CSYSTEMD_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <systemd/sd-login.h>

static const int systemd_datagram = SOCK_DGRAM;
static const int systemd_stream = SOCK_STREAM;
static const int systemd_sequenced = SOCK_SEQPACKET;
static const int systemd_close_on_exec = SOCK_CLOEXEC;
static const int systemd_no_signal = MSG_NOSIGNAL;
static const int systemd_dont_wait = MSG_DONTWAIT;

/* Jobs of the service manager, by calls of sd-bus with variable arguments. */
static const char *const systemd_manager_path = "/org/freedesktop/systemd1";
static const char *const systemd_manager_interface = "org.freedesktop.systemd1.Manager";
/* A connection to the manager itself, which only root gets. */
static inline int systemd_open_manager(sd_bus **bus) {
    sd_bus *made = NULL;
    int answer = sd_bus_new(&made);
    if (answer >= 0) answer = sd_bus_set_address(made, "unix:path=/run/systemd/private");
    if (answer >= 0) answer = sd_bus_start(made);
    if (answer < 0) {
        sd_bus_unref(made);
        return answer;
    }
    *bus = made;
    return answer;
}
static inline int systemd_subscribe(sd_bus *bus) {
    return sd_bus_call_method(bus, "org.freedesktop.systemd1", systemd_manager_path, systemd_manager_interface,
                              "Subscribe", NULL, NULL, NULL);
}
static inline int systemd_call_unit(sd_bus *bus, const char *method, const char *unit, sd_bus_error *error,
                                    sd_bus_message **reply) {
    return sd_bus_call_method(bus, "org.freedesktop.systemd1", systemd_manager_path, systemd_manager_interface,
                              method, error, reply, "ss", unit, "replace");
}
static inline int systemd_read_job(sd_bus_message *message, const char **job) {
    return sd_bus_message_read(message, "o", job);
}
static inline int systemd_read_removed(sd_bus_message *message, const char **job, const char **result) {
    uint32_t number;
    const char *unit;
    return sd_bus_message_read(message, "uoss", &number, job, &unit, result);
}

/* The seals of a file in memory. The numbers are the kernel's. */
static const int systemd_add_seals = 1033; /* F_ADD_SEALS */
static const int systemd_get_seals = 1034; /* F_GET_SEALS */
static const int systemd_all_seals = 0x000f; /* F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE */

#endif
