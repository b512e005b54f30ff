/* SPDX-License-Identifier: MIT */
#include "notify/mail.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "model/session.h"
#include "notify/message.h"

#define MAIL_SIZE         LIMIT_KIB(64)
#define SUBJECT_MAX       200
#define SUBJECT_PLAIN_MAX 60
#define WORD_BYTES        42 /* in base64, with what stands around it, at most 75 characters */
#define LINE_BYTES        57 /* in base64 a line of 76 */

static void mail_add(struct buf *buf, struct slice text)
{
    must(buf_append(buf, text) == ERR_NONE);
}

static bool mail_is_plain(struct slice text)
{
    bool is_plain = text.len <= SUBJECT_PLAIN_MAX && slice_find(text, SLICE("=?")) == text.len;
    for (size_t i = 0; i < text.len && is_plain; i++) {
        is_plain = text.at[i] >= ' ' && text.at[i] <= '~';
    }
    return is_plain;
}

/* Whole characters of well-formed UTF-8. */
static struct slice mail_word(struct slice text)
{
    size_t len = 0;
    while (len < text.len) {
        uint32_t code = 0;
        size_t taken = text_character(slice_from(text, len), &code);
        if (taken == 0 || len + taken > WORD_BYTES) {
            break;
        }
        len += taken;
    }
    return slice_sub(text, 0, len);
}

/* RFC 2047 section 2, where it is not plain: encoded words, each on a line of its own. */
static void mail_add_subject(struct buf *buf, struct arena *arena, struct slice summary)
{
    struct slice text = session_text_in(arena, summary, SUBJECT_MAX);
    mail_add(buf, SLICE("Subject: "));
    if (mail_is_plain(text)) {
        mail_add(buf, text);
        text = SLICE("");
    }
    for (struct slice word = mail_word(text); word.len > 0; word = mail_word(text)) {
        struct slice encoded = base64_encode_in(arena, BASE64_STANDARD, word);
        text = slice_from(text, word.len);
        mail_add(buf, arena_format(arena, "=?UTF-8?B?%.*s?=%s", SLICE_ARG(encoded),
                                   text.len > 0 ? "\r\n " : ""));
    }
    mail_add(buf, SLICE("\r\n"));
}

static void mail_add_head(struct buf *buf, struct arena *arena, const struct outbox_item *item,
                          const struct mail_server *server)
{
    char date[TIMESTAMP_TEXT_SIZE];
    struct slice host = SLICE_NONE;
    (void)slice_cut(server->from, '@', &host);
    struct slice when = timestamp_format_http(item->happened_at, date);
    mail_add(buf, arena_format(arena, "From: Gatehouse <%.*s>\r\nTo: ", SLICE_ARG(server->from)));
    for (size_t i = 0; i < item->sink.addresses.count; i++) {
        mail_add(buf, arena_format(arena, "%s<%.*s>", i == 0 ? "" : ",\r\n ",
                                   SLICE_ARG(item->sink.addresses.items[i])));
    }
    mail_add(buf, SLICE("\r\n"));
    mail_add_subject(buf, arena, item->summary);
    mail_add(buf, arena_format(arena,
                               "Date: %.*s+0000\r\n"
                               "Message-ID: <%.*s@%.*s>\r\n"
                               "Auto-Submitted: auto-generated\r\n"
                               "MIME-Version: 1.0\r\n"
                               "Content-Type: text/plain; charset=utf-8\r\n"
                               "Content-Transfer-Encoding: base64\r\n\r\n",
                               SLICE_ARG(slice_sub(when, 0, when.len - strlen("GMT"))),
                               SLICE_ARG(item->event_id), SLICE_ARG(host)));
}

/* Texts of others on one line each, in which whatever is no text is seen to be none. */
static void mail_show(struct buf *text, struct slice line)
{
    struct writer writer = writer_to(text);
    text_show(&writer, line);
}

static struct slice mail_body_in(struct arena *arena, const struct outbox_item *item,
                                 struct slice public_url)
{
    char time[TIMESTAMP_TEXT_SIZE];
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, MAIL_SIZE);
    mail_show(&buf, item->summary);
    struct slice when = timestamp_format(item->happened_at, time);
    mail_add(&buf,
             arena_format(arena, ".\r\n\r\nTime: %.*s %.*s UTC\r\n",
                          SLICE_ARG(slice_sub(when, 0, strlen("2026-01-31"))),
                          SLICE_ARG(slice_sub(when, strlen("2026-01-31T"), strlen("09:00:00")))));
    if (item->statement.len > 0) {
        mail_add(&buf, SLICE("\r\nIt begins with:\r\n\r\n    "));
        mail_show(&buf, item->statement);
        mail_add(&buf, SLICE("\r\n"));
    }
    if (item->path.len > 0) {
        struct slice link = message_link_in(arena, item, public_url);
        mail_add(&buf, arena_format(arena,
                                    "\r\nOpen it in Gatehouse, where you sign in first:\r\n"
                                    "%.*s\r\n",
                                    SLICE_ARG(link)));
    }
    mail_add(&buf, SLICE("\r\n-- \r\nYou get this because the sink '"));
    mail_show(&buf, item->sink.name);
    mail_add(&buf, arena_format(arena, "' of Gatehouse is told of '%.*s'.\r\n%.*s\r\n",
                                SLICE_ARG(item->event_type), SLICE_ARG(public_url)));
    return arena_copy(arena, buf_view(&buf));
}

struct slice mail_message_in(struct arena *arena, const struct outbox_item *item,
                             const struct mail_server *server, struct slice public_url)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, 2 * MAIL_SIZE);
    mail_add_head(&buf, arena, item, server);
    struct slice body = mail_body_in(arena, item, public_url);
    while (body.len > 0) {
        struct slice line = slice_sub(body, 0, body.len < LINE_BYTES ? body.len : LINE_BYTES);
        mail_add(&buf, base64_encode_in(arena, BASE64_STANDARD, line));
        mail_add(&buf, SLICE("\r\n"));
        body = slice_from(body, line.len);
    }
    return arena_copy(arena, buf_view(&buf));
}
