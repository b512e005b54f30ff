/* SPDX-License-Identifier: MIT */
/* What a target answers where rules look at answers: each packet is collected whole, masked,
 * counted and judged before it goes on and is on record. An answer that must not go on ends with an
 * error, and what comes of it still is not heard. A packet of more than one piece ends the session:
 * it cannot be looked through. */
#ifndef GH_MYSQL_MYSQL_ANSWER_H
#define GH_MYSQL_MYSQL_ANSWER_H

#include "protocol/mysql/mysql_reach.h"
#include "protocol/mysql/mysql_tap.h"
#include "protocol/passage.h"

struct mysql_answer;

struct mysql_answer_settings {
    struct mysql_tap *tap; /* is told what goes on */
    uint32_t capabilities;
    const struct passage_events *events;
    void *owner;
};

struct mysql_answer *mysql_answer_new(const struct mysql_answer_settings *settings);
void mysql_answer_free(struct mysql_answer *answer);
/* Whether a policy needs answers to be looked at. */
bool mysql_answer_is_needed(const struct passage_policy *policy);
/* Between two commands. */
void mysql_answer_set_policy(struct mysql_answer *answer, const struct passage_policy *policy);

/* At once: a scope lasts until the next policy. */
void mysql_answer_set_output(struct mysql_answer *answer, const struct guard_scope *output);

/* A command that is to go on, from its first byte on: false, and 'words': its answer could not. */
bool mysql_answer_may_begin(struct mysql_answer *answer, struct slice command, bool reads,
                            struct buf *words);
/* It goes on. 'reach' stays as it is until it is answered; 'number' is its own in findings;
 * 'statement_id' which one it executes, or 0. */
void mysql_answer_begin(struct mysql_answer *answer, struct slice command,
                        const struct mysql_reach *reach, uint64_t number, uint32_t statement_id);
/* What goes on of the bytes is appended to 'said'. */
enum err mysql_answer_pass(struct mysql_answer *answer, struct slice bytes, struct buf *said,
                           struct error *reterr) MUST_USE;
/* Nothing may be asked: an answer is blocked and not over yet, or is being cancelled. */
bool mysql_answer_is_busy(const struct mysql_answer *answer);
/* It was cancelled, or cannot be. */
void mysql_answer_stopped(struct mysql_answer *answer);
const struct mask_counts *mysql_answer_counts(const struct mysql_answer *answer);

#endif
