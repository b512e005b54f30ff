/* SPDX-License-Identifier: MIT */
/* Recordings of PostgreSQL made message by message, and what their exports look like. */
#ifndef GH_TEST_PG_REPLAY_HELP_H
#define GH_TEST_PG_REPLAY_HELP_H

#include "recording_help.h"
#include "session/recording_export.h"

#define EXPORT_OUT_SIZE LIMIT_MIB(16)

/* As the only protocol there is. */
const struct replay_ops *find_pg_replay(struct slice subtype);

extern struct help export_help;
extern struct recorder *export_recorder;
extern struct buf export_out;          /* what came out last */
extern const char *const two_names[2]; /* of columns */
extern const uint32_t two_types[2];

int export_set_up(void **state);
int export_tear_down(void **state);

/* Messages of a session. */
void said_by_client(char type, struct slice body);
void said_by_target(char type, struct slice body);
void said_ready(void);
void said_columns(const char *const *names, const uint32_t *types, size_t count, bool is_binary);
void said_row(const struct slice *values, size_t count);
void said_parse(const char *name, const char *text, uint32_t type);
void said_bind(const char *portal, const char *name, uint16_t format, const struct slice *values,
               size_t count, uint16_t result_format);
void said_error(const char *code, const char *text);

/* The recording is complete. */
void export_finish(void);
enum err export_again(enum recording_format format);
/* What came out, with T in place of each time. */
const char *export_text(void);
void export_check(enum recording_format format, const char *expected);

#endif
