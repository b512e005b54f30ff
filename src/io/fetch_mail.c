/* SPDX-License-Identifier: MIT */
/* A mail as curl sends it. TLS is required, or there is none at all: never what a server, or
 * whoever stands before it, happens to offer. */
#include "io/fetch_internal.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/text.h"
#include "wire/smtp_reply.h"

#define CODE_MORE          354 /* RFC 5321 section 4.2.2: start mail input */
#define CODE_REFUSED_LEAST 400
#define CODE_REFUSED_FINAL 500
#define REFUSAL_SIZE       300
#define GOODBYE_S          1L /* that a server may take to answer QUIT: it has the mail by then */

static size_t fetch_mail_give(char *at, size_t size, size_t count, void *context)
{
    struct fetch_handle *handle = context;
    size_t len = size * count < handle->unsent.len ? size * count : handle->unsent.len;
    memcpy(at, handle->unsent.at, len);
    handle->unsent = slice_from(handle->unsent, len);
    return len;
}

/* What is asked, as curl sends it: the answers come in the same order. */
static int fetch_mail_note(CURL *curl, curl_infotype type, char *at, size_t size, void *context)
{
    struct fetch_handle *handle = context;
    struct slice line = slice_of(at, size);
    (void)curl;
    if (type == CURLINFO_HEADER_OUT && slice_starts_with(line, SLICE("RCPT TO:"))) {
        handle->step = FETCH_STEP_RECIPIENT;
        handle->asked_count++;
    } else if (type == CURLINFO_HEADER_OUT && slice_starts_with(line, SLICE("DATA\r\n"))) {
        handle->step = FETCH_STEP_DATA;
    } else if (type == CURLINFO_HEADER_OUT) {
        handle->step = FETCH_STEP_OTHER; /* its goodbye, for one */
    }
    return 0;
}

static void fetch_mail_refuse(struct fetch_handle *handle, struct slice line)
{
    struct writer writer = writer_to(&handle->refusal);
    buf_truncate(&handle->refusal, 0);
    text_show(&writer, slice_sub(line, 0, REFUSAL_SIZE));
}

/* One line that the server said. */
static size_t fetch_mail_hear(char *at, size_t size, size_t count, void *context)
{
    struct fetch_handle *handle = context;
    struct smtp_reply reply;
    if (smtp_reply_parse(slice_of(at, size * count), &reply) != ERR_NONE || !reply.is_last) {
        return size * count;
    }
    bool is_refusal = reply.code >= CODE_REFUSED_LEAST;
    if (is_refusal) {
        fetch_mail_refuse(handle, reply.line);
    }
    if (handle->step == FETCH_STEP_RECIPIENT && handle->asked_count <= handle->recipient_count) {
        handle->replies[handle->asked_count - 1] = (struct fetch_reply){
            .code = reply.code,
            .words = is_refusal ? arena_copy(handle->arena, buf_view(&handle->refusal)) : SLICE(""),
        };
    } else if (handle->step == FETCH_STEP_DATA && reply.code == CODE_MORE) {
        handle->step = FETCH_STEP_WHOLE;
    } else if (handle->step == FETCH_STEP_WHOLE) {
        handle->is_refused = reply.code >= CODE_REFUSED_FINAL;
        (void)curl_easy_setopt(handle->curl, CURLOPT_SERVER_RESPONSE_TIMEOUT, GOODBYE_S);
    }
    return size * count;
}

static void fetch_mail_set_people(struct fetch_handle *handle, struct arena *arena,
                                  const struct fetch_mail *mail)
{
    for (size_t i = 0; i < mail->recipient_count; i++) {
        struct curl_slist *longer =
            curl_slist_append(handle->headers, arena_text(arena, mail->recipients[i]));
        must(longer != NULL);
        handle->headers = longer;
    }
    (void)curl_easy_setopt(handle->curl, CURLOPT_MAIL_FROM, arena_text(arena, mail->from));
    (void)curl_easy_setopt(handle->curl, CURLOPT_MAIL_RCPT, handle->headers);
    /* One address that is no more must not keep the others from being told. */
    (void)curl_easy_setopt(handle->curl, CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
}

enum err fetch_mail_set(struct fetch_handle *handle, struct arena *arena,
                        const struct fetch_request *request, struct error *reterr)
{
    const struct fetch_mail *mail = request->mail;
    CURL *curl = handle->curl;
    buf_init(&handle->refusal, REFUSAL_SIZE * 10);
    if (request->url[0] == '\0') {
        return fail(reterr, ERR_UNAVAILABLE,
                    "this gateway has no mail server: --smtp-host names one");
    }
    if (mail->recipient_count == 0) {
        return fail(reterr, ERR_NOT_FOUND, "of its addresses the sink has none any more");
    }
    handle->unsent = request->body;
    handle->arena = arena;
    handle->recipient_count = mail->recipient_count;
    handle->replies = arena_alloc_array(arena, mail->recipient_count, sizeof(struct fetch_reply));
    for (size_t i = 0; i < mail->recipient_count; i++) {
        handle->replies[i] = (struct fetch_reply){.words = SLICE("")};
    }
    fetch_mail_set_people(handle, arena, mail);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    (void)curl_easy_setopt(curl, CURLOPT_USE_SSL,
                           mail->is_plain ? (long)CURLUSESSL_NONE : (long)CURLUSESSL_ALL);
    (void)curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, fetch_mail_give);
    (void)curl_easy_setopt(curl, CURLOPT_READDATA, handle);
    (void)curl_easy_setopt(curl, CURLOPT_VERBOSE, 1L); /* to the function alone */
    (void)curl_easy_setopt(curl, CURLOPT_DEBUGFUNCTION, fetch_mail_note);
    (void)curl_easy_setopt(curl, CURLOPT_DEBUGDATA, handle);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, fetch_mail_hear);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, handle);
    /* Else a connection would be closed, with a goodbye, only when all of a round are. */
    (void)curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
    return ERR_NONE;
}
