/* SPDX-License-Identifier: MIT */
/* What the files of connection_store.h share: the columns of a row, and where they go. */
#ifndef GH_STORE_CONNECTION_INTERNAL_H
#define GH_STORE_CONNECTION_INTERNAL_H

#include "store/connection_store.h"

#define CONNECTION_OWN                                                                             \
    "SELECT c.id, c.name, c.resource_id, c.type, c.subtype, c.agent_id, c.managed_by, "            \
    "c.document, c.issue_template_id, c.secret_view, c.default_database, c.secrets_updated_at, "   \
    "c.version, c.has_reviewers, c.needs_metadata"
#define CONNECTION_OWN_COUNT 15

#define CONNECTION_JOINED                                                                          \
    CONNECTION_OWN ", r.name, r.agent_id, r.default_database, g.is_embedded, g.connected_until "   \
                   "FROM connection c "                                                            \
                   "JOIN resource r ON r.id = c.resource_id "                                      \
                   "JOIN agent g ON g.id = coalesce(c.agent_id, r.agent_id) "

/* A row of CONNECTION_JOINED. */
void connection_row_take_joined(struct arena *arena, const struct store_rows *rows,
                                struct connection_row *row);
/* A zeroed row at the end. */
struct connection_row *connection_list_add(struct connection_list *list);

#endif
