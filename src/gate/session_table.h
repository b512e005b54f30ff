/* SPDX-License-Identifier: MIT */
/* Which sessions this process has, and on which worker each is: the one thing that all of the
 * gate's threads share. A session is found by its id, to be ended, and by the cancel key that its
 * client was given. */
#ifndef GH_GATE_SESSION_TABLE_H
#define GH_GATE_SESSION_TABLE_H

#include "base/arena.h"
#include "io/worker.h"
#include "protocol/target.h"

#define SESSION_KEY_SIZE 32 /* of the secret that cancels, where the protocol allows it */

struct session_table;
struct gate_worker;
struct gate_session;

struct session_entry {
    struct slice id;
    struct slice credential_id;
    bool is_unwritten;    /* the store does not have the credential yet */
    struct slice subtype; /* of its protocol; a constant; empty: of any connection */
    int64_t expires_at;   /* 0: never */
    struct gate_worker *worker;
    struct gate_session *session; /* to be used on the thread of its worker alone */
};

struct session_table *session_table_new(void);
void session_table_free(struct session_table *table);

/* Copies the entry. */
void session_table_add(struct session_table *table, const struct session_entry *entry);
/* Makes what the session's client may cancel it by: a secret of 'size' bytes, at most
 * SESSION_KEY_SIZE, to this number, which is the target's own; 0: one that it has not. */
struct cancel_key session_table_make_key_in(struct arena *arena, struct session_table *table,
                                            struct slice id, uint32_t number, size_t size);
/* And what others may cancel it by: 'key', which is copied; false: another session has it. Of these
 * two a session has at most two together. */
bool session_table_take_key(struct session_table *table, struct slice id,
                            const struct cancel_key *key);
/* Its credential is in the store from now on. */
void session_table_note_written(struct session_table *table, struct slice id);
/* Until when it may last, once that is known. */
void session_table_expire(struct session_table *table, struct slice id, int64_t expires_at);
void session_table_remove(struct session_table *table, struct slice id);

/* The worker of the session. ERR_NOT_FOUND. */
enum err session_table_find(struct session_table *table, struct slice id,
                            struct gate_worker **ret_worker) MUST_USE;
/* On the thread of the session's worker: NULL when it has left the table, or is another worker's.
 */
struct gate_session *session_table_look_up(struct session_table *table, struct slice id,
                                           const struct gate_worker *worker);
/* Whose key this is: its id and worker. ERR_NOT_FOUND. */
enum err session_table_find_key(struct session_table *table, const struct cancel_key *key,
                                struct arena *arena, struct slice *ret_id,
                                struct gate_worker **ret_worker) MUST_USE;

/* All whose credential is in the store, as they are now. */
struct session_entries {
    struct session_entry *items;
    size_t count;
};

struct session_entries session_table_all_in(struct arena *arena, struct session_table *table);
/* Those that may last no longer: nothing else is copied. */
struct session_entries session_table_expired_in(struct arena *arena, struct session_table *table,
                                                int64_t now);
size_t session_table_count(struct session_table *table);

#endif
