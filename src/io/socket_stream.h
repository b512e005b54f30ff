/* SPDX-License-Identifier: MIT */
/* The lowest stream: a connected TCP or Unix socket, through uv_poll. */
#ifndef GH_IO_SOCKET_STREAM_H
#define GH_IO_SOCKET_STREAM_H

#include "io/stream.h"

/* Takes over a connected, non-blocking socket. */
struct stream *socket_stream_new(struct loop *loop, int take_fd);

#endif
