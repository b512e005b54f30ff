/* SPDX-License-Identifier: MIT */
/* A protocol, as the rest of the gateway sees it: one constant table of functions each, and what it
 * can. The tables stand in one list (app/protocols.c), which is handed down; nothing else knows a
 * protocol's folder. */
#ifndef GH_PROTOCOL_PROTOCOL_H
#define GH_PROTOCOL_PROTOCOL_H

#include "identity/native_credential.h"
#include "protocol/estimate.h"
#include "protocol/front.h"
#include "protocol/passage.h"
#include "protocol/run.h"
#include "protocol/sample.h"
#include "session/replay.h"

/* What rules and features can do on its connections. */
enum protocol_can {
    CAN_GUARD = 1,      /* statements are understood, and stopped before the target has them */
    CAN_GUARD_TEXT = 2, /* words and patterns are looked for in what clients send */
    CAN_LIMIT_ROWS = 4, /* what writes too many rows is taken back */
    CAN_BUDGET = 8,     /* rows that are read are counted */
    CAN_MASK = 16,
    CAN_CANCEL = 32,
    CAN_READ_ONLY = 64,     /* the target itself refuses to write, for as long as a rule is there */
    CAN_GUARD_OUTPUT = 128, /* and in what targets answer */
    CAN_HOLD = 256,         /* a statement waits until people have decided on it */
    CAN_REHEARSE = 512,     /* it runs, and is committed when they have */
};

struct target_ops {
    struct place_rules place;
    /* 'on_done' is called once, never inside these. */
    struct opening *(*open)(const struct dial_context *context, const struct open_request *request,
                            opened_fn on_done, void *owner);
    /* NULL: what a session does is not cancelled over a connection of its own. */
    struct opening *(*stop)(const struct dial_context *context, const struct stop_request *request,
                            stopped_fn on_done, void *owner);
    /* Adds what is made for one session to variables that have nothing to sign in with. NULL: there
     * is no such way. */
    enum err (*vouch)(struct arena *arena, const struct target_voucher *voucher,
                      struct shape_pairs *variables, struct error *reterr);
    /* What can be known to be wrong of variables as they are stored; NULL: nothing. ERR_INPUT. */
    enum err (*check_secret)(struct arena *arena, const struct shape_pairs *variables,
                             struct error *reterr);
    bool stop_signs_in; /* so it needs the place's user and password */
    /* An agent elsewhere passes on what a target says: nothing of it is taken for good. */
    enum err (*check_arrival)(const struct arrival *arrival, struct error *reterr);
    /* The words of an answer in the protocol's bytes; false: it is none. */
    bool (*read_answer)(struct slice answer, struct ending_words *ret_words);
    /* And back: 'code' becomes the one that the client sees. */
    enum err (*write_answer)(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                             struct buf *buf);
};

/* What is asked of a target for those who manage or use a connection. Rows of text; parameters, at
 * == NULL where they are not given:
 *   TEST       -> the server's version
 *   DATABASES  limit -> name
 *   TABLES     schema, type, a part of the name, limit, offset -> schema, name, type
 *   COLUMNS    schema, table -> name, type, whether it must be there, default, whether it is of the
 *              primary key; a table without columns is a row of nulls */
enum catalog_ask {
    CATALOG_TEST,
    CATALOG_DATABASES,
    CATALOG_TABLES,
    CATALOG_COLUMNS,
    CATALOG_ASK_COUNT,
};

/* Statements of the gateway's own. */
struct catalog_ops {
    struct slice database;         /* when nobody names one */
    struct slice schema;           /* likewise */
    struct shape_pairs parameters; /* as whom the gateway comes; see struct open_request */
    uint32_t version;
    const char *texts[CATALOG_ASK_COUNT]; /* NULL: it has none of these */
    query_start_fn query;
    /* What rules have to know of a catalog: asked as whom, without parameters, and what is made of
     * the rows. The facts are the protocol's own, and shared by sessions of one worker. */
    struct shape_pairs facts_parameters;
    struct slice (*facts_text_in)(struct arena *arena, const struct mask_rules *rules);
    size_t facts_columns;
    void *(*facts_new)(struct mask_rules *rules, const struct query_rows *rows);
    void (*facts_unref)(void *facts);
    const struct estimate_ops *estimate; /* NULL: of no statement can it be asked */
    const struct sample_ops *sample;     /* NULL: it rehearses nothing */
    enum target_problem (*problem_of_open)(const struct target_failure *failure);
    enum target_problem (*problem_of_query)(const struct query_failure *failure);
};

struct protocol {
    struct slice subtype;    /* of connections */
    const char *name;        /* for people */
    const char *url;         /* of a connection string: its scheme */
    const char *alpn;        /* of a client that begins with TLS at once; NULL: none */
    bool needs_tls;          /* clients come with TLS only, so there must be a certificate */
    bool stops_abandoned;    /* what runs for a client that has gone is cancelled: its server would
                                not notice */
    bool is_inside;          /* the gateway alone speaks it: no subtype, no client */
    bool is_terminal;        /* likewise, for somebody who types and looks */
    unsigned can;            /* bits of protocol_can */
    enum native_proof proof; /* that its clients give */
    uint64_t row_limit; /* bytes of data recorded of each side, where the connection says nothing */
    const struct front_ops *front;
    struct target_ops target;
    const struct passage_ops *passage;
    const struct replay_ops *replay;   /* NULL: its recordings show when and how much, not what */
    const struct catalog_ops *catalog; /* NULL: it has none */
    const struct run_ops *run;         /* NULL: nothing is executed over the API */
    /* By which its clients know the gateway, as their list of hosts has it; of the key that fronts
     * have as mock_key. NULL: they know it by TLS. */
    struct slice (*host_key_in)(struct arena *arena, const struct secret *key);
};

/* What a rule or feature does on a connection. */
enum control {
    CONTROL_IMPOSSIBLE, /* refused when it is saved, and where it acts after all nothing passes */
    CONTROL_OBSERVED,   /* seen and recorded, not a barrier */
    CONTROL_ENFORCED,   /* nothing passes it */
};

struct controls {
    enum control guard_structure; /* rules about what statements would do */
    enum control guard_text;      /* words and patterns */
    enum control guard_output;    /* likewise, in what targets answer */
    enum control read_only;       /* the target is told to write nothing */
    enum control row_limit;       /* how many rows a statement may change */
    enum control read_budget;
    enum control masking;
    enum control recording;
    enum control review;
    enum control held; /* statements that a rule has reviewed one by one */
    enum control rehearsed;
};

/* NULL: connections that no native client reaches. */
struct controls protocol_controls(const struct protocol *protocol);
/* "impossible", "observed" or "enforced". */
struct slice control_word(enum control control);

struct protocols {
    const struct protocol *const *items;
    size_t count;
};

/* The channels of an agent that serves it: "/postgres" opens a session, "/postgres-cancel" asks for
 * what one does to be cancelled. */
#define PROTOCOL_CANCEL "-cancel"
struct slice protocol_channel_in(struct arena *arena, const struct protocol *protocol,
                                 const char *suffix);

/* NULL: no protocol that clients speak is for connections of this subtype. */
const struct protocol *protocols_find(const struct protocols *protocols, struct slice subtype);

/* Who sits at a terminal on connections of this subtype; NULL: such have none. */
const struct protocol *protocols_find_terminal(const struct protocols *protocols,
                                               struct slice subtype);

/* What scripts are executed by on connections of this subtype: that protocol, or their commands. */
const struct protocol *protocols_find_run(const struct protocols *protocols, struct slice subtype);

#endif
