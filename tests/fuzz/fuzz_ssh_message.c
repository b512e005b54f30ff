/* SPDX-License-Identifier: MIT */
/* Messages of SSH's connection protocol as frames. Held: what is read lies inside the bytes, and is
 * the same when it is written again. */
#include "base/must.h"
#include "fuzz.h"
#include "wire/ssh_message.h"

static bool lies_in(struct slice part, struct slice whole)
{
    return part.len == 0 || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len);
}

static void check_request(struct slice name, struct slice body)
{
    struct sshwire_request request;
    struct buf again;
    if (sshwire_request_read(name, body, &request) != ERR_NONE) {
        return;
    }
    buf_init(&again, LIMIT_KIB(128));
    must(lies_in(request.text, body) && lies_in(request.value, body));
    must(lies_in(request.language, body));
    must(slice_equals(sshwire_request_name(request.kind), name));
    must(sshwire_request_write(&again, &request) == ERR_NONE);
    must(slice_equals(buf_view(&again), body));
    buf_release(&again);
}

static void check_tunnel(struct slice body)
{
    struct sshwire_tunnel tunnel;
    struct sshwire_forward forward;
    struct buf again;
    buf_init(&again, LIMIT_KIB(128));
    if (sshwire_tunnel_read(body, &tunnel) == ERR_NONE) {
        must(lies_in(tunnel.host, body) && lies_in(tunnel.origin, body));
        must(sshwire_tunnel_write(&again, &tunnel) == ERR_NONE);
        must(slice_equals(buf_view(&again), body));
        buf_clear(&again);
    }
    if (sshwire_forward_read(body, &forward) == ERR_NONE) {
        must(lies_in(forward.address, body));
        must(sshwire_forward_write(&again, &forward) == ERR_NONE);
        must(slice_equals(buf_view(&again), body));
    }
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice left = slice_of(bytes, size);
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct sshwire_message message;
        size_t taken = 0;
        err = sshwire_read(left, &taken, &message);
        if (err == ERR_NONE) {
            struct slice frame = slice_sub(left, 0, taken);
            struct buf again;
            buf_init(&again, LIMIT_KIB(128));
            must(lies_in(message.name, frame) && lies_in(message.body, frame));
            must(lies_in(message.language, frame));
            must(sshwire_write(&again, &message) == ERR_NONE);
            must(slice_equals(buf_view(&again), frame));
            check_request(message.name, message.body);
            check_tunnel(message.body);
            left = slice_from(left, taken);
            buf_release(&again);
        }
    }
    return 0;
}
