/* SPDX-License-Identifier: MIT */
/* A channel whose peer takes packets of ten bytes or less makes libssh 0.10 send empty ones until
 * its buffer of 256 MB is full: it takes ten bytes off for a head, and the rest is nothing. No
 * function tells that size, so it is read where the library keeps it. What stands around it is held
 * against what functions do tell: with another layout no channel is taken, and all tests fail. */
#include "base/memory.h"
#include "protocol/ssh/ssh_link_internal.h"

/* The head of libssh's ssh_channel_struct, from 0.8 on. */
struct library_channel {
    ssh_session session;
    uint32_t local_channel;
    uint32_t local_window;
    int has_local_eof;
    uint32_t local_packet_size;
    uint32_t remote_channel;
    uint32_t remote_window;
    int has_remote_eof;
    uint32_t remote_packet_size;
};

bool sshd_channel_is_sound(ssh_channel handle)
{
    struct library_channel head;
    memcpy(&head, handle, sizeof(head));
    bool is_known = head.session == ssh_channel_get_session(handle) &&
                    head.remote_window == ssh_channel_window_size(handle) &&
                    head.has_local_eof == 0 && (head.has_remote_eof | 1) == 1 &&
                    head.local_packet_size >= LIMIT_KIB(16) &&
                    head.local_packet_size <= LIMIT_MIB(1);
    return is_known && head.remote_packet_size >= LIMIT_SSH_PACKET_SIZE_MIN;
}
