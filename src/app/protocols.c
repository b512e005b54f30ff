/* SPDX-License-Identifier: MIT */
#include "app/protocols.h"

#include "base/memory.h"
#include "base/must.h"
#include "protocol/exec/exec.h"
#include "protocol/mysql/mysql.h"
#include "protocol/postgres/postgres.h"
#include "protocol/ssh/ssh.h"
#include "protocol/tcp/tcp.h"

/* The first is the oldest. X(protocol, the setting that says where its clients come in, the one
 * that says whether they may do without TLS, the one that says which kind of server they are
 * greeted by; SETTING_COUNT: that is the protocol's own matter) */
#define PROTOCOL_LIST(X)                                                                           \
    X(postgres_protocol, SETTING_POSTGRES_LISTEN, SETTING_POSTGRES_TLS, SETTING_COUNT)             \
    X(mysql_protocol, SETTING_MYSQL_LISTEN, SETTING_MYSQL_TLS, SETTING_MYSQL_GREETING)             \
    X(sshd_protocol, SETTING_SSH_LISTEN, SETTING_COUNT, SETTING_COUNT)                             \
    X(tcp_protocol, SETTING_TCP_LISTEN, SETTING_COUNT, SETTING_COUNT)                              \
    X(exec_protocol, SETTING_COUNT, SETTING_COUNT, SETTING_COUNT)                                  \
    X(terminal_protocol, SETTING_COUNT, SETTING_COUNT, SETTING_COUNT)

#define PROTOCOL_ITEM(protocol, listen, tls, greeting) &(protocol),
static const struct protocol *const protocol_items[] = {PROTOCOL_LIST(PROTOCOL_ITEM)};

#define PROTOCOL_LISTEN(protocol, listen, tls, greeting) listen,
static const enum setting protocol_listens[] = {PROTOCOL_LIST(PROTOCOL_LISTEN)};

#define PROTOCOL_TLS(protocol, listen, tls, greeting) tls,
static const enum setting protocol_tlses[] = {PROTOCOL_LIST(PROTOCOL_TLS)};

#define PROTOCOL_GREETING(protocol, listen, tls, greeting) greeting,
static const enum setting protocol_greetings[] = {PROTOCOL_LIST(PROTOCOL_GREETING)};

const struct protocols gatehouse_protocols = {.items = protocol_items,
                                              .count = COUNT_OF(protocol_items)};

static size_t protocol_index(const struct protocol *protocol)
{
    size_t i = 0;
    while (i < COUNT_OF(protocol_items) && protocol_items[i] != protocol) {
        i++;
    }
    must(i < COUNT_OF(protocol_items));
    return i;
}

enum setting protocol_listen_setting(const struct protocol *protocol)
{
    return protocol_listens[protocol_index(protocol)];
}

bool protocol_needs_tls(const struct settings *settings, const struct protocol *protocol)
{
    enum setting setting = protocol_tlses[protocol_index(protocol)];
    return setting != SETTING_COUNT && settings_is(settings, setting, "required");
}

struct slice protocol_greeting(const struct settings *settings, const struct protocol *protocol)
{
    enum setting setting = protocol_greetings[protocol_index(protocol)];
    return setting == SETTING_COUNT ? SLICE("") : slice_of_text(settings_text(settings, setting));
}

/* Recordings that name no subtype are older than all protocols but the first. */
const struct replay_ops *protocol_find_replay(struct slice subtype)
{
    struct slice named = subtype.len == 0 ? protocol_items[0]->subtype : subtype;
    const struct protocol *protocol = NULL;
    for (size_t i = 0; i < COUNT_OF(protocol_items) && protocol == NULL; i++) {
        bool is_it = slice_equals(protocol_items[i]->subtype, named);
        protocol = is_it ? protocol_items[i] : NULL;
    }
    return protocol == NULL ? NULL : protocol->replay;
}
