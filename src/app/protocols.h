/* SPDX-License-Identifier: MIT */
/* The protocols that this program has, in one list: where native clients come in, what agents serve
 * and which subtypes of connections can be reached follow from it. */
#ifndef GH_APP_PROTOCOLS_H
#define GH_APP_PROTOCOLS_H

#include "app/settings.h"
#include "protocol/protocol.h"

extern const struct protocols gatehouse_protocols;

/* Where clients of a protocol come in: HOST:PORT or off. */
enum setting protocol_listen_setting(const struct protocol *protocol);
/* Whether they are refused without TLS, by a setting. */
bool protocol_needs_tls(const struct settings *settings, const struct protocol *protocol);
/* As which kind of server its clients are greeted; empty: there is but one. */
struct slice protocol_greeting(const struct settings *settings, const struct protocol *protocol);

/* How recordings of a connection's subtype are read: a replay_find_fn. */
const struct replay_ops *protocol_find_replay(struct slice subtype);

#endif
