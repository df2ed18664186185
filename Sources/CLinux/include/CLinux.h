/* What Linux has and Swift's C library module does not show: epoll, accept4, peer credentials, and macros
 * that Swift can't import. Everything is a constant or a thin inline call; no logic lives here. */
#ifndef FLUXBUS_CLINUX_H
#define FLUXBUS_CLINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static const uint32_t linux_epoll_in = EPOLLIN;
static const uint32_t linux_epoll_out = EPOLLOUT;
static const uint32_t linux_epoll_rdhup = EPOLLRDHUP;
static const uint32_t linux_epoll_hup = EPOLLHUP;
static const uint32_t linux_epoll_err = EPOLLERR;

/* Constants that are enumerators here and macros there, so that Swift sees them differently from file to file. */
static const int linux_dont_wait = MSG_DONTWAIT;
static const int linux_no_signal = MSG_NOSIGNAL;
static const int linux_stream = SOCK_STREAM;

/* A new epoll descriptor, closed on exec; -1 and errno on failure. */
static inline int linux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

/* Adds, changes or removes the interest in a descriptor; `token` comes back with its events. */
static inline int linux_epoll_add(int epoll, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}
static inline int linux_epoll_modify(int epoll, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
}
static inline int linux_epoll_remove(int epoll, int fd) { return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, 0); }

/* struct epoll_event is packed on x86-64; these read one without Swift having to know. */
typedef struct epoll_event linux_epoll_event;
static inline int linux_epoll_wait(int epoll, linux_epoll_event *events, int most, int milliseconds) {
    return epoll_wait(epoll, events, most, milliseconds);
}
static inline uint32_t linux_epoll_events(const linux_epoll_event *event) { return event->events; }
static inline uint64_t linux_epoll_token(const linux_epoll_event *event) { return event->data.u64; }

/* Accepts a connection as a non-blocking descriptor, closed on exec. */
static inline int linux_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* A stream socket, non-blocking or not, closed on exec. */
static inline int linux_stream_socket(int domain, int nonblocking) {
    return socket(domain, SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), 0);
}

/* Who is at the other end of a Unix socket, by the kernel's word. */
static inline int linux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
    *pid = peer.pid; *uid = peer.uid; *gid = peer.gid;
    return 0;
}

/* Sends several pieces at once, without SIGPIPE. */
static inline ssize_t linux_send_pieces(int fd, const struct iovec *pieces, size_t count) {
    struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = count};
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The longest path of a Unix socket, without the zero at its end. */
static const size_t linux_unix_path_limit = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

/* The address of a Unix socket; its length, or 0 when the path is too long. */
static inline socklen_t linux_unix_address(const char *path, struct sockaddr_un *address) {
    size_t length = strlen(path);
    if (length > linux_unix_path_limit) return 0;
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length + 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

/* Sets one of the switches of a TCP socket. */
static inline int linux_set_nodelay(int fd) {
    int on = 1;
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
static inline int linux_set_reuse_address(int fd) {
    int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}
static inline int linux_set_only_version6(int fd) {
    int on = 1;
    return setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
}

/* Whoever starts a daemon in a directory holds its lock while it looks for a live socket and binds. */
static inline int linux_try_lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }

/* The limit of open descriptors. */
static inline int linux_get_descriptor_limit(uint64_t *soft, uint64_t *hard) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    *soft = limit.rlim_cur; *hard = limit.rlim_max;
    return 0;
}
static inline int linux_set_descriptor_limit(uint64_t soft, uint64_t hard) {
    struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    return setrlimit(RLIMIT_NOFILE, &limit);
}

static inline int linux_set_nonblocking(int fd, int on) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0) return -1;
    return fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

#endif
