/* SPDX-License-Identifier: MIT */
/* What all TCP sockets of the gateway have, of clients and to targets. */
#ifndef GH_IO_SOCKET_OPTIONS_H
#define GH_IO_SOCKET_OPTIONS_H

/* No delay of what is small, and a peer that has vanished is noticed. Sockets that are not TCP's
 * stay as they are. */
void socket_set_options(int fd);

#endif
