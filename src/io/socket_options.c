/* SPDX-License-Identifier: MIT */
#include "io/socket_options.h"

#include "base/limits.h"
#include "base/memory.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

void socket_set_options(int fd)
{
    static const struct {
        int level;
        int name;
        int value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, LIMIT_KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, LIMIT_KEEPALIVE_STEP_S},
        {IPPROTO_TCP, TCP_KEEPCNT, LIMIT_KEEPALIVE_COUNT},
    };
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                         sizeof(options[i].value));
    }
}
