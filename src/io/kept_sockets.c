/* SPDX-License-Identifier: MIT */
#include "io/kept_sockets.h"

#include "base/must.h"
#include "base/text.h"
#include "io/listener.h"
#include "wire/address.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

static enum err kept_socket_prepare(int fd, struct error *reterr)
{
    int is_listening = 0;
    socklen_t size = sizeof(is_listening);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) != 0 || is_listening == 0 ||
        listener_port(fd) == 0) {
        return fail(reterr, ERR_INPUT, "descriptor %d of LISTEN_FDS does not listen for TCP", fd);
    }
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        return fail(reterr, ERR_IO, "descriptor %d of LISTEN_FDS: %s", fd, strerror(errno));
    }
    return ERR_NONE;
}

enum err kept_sockets_read(const char *process, const char *count, int first_fd,
                           struct kept_sockets *ret_kept, struct error *reterr)
{
    uint64_t number = 0;
    uint64_t fd_count = 0;
    enum err err = ERR_NONE;
    *ret_kept = (struct kept_sockets){.count = 0};
    if (process == NULL || count == NULL ||
        text_parse_u64(slice_of_text(process), &number) != ERR_NONE ||
        number != (uint64_t)getpid()) {
        return ERR_NONE; /* for another process */
    }
    if (text_parse_u64(slice_of_text(count), &fd_count) != ERR_NONE ||
        fd_count > LIMIT_KEPT_SOCKETS) {
        return fail(reterr, ERR_INPUT, "LISTEN_FDS is '%s': at most %d sockets are taken", count,
                    LIMIT_KEPT_SOCKETS);
    }
    for (int i = 0; i < (int)fd_count && err == ERR_NONE; i++) {
        err = kept_socket_prepare(first_fd + i, reterr);
        if (err == ERR_NONE) {
            ret_kept->fds[ret_kept->count++] = first_fd + i;
        }
    }
    return err;
}

/* All addresses of the machine are the same wherever they are written: [::] takes those of IPv4,
 * too, as service managers open it. */
static bool kept_socket_is_any(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return ((const struct sockaddr_in *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
    }
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static bool kept_socket_is_at(int fd, const struct sockaddr_storage *wanted, unsigned port)
{
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof(bound);
    struct address first;
    struct address second;
    if (getsockname(fd, (struct sockaddr *)&bound, &size) != 0 || listener_port(fd) != port) {
        return false;
    }
    if (kept_socket_is_any(&bound) || kept_socket_is_any(wanted)) {
        return kept_socket_is_any(&bound) && kept_socket_is_any(wanted);
    }
    return listener_peer_address(&bound, &first) && listener_peer_address(wanted, &second) &&
           memcmp(first.bytes, second.bytes, sizeof(first.bytes)) == 0;
}

static enum err kept_socket_share(int fd, size_t count, int *ret_fds, struct error *reterr)
{
    ret_fds[0] = fd;
    for (size_t i = 1; i < count; i++) {
        ret_fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (ret_fds[i] < 0) {
            int cause = errno;
            while (i > 1) {
                (void)close(ret_fds[--i]);
            }
            return fail(reterr, ERR_IO, "cannot share a listening socket: %s", strerror(cause));
        }
    }
    return ERR_NONE;
}

enum err kept_sockets_open(struct kept_sockets *kept, struct slice address, size_t count,
                           int *ret_fds, struct error *reterr)
{
    struct sockaddr_storage wanted = {0};
    socklen_t size = 0;
    unsigned port = 0;
    enum err err =
        kept->count == 0 ? ERR_NONE : listener_resolve(address, &wanted, &size, &port, reterr);
    for (size_t i = 0; i < kept->count && err == ERR_NONE; i++) {
        if (!kept->is_taken[i] && kept_socket_is_at(kept->fds[i], &wanted, port)) {
            kept->is_taken[i] = true;
            return kept_socket_share(kept->fds[i], count, ret_fds, reterr);
        }
    }
    return err == ERR_NONE ? listener_open_sockets(address, count, ret_fds, reterr) : err;
}

enum err kept_sockets_check(const struct kept_sockets *kept, struct error *reterr)
{
    for (size_t i = 0; i < kept->count; i++) {
        if (!kept->is_taken[i]) {
            return fail(reterr, ERR_INPUT,
                        "the service manager keeps a socket at port %u, where no setting listens",
                        listener_port(kept->fds[i]));
        }
    }
    return ERR_NONE;
}
