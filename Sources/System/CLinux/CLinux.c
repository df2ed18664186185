#define _GNU_SOURCE 1
#include <malloc.h>
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <link.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int linux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int linux_epoll_add(int epoll, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int linux_epoll_modify(int epoll, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
}

int linux_epoll_remove(int epoll, int fd) { return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, 0); }

int linux_epoll_wait(int epoll, linux_epoll_event *events, int most, int milliseconds) {
    return epoll_wait(epoll, events, most, milliseconds);
}

int linux_refer(const char *path) { return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC); }

int linux_duplicate(int fd, int least) { return fcntl(fd, F_DUPFD_CLOEXEC, least); }

/* The C library's function would change all threads. */
int linux_become_user(uint32_t uid) { return (int)syscall(SYS_setresuid, -1, uid, -1); }

int linux_accept(int listener, struct sockaddr *address, socklen_t *length) {
    return accept4(listener, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int linux_stream_socket(int domain, int nonblocking) {
    return socket(domain, SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), 0);
}

int linux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
    *pid = peer.pid; *uid = peer.uid; *gid = peer.gid;
    return 0;
}

ssize_t linux_send_pieces(int fd, const struct iovec *pieces, size_t count) {
    // Most output is one piece, and the kernel takes that without copying a header and a list first.
    if (count == 1) return send(fd, pieces->iov_base, pieces->iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
    struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = count};
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t linux_send_message(int fd, const struct sockaddr_un *address, socklen_t address_length, const struct iovec *pieces, size_t count,
                           const int *descriptors, size_t descriptor_count, int flags) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * linux_descriptors_per_message)];
    } control;
    struct msghdr message = {
        .msg_name = (void *)address, .msg_namelen = address_length, .msg_iov = (struct iovec *)pieces, .msg_iovlen = count};
    if (descriptor_count > linux_descriptors_per_message) {
        errno = EINVAL;
        return -1;
    }
    if (descriptor_count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptor_count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * descriptor_count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * descriptor_count);
    }
    return sendmsg(fd, &message, flags | MSG_NOSIGNAL);
}

ssize_t linux_receive_message(int fd, void *buffer, size_t size, int *descriptors, size_t *descriptor_count, int *cut, int flags) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * linux_descriptors_per_message)];
    } control;
    struct iovec piece = {buffer, size};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t count;
    do count = recvmsg(fd, &message, flags | MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
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

int linux_hold_path(const char *path) { return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC); }

int linux_change_held_group(int fd, gid_t group) { return fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH); }

int linux_change_held_mode(int fd, mode_t mode) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return chmod(path, mode);
}

socklen_t linux_unix_address(const char *path, struct sockaddr_un *address) {
    size_t length = strlen(path);
    if (length > linux_unix_path_limit) return 0;
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length + 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

static int switch_on(int fd, int level, int name) {
    int on = 1;
    return setsockopt(fd, level, name, &on, sizeof on);
}

int linux_set_nodelay(int fd) { return switch_on(fd, IPPROTO_TCP, TCP_NODELAY); }
int linux_set_reuse_address(int fd) { return switch_on(fd, SOL_SOCKET, SO_REUSEADDR); }
int linux_set_only_version6(int fd) { return switch_on(fd, IPPROTO_IPV6, IPV6_V6ONLY); }

int linux_set_nonblocking(int fd, int on) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0) return -1;
    return fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

int linux_try_lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }

void linux_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

int linux_identify_file(const char *path, uint64_t *device, uint64_t *inode, uint64_t *size) {
    struct statx status;
    if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_SIZE, &status) != 0) return -1;
    *size = status.stx_size;
    *device = makedev(status.stx_dev_major, status.stx_dev_minor);
    *inode = status.stx_ino;
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) { return remove(path); }

void linux_remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

int linux_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int linux_seal_for_readers(int fd) {
    return fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int linux_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int linux_event_descriptor(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int linux_get_descriptor_limit(uint64_t *soft, uint64_t *hard) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    *soft = limit.rlim_cur; *hard = limit.rlim_max;
    return 0;
}

int linux_set_descriptor_limit(uint64_t soft, uint64_t hard) {
    struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    return setrlimit(RLIMIT_NOFILE, &limit);
}

size_t linux_heap_free(void) { return mallinfo2().fordblks; }

void linux_heap_trim(void) { malloc_trim(0); }

void linux_heap_settle(void) {
    /* Either setting keeps the C library from raising both with every large block that is freed. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

static int release_code(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size, (void)context;
    const ElfW(Phdr) *end = object->dlpi_phdr + object->dlpi_phnum;
    for (const ElfW(Phdr) *part = object->dlpi_phdr; part < end; part++) {
        if (part->p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(object->dlpi_addr + part->p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            /* The linker has written into its code: that is nowhere else. */
            if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL)) return 0;
        }
    }
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (const ElfW(Phdr) *part = object->dlpi_phdr; part < end; part++) {
        if (part->p_type != PT_LOAD || part->p_flags & PF_W) continue;
        uintptr_t start = (object->dlpi_addr + part->p_vaddr) & ~(page - 1);
        madvise((void *)start, object->dlpi_addr + part->p_vaddr + part->p_memsz - start, MADV_DONTNEED);
    }
    return 0;
}

void linux_code_release(void) { dl_iterate_phdr(release_code, NULL); }

int linux_poll(struct pollfd *entries, size_t count, int64_t nanoseconds) {
    struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    return ppoll(entries, count, &time, NULL);
}
