/* SPDX-License-Identifier: MIT */
/* A session: one use of a connection by somebody, from its start to its end. It holds the names as
 * they were then, so that it can be read when what they named is gone. */
#ifndef GH_MODEL_SESSION_H
#define GH_MODEL_SESSION_H

#include "base/arena.h"
#include "codec/shape.h"

#define SESSION_OPEN  "open"
#define SESSION_DONE  "done"
#define SESSION_LIMIT 20 /* of a page, when none is asked for */

#define SESSION_METADATA_COUNT     20
#define SESSION_METADATA_SIZE      2500 /* of names and values together */
#define SESSION_METADATA_NAME_SIZE 128

/* What was masked of one type: what of it was found, and the bytes that were replaced. */
struct session_masked {
    struct slice info_type;
    int64_t redact_count;
    int64_t transformed_bytes;
};

/* What was masked in a session. Borrowed. */
struct session_masking {
    bool is_given; /* masking rules applied to it */
    const struct session_masked
        *types; /* each once; those of which nothing was found are left out */
    size_t type_count;
    int64_t error_count; /* what could not be examined, and so was masked whole or refused */
};

/* A rule of a guard rail that was met: nothing of its pattern, which is not to be shown. */
struct session_guarded_rule {
    struct slice type;
};

struct session_guarded {
    struct slice rule_name;
    struct session_guarded_rule *rule;
    struct slice direction; /* "input" or "output" */
    struct slice action;    /* "block", "warn" or "observe" */
    struct slice message;
};

extern const struct shape session_guarded_shape;

struct session {
    struct slice id;
    struct slice organization_id;
    struct slice credential_id; /* "": none */
    struct slice connection_id;
    struct slice connection_name;
    struct slice connection_type;
    struct slice connection_subtype;
    struct slice resource_name;
    struct slice user_id;
    struct slice user_email;
    struct slice user_name;
    struct slice identity_type; /* "user" or "machine" */
    struct slice verb;          /* "connect" or "exec" */
    struct slice status;
    struct slice client_ip;
    struct slice ssh_key; /* that its client signed in with: its fingerprint; empty: none */
    struct slice application_name;
    struct slice metadata; /* JSON: an object of text; empty: {} */
    struct slice labels;   /* likewise, of programs; this and the next two may be empty */
    struct slice batch_id;
    struct slice correlation_id;
    int64_t started_at;
    int64_t ended_at; /* 0: it goes on */
    struct slice end_reason;
    struct shape_int bytes_in;  /* from the client */
    struct shape_int bytes_out; /* to the client */
    /* Of one that is done. */
    struct slice recording_head; /* of its chain, in hex */
    struct shape_int recording_size;
    struct slice recording_error; /* why it is not whole */
    int64_t recording_days;       /* how long it is kept; 0: for ever; -1: as the gateway says */
    int64_t recording_removed_at; /* 0: it was not */
    struct slice metrics;         /* JSON; empty: nothing was counted, or it goes on */
    struct slice guardrails_info; /* JSON, an array of session_guarded */
    struct shape_int guardrails_count;
    struct session_masking masking; /* as it is written at the end */
};

extern const struct shape session_shape;

struct session_metadata_request {
    struct shape_pairs metadata;
};

extern const struct shape session_metadata_shape;

/* ERR_INPUT: too many, too long, a name that is empty, or what is not UTF-8. */
enum err session_metadata_check(const struct shape_pairs *given, struct error *reterr) MUST_USE;
/* ERR_DENIED: which of the fields are not given, or empty. */
enum err session_metadata_check_fields(const struct shape_texts *mandatory,
                                       const struct shape_pairs *given,
                                       struct error *reterr) MUST_USE;
struct slice session_metadata_json_in(struct arena *arena, const struct shape_pairs *given);

/* {"data_masking": …}, as answers show it; empty when no masking rules applied. */
struct slice session_metrics_json_in(struct arena *arena, const struct session_masking *masking);
/* An object for each, with commas between them; long texts are cut. */
struct slice session_guarded_json_in(struct arena *arena, const struct session_guarded *guarded,
                                     size_t count);

/* Of others: not more than 'size_max' bytes, UTF-8 on one line, without control characters. */
struct slice session_text_in(struct arena *arena, struct slice text, size_t size_max);

#endif
