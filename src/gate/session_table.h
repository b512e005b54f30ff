/* SPDX-License-Identifier: MIT */
/* Which sessions this process has, and on which worker each is: the one thing that all of the
 * gate's threads share. A session is found by its id, to be ended, and by the cancel key that its
 * client was given. */
#ifndef GH_GATE_SESSION_TABLE_H
#define GH_GATE_SESSION_TABLE_H

#include "base/arena.h"
#include "io/worker.h"
#include "wire/pgwire_start.h"

#define SESSION_KEY_SIZE 32 /* of the secret that cancels, where the protocol allows it */

struct session_table;
struct gate_worker;
struct pg_session;

struct session_entry {
    struct slice id;
    struct slice credential_id;
    int64_t expires_at; /* 0: never */
    struct gate_worker *door;
    struct pg_session *session; /* to be used on the thread of its door alone */
    uint32_t process;           /* what it is cancelled by, as its client knows it */
    char key[SESSION_KEY_SIZE];
    size_t key_size;
};

struct session_table *session_table_new(void);
void session_table_free(struct session_table *table);

/* Copies the entry and makes the key: ret_entry->process and key, of 'key_size' bytes. */
void session_table_add(struct session_table *table, const struct session_entry *entry,
                       struct session_entry *ret_entry);
/* Until when it may last, once that is known. */
void session_table_expire(struct session_table *table, struct slice id, int64_t expires_at);
void session_table_remove(struct session_table *table, struct slice id);

/* The door of the session. ERR_NOT_FOUND. */
enum err session_table_find(struct session_table *table, struct slice id,
                            struct gate_worker **ret_door) MUST_USE;
/* On the thread of the session's door: NULL when it has left the table, or is another door's. */
struct pg_session *session_table_look_up(struct session_table *table, struct slice id,
                                         const struct gate_worker *door);
/* Whose key this is: its id and door. ERR_NOT_FOUND. */
enum err session_table_find_key(struct session_table *table, const struct pgwire_key *key,
                                struct arena *arena, struct slice *ret_id,
                                struct gate_worker **ret_door) MUST_USE;

/* All of them, as they are now. */
struct session_entries {
    struct session_entry *items;
    size_t count;
};

struct session_entries session_table_all_in(struct arena *arena, struct session_table *table);
size_t session_table_count(struct session_table *table);

#endif
