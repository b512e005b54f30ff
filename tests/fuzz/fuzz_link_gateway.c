/* SPDX-License-Identifier: MIT */
/* What an agent says to a gateway over a link, while three channels are asked for; and as a hello
 * and as the answer to an upgrade, which are texts. */
#include "fuzz_link.h"
#include "tunnel/hello.h"
#include "tunnel/upgrade.h"

static void fuzz_texts(struct slice bytes)
{
    struct arena arena;
    struct hello_agent agent = {0};
    struct hello_gateway gateway = {0};
    struct error error = {0};
    struct buf buf CLEANUP(buf_release);
    size_t size = 0;
    buf_init(&buf, LIMIT_TUNNEL_MESSAGE_SIZE);
    arena_init(&arena);
    if (hello_agent_read_in(&arena, bytes, &agent, &error) == ERR_NONE) {
        must(agent.kind_count <= LIMIT_TUNNEL_KINDS);
        must(hello_agent_write(&agent, &buf) == ERR_NONE);
    }
    buf_clear(&buf);
    if (hello_gateway_read_in(&arena, bytes, &gateway, &error) == ERR_NONE) {
        must(gateway.node_count <= LIMIT_TUNNEL_NODES);
        (void)!hello_gateway_write(&gateway, &buf);
    }
    if (upgrade_read(bytes, &size, &error) == ERR_NONE) {
        must(size <= bytes.len);
    }
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > 1 && (bytes[0] & 0x20) != 0) {
        fuzz_texts(slice_of(bytes + 1, size - 1));
        return 0;
    }
    return fuzz_link_run(LINK_GATEWAY, bytes, size, 3);
}
