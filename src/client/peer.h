/* SPDX-License-Identifier: MIT */
/* Who is at the other end of a connection within this machine. */
#ifndef GH_CLIENT_PEER_H
#define GH_CLIENT_PEER_H

#include <stdbool.h>

/* A program of this process's user, which still has its end open. For connections over IPv4 that
 * came to a port of 127.0.0.1. False where that cannot be known. */
bool client_peer_is_own(int fd);

#endif
