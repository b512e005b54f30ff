/* SPDX-License-Identifier: MIT */
#include "app/protocols.h"

#include "base/memory.h"
#include "base/must.h"
#include "protocol/postgres/postgres.h"
#include "protocol/tcp/tcp.h"

/* The first is the oldest. X(protocol, the setting that says where its clients come in) */
#define PROTOCOL_LIST(X)                                                                           \
    X(postgres_protocol, SETTING_POSTGRES_LISTEN)                                                  \
    X(tcp_protocol, SETTING_TCP_LISTEN)

#define PROTOCOL_ITEM(protocol, setting) &(protocol),
static const struct protocol *const protocol_items[] = {PROTOCOL_LIST(PROTOCOL_ITEM)};

#define PROTOCOL_SETTING(protocol, setting) setting,
static const enum setting protocol_settings[] = {PROTOCOL_LIST(PROTOCOL_SETTING)};

const struct protocols gatehouse_protocols = {.items = protocol_items,
                                              .count = COUNT_OF(protocol_items)};

enum setting protocol_listen_setting(const struct protocol *protocol)
{
    size_t i = 0;
    while (i < COUNT_OF(protocol_items) && protocol_items[i] != protocol) {
        i++;
    }
    must(i < COUNT_OF(protocol_items));
    return protocol_settings[i];
}

/* Recordings that name no subtype are older than all protocols but the first. */
const struct replay_ops *protocol_find_replay(struct slice subtype)
{
    struct slice named = subtype.len == 0 ? protocol_items[0]->subtype : subtype;
    const struct protocol *protocol = protocols_find(&gatehouse_protocols, named);
    return protocol == NULL ? NULL : protocol->replay;
}
