/* libsystemd as Swift sees it, and the few things of the C library that messages with descriptors need and that Swift
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

/* Most descriptors that the kernel takes along with one message (SCM_MAX_FD). */
enum { systemd_descriptors_per_message = 253 };

static const int systemd_datagram = SOCK_DGRAM;
static const int systemd_stream = SOCK_STREAM;
static const int systemd_sequenced = SOCK_SEQPACKET;
static const int systemd_close_on_exec = SOCK_CLOEXEC;
static const int systemd_no_signal = MSG_NOSIGNAL;
static const int systemd_dont_wait = MSG_DONTWAIT;

/* Sends pieces as one message, with descriptors. Without an address the socket must be connected. */
static inline ssize_t systemd_send(int socket, const struct sockaddr_un *address, socklen_t address_length,
                                   const struct iovec *pieces, size_t piece_count, const int *descriptors,
                                   size_t descriptor_count, int flags) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * systemd_descriptors_per_message)];
    } control;
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_name = (void *)address;
    message.msg_namelen = address_length;
    message.msg_iov = (struct iovec *)pieces;
    message.msg_iovlen = piece_count;
    if (descriptor_count > 0) {
        if (descriptor_count > systemd_descriptors_per_message) {
            errno = EINVAL;
            return -1;
        }
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptor_count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * descriptor_count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * descriptor_count);
    }
    return sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

/* Receives one message with at most systemd_descriptors_per_message descriptors, closed on exec. `cut` tells that the
 * buffer or the room for descriptors was too small. */
static inline ssize_t systemd_receive(int socket, void *buffer, size_t size, int *descriptors,
                                      size_t *descriptor_count, int *cut, int flags) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * systemd_descriptors_per_message)];
    } control;
    struct iovec piece = {buffer, size};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    ssize_t count = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    *descriptor_count = 0;
    *cut = 0;
    if (count < 0) return count;
    *cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t found = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(descriptors + *descriptor_count, CMSG_DATA(header), found * sizeof(int));
        *descriptor_count += found;
    }
    return count;
}

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
