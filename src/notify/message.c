/* SPDX-License-Identifier: MIT */
#include "notify/message.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"
#include "codec/json_writer.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

struct slice message_link_in(struct arena *arena, const struct outbox_item *item,
                             struct slice public_url)
{
    return arena_format(arena, "%.*s%.*s", SLICE_ARG(public_url), SLICE_ARG(item->path));
}

static void message_write_webhook(struct json_writer *json, const struct outbox_item *item,
                                  struct slice link)
{
    json_begin_object(json);
    json_member_text(json, "type", item->event_type);
    json_member_timestamp(json, "timestamp", item->happened_at);
    json_member_object(json, "data");
    json_raw_members(json, item->data);
    json_member_text(json, "summary", item->summary);
    if (item->path.len > 0) {
        json_member_text(json, "url", link);
    }
    if (item->statement.len > 0) {
        json_member_text(json, "statement", item->statement);
    }
    json_end_object(json);
    json_end_object(json);
}

/* Slack's three characters (its "Formatting text for app surfaces", Escaping text). */
static struct slice message_slack_text_in(struct arena *arena, struct slice text)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_KIB(64));
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.at[i];
        struct slice written = byte == '&'   ? SLICE("&amp;")
                               : byte == '<' ? SLICE("&lt;")
                               : byte == '>' ? SLICE("&gt;")
                               : byte == '`' ? SLICE("'")
                                             : slice_of(&text.at[i], 1);
        must(buf_append(&buf, written) == ERR_NONE);
    }
    return arena_copy(arena, buf_view(&buf));
}

static void message_write_slack(struct arena *arena, struct json_writer *json,
                                const struct outbox_item *item, struct slice link)
{
    struct slice text = message_slack_text_in(arena, item->summary);
    if (item->statement.len > 0) {
        struct slice statement = message_slack_text_in(arena, item->statement);
        text = arena_format(arena, "%.*s\n```%.*s```", SLICE_ARG(text), SLICE_ARG(statement));
    }
    if (item->path.len > 0) {
        text =
            arena_format(arena, "%.*s\n<%.*s|Open in Gatehouse>", SLICE_ARG(text), SLICE_ARG(link));
    }
    json_begin_object(json);
    json_member_text(json, "text", text);
    json_end_object(json);
}

/* Runs of text, unlike blocks of it, are not read as Markdown. */
static void message_write_teams_text(struct json_writer *json, struct slice text, const char *font)
{
    json_begin_object(json);
    json_member_text(json, "type", SLICE("RichTextBlock"));
    json_member_array(json, "inlines");
    json_begin_object(json);
    json_member_text(json, "type", SLICE("TextRun"));
    json_member_text(json, "text", text);
    json_member_text(json, "fontType", slice_of_text(font));
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
}

static void message_write_teams_card(struct json_writer *json, const struct outbox_item *item,
                                     struct slice link)
{
    json_member_object(json, "content");
    json_member_text(json, "$schema", SLICE("http://adaptivecards.io/schemas/adaptive-card.json"));
    json_member_text(json, "type", SLICE("AdaptiveCard"));
    json_member_text(json, "version", SLICE("1.4"));
    json_member_array(json, "body");
    message_write_teams_text(json, item->summary, "Default");
    if (item->statement.len > 0) {
        message_write_teams_text(json, item->statement, "Monospace");
    }
    json_end_array(json);
    json_member_array(json, "actions");
    if (item->path.len > 0) {
        json_begin_object(json);
        json_member_text(json, "type", SLICE("Action.OpenUrl"));
        json_member_text(json, "title", SLICE("Open in Gatehouse"));
        json_member_text(json, "url", link);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void message_write_teams(struct json_writer *json, const struct outbox_item *item,
                                struct slice link)
{
    json_begin_object(json);
    json_member_text(json, "type", SLICE("message"));
    json_member_array(json, "attachments");
    json_begin_object(json);
    json_member_text(json, "contentType", SLICE("application/vnd.microsoft.card.adaptive"));
    message_write_teams_card(json, item, link);
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
}

struct slice message_body_in(struct arena *arena, const struct outbox_item *item,
                             struct slice public_url)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_KIB(256));
    struct json_writer json = json_writer_to(&buf);
    struct slice link = message_link_in(arena, item, public_url);
    if (slice_equals(item->sink.type, SLICE(SINK_SLACK))) {
        message_write_slack(arena, &json, item, link);
    } else if (slice_equals(item->sink.type, SLICE(SINK_TEAMS))) {
        message_write_teams(&json, item, link);
    } else {
        message_write_webhook(&json, item, link);
    }
    must(json_writer_done(&json) == ERR_NONE);
    return arena_copy(arena, buf_view(&buf));
}

struct slice message_signature_in(struct arena *arena, struct slice key, struct slice id,
                                  int64_t seconds, struct slice body)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned hash_size = 0;
    struct slice signed_text =
        arena_format(arena, "%.*s.%" PRId64 ".%.*s", SLICE_ARG(id), seconds, SLICE_ARG(body));
    must(HMAC(EVP_sha256(), key.at, (int)key.len, (const unsigned char *)signed_text.at,
              signed_text.len, hash, &hash_size) != NULL);
    struct slice text = base64_encode_in(arena, BASE64_STANDARD, slice_of(hash, hash_size));
    return arena_format(arena, "v1,%.*s", SLICE_ARG(text));
}
