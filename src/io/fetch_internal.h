/* SPDX-License-Identifier: MIT */
/* Requests between their files: fetch.c asks servers of HTTP and runs all of them, fetch_mail.c
 * makes what is sent to a server of SMTP. */
#ifndef GH_IO_FETCH_INTERNAL_H
#define GH_IO_FETCH_INTERNAL_H

#include "base/buf.h"
#include "io/fetch.h"

#include <curl/curl.h>

enum fetch_step {
    FETCH_STEP_OTHER,
    FETCH_STEP_RECIPIENT,
    FETCH_STEP_DATA,
    FETCH_STEP_WHOLE, /* the server has the whole mail */
};

/* What curl holds for one request. */
struct fetch_handle {
    CURL *curl;
    struct curl_slist *headers; /* or whom a mail is for */
    struct buf body;            /* of the answer */
    CURLcode code;
    char cause[CURL_ERROR_SIZE];
    const struct network_list *reachable;
    struct slice unsent;         /* of a mail */
    struct buf refusal;          /* what a server of SMTP said last that was a refusal */
    struct fetch_reply *replies; /* one of each recipient */
    struct arena *arena;
    size_t recipient_count;
    size_t asked_count;   /* of recipients */
    enum fetch_step step; /* of a mail: what the server answers now */
    bool is_refused;      /* for good, after all of it was sent */
    bool has_refused;     /* an address that is not to be reached */
    bool is_over;         /* of several */
};

/* The request has a mail. */
enum err fetch_mail_set(struct fetch_handle *handle, struct arena *arena,
                        const struct fetch_request *request, struct error *reterr) MUST_USE;

#endif
