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

#define CONNECTION_COLUMNS                                                                         \
    CONNECTION_OWN ", r.name, r.agent_id, r.default_database, g.is_embedded, g.connected_until "

#define CONNECTION_JOINED                                                                          \
    CONNECTION_COLUMNS "FROM connection c "                                                        \
                       "JOIN resource r ON r.id = c.resource_id "                                  \
                       "JOIN agent g ON g.id = coalesce(c.agent_id, r.agent_id) "

/* The words of connections, t, that a search looks into, and the places, p, that letters have
 * there. */
#define CONNECTION_WORDS(which)                                                                    \
    "WITH RECURSIVE t (organization_id, name, words) AS (SELECT c.organization_id, c.name, "       \
    "lower(c.name || ' ' || c.type || ' ' || c.subtype || ' ' || r.name) "                         \
    "FROM connection c JOIN resource r ON r.id = c.resource_id WHERE " which "), "                 \
    "place (n) AS (SELECT 1 UNION ALL SELECT q.n + 1 FROM place q "                                \
    "WHERE q.n < (SELECT max(length(t.words)) - 2 FROM t)) "
/* What a search finds them by. What they were found by before may stay: whoever looks there looks
 * at the connection, too. */
#define CONNECTION_GRAMS(which)                                                                    \
    CONNECTION_WORDS(which)                                                                        \
    "INSERT INTO connection_gram (organization_id, gram, name) "                                   \
    "SELECT DISTINCT t.organization_id, substr(t.words, CAST(p.n AS INTEGER), 3), t.name "         \
    "FROM t JOIN place p ON p.n <= length(t.words) - 2 WHERE 1 = 1 ON CONFLICT DO NOTHING"

/* A row of CONNECTION_JOINED. */
void connection_row_take_joined(struct arena *arena, const struct store_rows *rows,
                                struct connection_row *row);
/* A zeroed row at the end. */
struct connection_row *connection_list_add(struct connection_list *list);

#endif
