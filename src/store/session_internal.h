/* SPDX-License-Identifier: MIT */
/* What the files of session_store.h share: the columns of a row, and where they go. */
#ifndef GH_STORE_SESSION_INTERNAL_H
#define GH_STORE_SESSION_INTERNAL_H

#include "store/session_store.h"

#define SESSION_COLUMNS                                                                            \
    "SELECT id, organization_id, credential_id, connection_id, connection_name, "                  \
    "connection_type, connection_subtype, resource_name, user_id, user_email, user_name, "         \
    "identity_type, verb, status, client_ip, application_name, started_at, ended_at, end_reason, " \
    "bytes_in, bytes_out, recording_head, recording_size, recording_error, metadata, "             \
    "recording_days, recording_removed_at, metrics, guardrails_info, guardrails_count, "           \
    "ssh_key, labels, batch_id, correlation_id "                                                   \
    "FROM session "

/* A row of SESSION_COLUMNS. */
void session_store_take(struct arena *arena, const struct store_rows *rows,
                        struct session *session);

#endif
