/* SPDX-License-Identifier: MIT */
/* For the tests of where secrets come from: one server on this machine plays AWS Secrets Manager,
 * Vault and the metadata services, and says what it was asked. */
#ifndef GH_TESTS_SOURCE_HELP_H
#define GH_TESTS_SOURCE_HELP_H

#include "http_stub.h"
#include "target/secret_source.h"

#define SEEN_MAX 64
#define PAIR(k, v)                                                                                 \
    {                                                                                              \
        .key = SLICE_INIT(k), .value = SLICE_INIT(v)                                               \
    }
#define PAIRS(array) (&(struct shape_pairs){.pairs = (array), .count = COUNT_OF(array)})

/* What is answered to a request whose text has 'wanted' in it; the first that fits. */
struct line {
    const char *wanted;
    int status; /* 0: never answered */
    const char *body;
    unsigned busy_count; /* answers of 429 before it */
};

struct source_test {
    struct arena arena;
    struct arena heard; /* the stub's threads' */
    struct http_stub *stub;
    const struct line *lines;
    size_t line_count;
    unsigned asked_count[SEEN_MAX]; /* of each line */
    struct slice seen[SEEN_MAX];    /* whole requests */
    size_t seen_count;
    struct shape_pairs plain;
    struct slice all;
    struct error error;
    char folder[64];
};

extern struct source_test test;

int set_up(void **state);
int tear_down(void **state);

/* A variable of the environment, until the test ends. */
void set(const char *name, const char *value);
/* The server as AWS, and as Vault. */
void use_aws(void);
void use_vault(void);

#define ANSWERS(array) (test.lines = (array), test.line_count = COUNT_OF(array))

enum err resolve(const struct shape_pairs *secret);
void check_plain(const struct shape_pairs *secret, const char *const *values);
void check_failure(const struct shape_pairs *secret, enum err wanted, const char *message);
/* Of one secret that is a reference. */
void check_cause(const char *reference, const char *cause);
bool was_seen(const char *text);

#endif
