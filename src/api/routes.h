/* SPDX-License-Identifier: MIT */
/* The table of the API: each operation once, with all that is known about it. The router, the check
 * of who may call, the audit log and the description (openapi.c) are made from it. */
#ifndef GH_API_ROUTES_H
#define GH_API_ROUTES_H

#include "api/api.h"

enum api_who {
    API_ANYONE,
    API_AGENT,   /* agents, by their secret; the handler sees to it */
    API_NODE,    /* other gateways of the store, by the master key; likewise */
    API_METRICS, /* loopback only, unless the setting says otherwise */
    API_CONTROL, /* the control socket only */
    API_MEMBER,  /* whoever is signed in */
    API_READER,  /* admins and auditors */
    API_ADMIN,
};

enum api_answer_kind {
    API_NOTHING, /* no body */
    API_ONE,     /* an object of the shape */
    API_PAGE,    /* {"data": […], "pages": {…}} */
    API_ARRAY,   /* […] */
    API_TEXTS,   /* an array of text */
    API_OBJECT,  /* some object, described in words */
    API_TEXT,    /* not JSON */
};

#define API_ERRORS_MAX 8

struct api_route {
    const char *method;
    const char *path;
    enum api_who who;
    size_t body_size_max; /* 0: it takes no body */
    api_handler_fn handler;
    const char *noun; /* in the audit log; the tag of the description */
    const char *summary;
    const struct shape *query;
    const struct shape *body;
    bool is_partial; /* PATCH: nothing of the body is required */
    bool is_list;    /* the body is an array of the shape */
    int status;      /* of success */
    enum api_answer_kind answer;
    const struct shape *shape;
    bool is_slow;               /* takes a processor, or waits for others: on a pool of its own */
    bool is_long;               /* its answer lasts as long as its reader likes: likewise */
    bool hands_out_tokens;      /* to somebody who is not signed in: no cache keeps the answer */
    bool may_go_on;             /* 202: what was asked for takes longer than an answer waits */
    bool is_websocket;          /* a GET that does something: pages of others may not ask for it */
    bool may_be_forged;         /* what is wrong with it is in the audit log, whoever sent it */
    int errors[API_ERRORS_MAX]; /* besides 401, 403, 500 and 503, which follow from the rest */
};

size_t api_route_count(void);
const struct api_route *api_route_at(size_t index);

/* The table as the router wants it. */
struct route *api_http_routes_in(struct arena *arena);

#endif
