/* What Linux has and Swift's C library module does not show: epoll, accept4, peer credentials, and macros
 * that Swift can't import. Everything is a constant or a thin call; no logic lives here.
 *
 * This header must not ask for GNU extensions: headers that look different with them clash with what Swift's
 * C library module saw without. The calls that need them are in CLinux.c. */
#ifndef FLUXBUS_CLINUX_H
#define FLUXBUS_CLINUX_H

#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>

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
int linux_epoll_create(void);

/* Adds, changes or removes the interest in a descriptor; `token` comes back with its events. */
int linux_epoll_add(int epoll, int fd, uint32_t events, uint64_t token);
int linux_epoll_modify(int epoll, int fd, uint32_t events, uint64_t token);
int linux_epoll_remove(int epoll, int fd);

/* struct epoll_event is packed on x86-64; these read one without Swift having to know. */
typedef struct epoll_event linux_epoll_event;
int linux_epoll_wait(int epoll, linux_epoll_event *events, int most, int milliseconds);
static inline uint32_t linux_epoll_events(const linux_epoll_event *event) { return event->events; }
static inline uint64_t linux_epoll_token(const linux_epoll_event *event) { return event->data.u64; }

/* A descriptor that only stands for a file, whatever it is; /proc/self/fd names the file by it, also once its own name is
 * gone. */
int linux_refer(const char *path);

/* Duplicates a descriptor to the first free one from `least` on, closed on exec. */
int linux_duplicate(int fd, int least);

/* Makes the calling thread alone act as another user: what it connects to sees that one. Takes root. */
int linux_become_user(uint32_t uid);

/* Accepts a connection as a non-blocking descriptor, closed on exec. */
int linux_accept(int listener, struct sockaddr *address, socklen_t *length);

/* A stream socket, non-blocking or not, closed on exec. */
int linux_stream_socket(int domain, int nonblocking);

/* Who is at the other end of a Unix socket, by the kernel's word. */
int linux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);

/* Sends several pieces at once, without SIGPIPE. */
ssize_t linux_send_pieces(int fd, const struct iovec *pieces, size_t count);

/* A ring of io_uring, by which one system call sends to many sockets. NULL where the kernel has none, or does not let us. */
typedef struct linux_ring linux_ring;
linux_ring *linux_ring_create(unsigned most);
void linux_ring_free(linux_ring *ring);

/* What is sent to one socket, and its result: so many bytes, or an errno below zero. EINTR: it was not tried. */
typedef struct {
    const void *bytes;
    size_t count;
    int fd;
    int result;
} linux_sending;

/* Sends as `send` does, without waiting for any of the sockets, as many as the ring was made for at most; returns the number of system
   calls. */
int linux_ring_send(linux_ring *ring, linux_sending *sendings, size_t count);

/* Most descriptors that the kernel takes along with one message (SCM_MAX_FD). */
enum { linux_descriptors_per_message = 253 };

/* Sends pieces as one message, with descriptors and without SIGPIPE. Without an address the socket must be connected. */
ssize_t linux_send_message(int fd, const struct sockaddr_un *address, socklen_t address_length, const struct iovec *pieces, size_t count,
                           const int *descriptors, size_t descriptor_count, int flags);

/* Receives one message with at most linux_descriptors_per_message descriptors, closed on exec. `cut` tells that the
   buffer or the room for descriptors was too small. */
ssize_t linux_receive_message(int fd, void *buffer, size_t size, int *descriptors, size_t *descriptor_count, int *cut, int flags);

/* The longest path of a Unix socket, without the zero at its end. */
static const size_t linux_unix_path_limit = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

/* The address of a Unix socket; its length, or 0 when the path is too long. */
socklen_t linux_unix_address(const char *path, struct sockaddr_un *address);

/* A descriptor of what has a name now, which may not be a symbolic link, for the two calls below; it opens nothing. They change
   what the descriptor holds, whatever has the name by then; the second one needs /proc. */
int linux_hold_path(const char *path);
int linux_change_held_group(int fd, gid_t group);
int linux_change_held_mode(int fd, mode_t mode);

/* Switches of sockets. */
int linux_set_nodelay(int fd);
int linux_set_reuse_address(int fd);
int linux_set_only_version6(int fd);
int linux_set_nonblocking(int fd, int on);

/* A lock on an open file that nobody else can have meanwhile; EWOULDBLOCK where somebody has it. */
int linux_try_lock(int fd);

/* Which file has a name, and its size, and nothing else of it: asking for its times, too, makes the next write to it note a time of its own,
   which fdatasync then waits for. */
int linux_identify_file(const char *path, uint64_t *device, uint64_t *inode, uint64_t *size);

/* Removes a directory with all that is in it, as far as that may be removed. Links are not followed. */
void linux_remove_tree(const char *path);

/* A program that is started has no descriptor from `first` on. */
int linux_close_from(posix_spawn_file_actions_t *actions, int first);

/* A counter to wait for with poll: closed on exec, never blocking. */
int linux_event_descriptor(void);

/* A file in memory that can be sealed, closed on exec. */
int linux_memory_file(const char *name);

/* Seals a file in memory for readers: nobody can write to it but by mappings that exist, and its size and seals stay. */
int linux_seal_for_readers(int fd);

/* Waits for descriptors as poll does, for at most so many nanoseconds. */
int linux_poll(struct pollfd *entries, size_t count, int64_t nanoseconds);

/* Names the calling thread, for ps and debuggers; at most 15 bytes. */
void linux_name_thread(const char *name);

/* The limit of open descriptors. */
int linux_get_descriptor_limit(uint64_t *soft, uint64_t *hard);
int linux_set_descriptor_limit(uint64_t soft, uint64_t hard);

/* The heap of the C library: how many bytes of it are free, and giving what it can of them back to the kernel. */
size_t linux_heap_free(void);
void linux_heap_trim(void);

/* Lets go of the pages of code and constants of this program and its libraries. Those that are needed again are mapped again, from
 * memory as a rule, at half a microsecond for 64 KiB; breakpoints that a debugger has set in code are gone. */
void linux_code_release(void);

/* Large blocks are given back when they are freed, and so is the free end of the heap, whatever was freed before. */
void linux_heap_settle(void);

#endif
