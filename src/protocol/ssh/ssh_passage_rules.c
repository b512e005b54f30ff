/* SPDX-License-Identifier: MIT */
/* What rules say about what passes in SSH. */
#include "base/writer.h"
#include "protocol/ssh/ssh_passage.h"
#include "sql/sql.h"

#define SEEN_MAX 64 /* findings of one judgement that are told */

bool sshd_has_rules(const struct sshd_passage *self)
{
    return self->has_policy && !self->policy.is_empty;
}

bool sshd_judges_input(const struct sshd_passage *self)
{
    return sshd_has_rules(self) && self->policy.looks_at_values;
}

bool sshd_stops_input(const struct sshd_passage *self)
{
    return sshd_judges_input(self) && self->policy.stops_text;
}

bool sshd_judges_output(const struct sshd_passage *self)
{
    return sshd_has_rules(self) && self->policy.output != NULL &&
           guard_scope_looks_at(self->policy.output, GUARD_OUTPUT);
}

bool sshd_masks(const struct sshd_passage *self)
{
    return self->has_policy && self->policy.masking != NULL;
}

bool sshd_looks_at_output(const struct sshd_passage *self)
{
    return sshd_judges_output(self) || sshd_masks(self);
}

bool sshd_is_read_only(const struct sshd_passage *self)
{
    return sshd_has_rules(self) && self->policy.is_read_only;
}

static void rules_words(struct buf *words, const struct guard_finding *finding)
{
    struct writer writer = writer_to(words);
    buf_truncate(words, 0);
    writer_bytes(&writer, finding->action >= GUARD_REHEARSE ? SLICE("blocked by guard rail '")
                                                            : SLICE("noticed by guard rail '"));
    writer_bytes(&writer, finding->guardrail_name);
    writer_bytes(&writer, SLICE("'"));
    if (finding->rule_name.len > 0) {
        writer_bytes(&writer, SLICE(", rule '"));
        writer_bytes(&writer, finding->rule_name);
        writer_bytes(&writer, SLICE("'"));
    }
    struct slice more = finding->message.len > 0 ? finding->message : finding->why;
    if (more.len > 0) {
        writer_bytes(&writer, SLICE(": "));
        writer_bytes(&writer, slice_sub(more, 0, LIMIT_SSH_WORDS_SIZE / 2));
    }
}

struct rules_seen {
    size_t rules[SEEN_MAX];
    size_t count;
    enum guard_action action;     /* that 'words' tell of */
    struct guard_verdict *review; /* NULL, or the first that asks for one */
    bool has_review;
};

/* Each rule is told of once, whatever it was found in. */
static void rules_take(struct sshd_passage *self, const struct guard_verdict *verdict,
                       struct rules_seen *seen, struct buf *words)
{
    for (size_t i = 0; i < verdict->count; i++) {
        const struct guard_finding *finding = &verdict->findings[i];
        bool is_seen = seen->count == SEEN_MAX;
        for (size_t j = 0; j < seen->count && !is_seen; j++) {
            is_seen = seen->rules[j] == finding->rule;
        }
        if (!is_seen) {
            const struct guard_event event = {
                .kind = GUARD_EVENT_FINDING, .finding = finding, .words = SLICE("")};
            seen->rules[seen->count++] = finding->rule;
            self->events->on_finding(self->owner, &event);
        }
    }
    if (verdict->action == GUARD_REVIEW && seen->review != NULL && !seen->has_review) {
        *seen->review = *verdict;
        seen->has_review = true;
    }
    const struct guard_finding *reason = guard_verdict_reason(verdict);
    if (reason != NULL && reason->action >= GUARD_WARN && reason->action > seen->action) {
        seen->action = reason->action;
        rules_words(words, reason);
    }
}

enum guard_action sshd_judge(struct sshd_passage *self, const struct slice *texts, size_t count,
                             struct buf *words, struct guard_verdict *ret_review)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES}; /* nothing is taken for SQL */
    const struct sql_script none = {.count = 0};
    struct rules_seen seen = {.count = 0, .review = ret_review};
    if (!sshd_judges_input(self)) {
        return GUARD_PASS;
    }
    for (size_t i = 0; i < count; i++) {
        struct guard_verdict verdict;
        self->policy.judge_script(self->policy.context, &settings, texts[i],
                                  self->policy.asks_structure ? NULL : &none, &verdict);
        if (self->policy.is_reviewed || self->is_approved) {
            guard_verdict_drop_reviews(&verdict);
        }
        rules_take(self, &verdict, &seen, words);
    }
    return seen.action;
}

bool sshd_judge_texts(struct sshd_passage *self, const struct slice *texts, size_t count,
                      struct buf *words)
{
    return sshd_judge(self, texts, count, words, NULL) >= GUARD_REHEARSE;
}

bool sshd_judge_output(struct sshd_passage *self, struct slice text, struct buf *words)
{
    struct rules_seen seen = {.count = 0};
    struct guard_verdict verdict;
    if (text.len == 0 || !sshd_judges_output(self)) {
        return false;
    }
    guard_judge_output(self->policy.output, text, &verdict);
    rules_take(self, &verdict, &seen, words);
    return seen.action >= GUARD_REHEARSE;
}

void sshd_refuse(struct sshd_passage *self, struct buf *words, const char *why)
{
    struct writer writer = writer_to(words);
    buf_truncate(words, 0);
    writer_bytes(&writer, slice_of_text(why));
    const struct guard_event event = {.kind = GUARD_EVENT_REFUSED, .words = buf_view(words)};
    self->events->on_finding(self->owner, &event);
}
