/* SPDX-License-Identifier: MIT */
/* What is typed is on record only if it was shown: a server does not say when its terminal shows
 * nothing, so that a line is held until what comes back begins with it, or goes to the next line
 * without it. What is not told apart for certain is taken for hidden. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_passage.h"

#define ESCAPE '\x1b'
#define ERASE  '\x7f'
#define KILL   '\x15'
#define BACK   '\x08'
#define CANCEL '\x03'

struct sshd_typed *sshd_typed_new(void)
{
    struct sshd_typed *typed = memory_new(sizeof(*typed));
    buf_init(&typed->raw, LIMIT_SSH_TYPED_SIZE);
    buf_init(&typed->line, LIMIT_SSH_TYPED_SIZE);
    return typed;
}

void sshd_typed_free(struct sshd_typed *typed)
{
    if (typed != NULL) {
        buf_wipe(&typed->raw); /* passwords are in it */
        buf_wipe(&typed->line);
        buf_release(&typed->raw);
        buf_release(&typed->line);
        memory_free(typed);
    }
}

/* Whether the byte is one of a sequence of escape; 'at' says where in it. */
static bool typed_is_escape(char *at, char byte)
{
    char before = *at;
    if (byte == ESCAPE) {
        *at = ESCAPE;
        return true;
    }
    if (before == ESCAPE) {
        *at = byte == '[' || byte == ']' || byte == 'O' ? byte : '\0';
    } else if (before == '[' || before == 'O') {
        *at = byte >= '@' && byte <= '~' ? '\0' : before;
    } else if (before == ']') { /* a title, up to a bell */
        *at = byte == '\a' ? '\0' : before;
    }
    return before != '\0';
}

static bool typed_is_printable(char byte)
{
    return (unsigned char)byte >= ' ' && byte != ERASE;
}

static bool typed_is_end(char byte)
{
    return byte == '\r' || byte == '\n' || byte == CANCEL;
}

void sshd_typed_add(struct sshd_typed *typed, char byte, bool *ret_is_line)
{
    *ret_is_line = byte == '\r' || byte == '\n';
    if (buf_append(&typed->raw, slice_of(&byte, 1)) != ERR_NONE) {
        buf_wipe(&typed->raw);
        typed->is_lost = true;
        typed->shown = 0;
    }
    if (typed_is_escape(&typed->escape[PUMP_CLIENT], byte)) {
        return;
    }
    if (byte == KILL || byte == CANCEL) {
        buf_truncate(&typed->line, 0);
    } else if ((byte == ERASE || byte == BACK) && typed->line.len > 0) {
        buf_truncate(&typed->line, typed->line.len - 1);
    } else if (typed_is_printable(byte) &&
               buf_append(&typed->line, slice_of(&byte, 1)) != ERR_NONE) {
        typed->is_lost = true;
    }
}

/* The n-th byte of the first line that a terminal would show; false: there is none, and whether the
 * line ends is told. */
static bool typed_wanted(const struct sshd_typed *typed, size_t index, char *ret_byte,
                         size_t *ret_len)
{
    struct slice raw = buf_view(&typed->raw);
    char escape = '\0';
    *ret_len = 0;
    for (size_t i = 0; i < raw.len; i++) {
        if (typed_is_end(raw.at[i])) {
            *ret_len = i + 1;
            return false;
        }
        if (!typed_is_escape(&escape, raw.at[i]) && typed_is_printable(raw.at[i]) && index-- == 0) {
            *ret_byte = raw.at[i];
            return true;
        }
    }
    return false;
}

/* The first line is over. */
static void typed_decide(struct sshd_passage *self, struct sshd_followed *channel)
{
    struct sshd_typed *typed = channel->typed;
    char byte = '\0';
    size_t len = 0;
    bool is_hidden = typed_wanted(typed, typed->shown, &byte, &len) || typed->is_lost;
    struct slice raw = buf_view(&typed->raw);
    len = slice_find_byte(raw, '\r');
    len = slice_find_byte(raw, '\n') < len ? slice_find_byte(raw, '\n') : len;
    len = slice_find_byte(raw, CANCEL) < len ? slice_find_byte(raw, CANCEL) : len;
    if (len == raw.len) {
        return; /* it still goes on */
    }
    const struct sshd_entry entry = {
        .type = is_hidden ? SSHD_ENTRY_HIDDEN : SSHD_ENTRY_TYPED,
        .item = channel->item,
        .text = is_hidden ? SLICE("") : slice_sub(raw, 0, len + 1),
    };
    sshd_record(self, RECORD_FROM_CLIENT, &entry);
    buf_consume(&typed->raw, len + 1);
    typed->shown = 0;
    typed->is_lost = false;
}

void sshd_typed_shown(struct sshd_passage *self, struct sshd_followed *channel, struct slice shown)
{
    struct sshd_typed *typed = channel->typed;
    bool is_other = false; /* it is no echo */
    for (size_t i = 0; i < shown.len && (typed->raw.len > 0 || typed->is_lost); i++) {
        char wanted = '\0';
        size_t len = 0;
        char byte = shown.at[i];
        if (byte == '\n') {
            typed_decide(self, channel);
            is_other = false;
        } else if (typed_is_escape(&typed->escape[PUMP_TARGET], byte) || is_other) {
            continue;
        } else if (byte == BACK) {
            typed->shown -= typed->shown > 0 ? 1 : 0;
        } else if (typed_is_printable(byte)) {
            bool is_echo = typed_wanted(typed, typed->shown, &wanted, &len) && wanted == byte;
            typed->shown += is_echo ? 1 : 0;
            is_other = !is_echo;
        }
    }
}
