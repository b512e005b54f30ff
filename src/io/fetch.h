/* SPDX-License-Identifier: MIT */
/* HTTP requests to somebody else's servers: an identity provider, a cloud's interface; and mail to
 * a server of SMTP. They block for at most LIMIT_FETCH_MS, mail for LIMIT_FETCH_MAIL_MS, so they
 * are for pool threads. Certificates are checked against the
 * system's or the request's own; redirects are not followed; the environment's proxy is used. */
#ifndef GH_IO_FETCH_H
#define GH_IO_FETCH_H

#include "base/arena.h"
#include "base/error.h"
#include "wire/address.h"

#include <stdatomic.h>
#include <stdint.h>

/* Before the sandbox and the second thread; reads the machine's settings. */
void fetch_start(void);

/* What is under way when that time is over ends within a second, and nothing new begins then. */
void fetch_stop_after(uint64_t ms);

struct fetch_header {
    const char *name;
    struct slice value; /* empty: the header is not sent */
};

/* For a URL of smtp, where TLS begins with STARTTLS, or smtps. Addresses have neither control
 * characters nor angle brackets. */
struct fetch_mail {
    struct slice host; /* of the URL, for messages */
    struct slice from;
    const struct slice *recipients;
    size_t recipient_count;
    bool is_plain; /* without TLS */
};

/* What is not mentioned is zero. */
struct fetch_request {
    const char *url; /* http or https, or with a mail: empty, when there is no server */
    const struct fetch_mail *mail; /* 'body' is the whole message; NULL: HTTP */
    const char *method;            /* NULL: POST with a form or a body, else GET */
    struct slice form;             /* a body of url-encoded pairs; SLICE_NONE: none */
    struct slice body;             /* one of another type, which a header says; not both */
    struct slice user; /* of basic authentication, or at a server of SMTP; with the password */
    struct slice password;
    struct slice bearer; /* a token */
    const struct fetch_header *headers;
    size_t header_count;
    const char *issuers;   /* a PEM file: these alone are trusted, not the system's */
    uint32_t timeout_ms;   /* where it is less than LIMIT_FETCH_MS; 0: that */
    bool is_without_proxy; /* for addresses that mean something else to a proxy */
    /* For a URL that is not the operator's: what is connected to, whatever a name meant before,
     * must be public or in these networks; no proxy is used. NULL: anything. */
    const struct network_list *reachable;
    /* The status alone is asked for: what comes of the body beyond this size, or behind the time,
     * is not waited for. 0: all of it is wanted. */
    size_t status_size;
    const atomic_bool *is_stopped; /* once it is true, it ends within a second; NULL: it never is */
};

/* What a server of SMTP said of one recipient. */
struct fetch_reply {
    uint16_t code;      /* 0: it was not asked */
    struct slice words; /* of a refusal */
};

struct fetch_answer {
    long status;
    struct slice body;
    struct slice cache_control; /* the header; empty: there was none */
    /* Of a mail, also when it was not taken: what was said to each of its recipients. */
    const struct fetch_reply *replies;
    bool is_refused; /* for good, after all of it was sent */
};

/* Any status is an answer. ERR_UNAVAILABLE when there was none, with the host's name and the cause;
 * ERR_LIMIT for more than LIMIT_FETCH_SIZE; ERR_INPUT for a header with a control character. */
enum err fetch_in(struct arena *arena, const struct fetch_request *request,
                  struct fetch_answer *ret_answer, struct error *reterr) MUST_USE;

struct fetch {
    struct fetch_request request;
    struct fetch_answer answer;
    enum err err;
    struct error error;
    /* As soon as this one has ended, while others may be under way; NULL: nobody waits for that. */
    void (*on_end)(struct fetch *fetch);
    void *owner;
};

/* All at once, LIMIT_FETCH_AT_ONCE of them at most; comes back when the last one has. */
void fetch_all_in(struct arena *arena, struct fetch *fetches, size_t count);

#endif
