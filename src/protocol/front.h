/* SPDX-License-Identifier: MIT */
/* The client's side of a session, whatever the protocol: from the first byte to the point where the
 * gateway knows who the client is. Then the gate opens the session, or refuses it in words.
 *
 * The name that a client gives is a connection's. Several people hold credentials for one, so what
 * a client proves is held against each of them. An unknown name differs from a known one neither in
 * what is said nor in the time that it takes.
 *
 * A front lives on the loop of its stream. No callback comes out of a call of the owner's: what
 * that makes possible is done in the loop's next turn. */
#ifndef GH_PROTOCOL_FRONT_H
#define GH_PROTOCOL_FRONT_H

#include "identity/scram.h"
#include "io/tls_server.h"
#include "protocol/ending.h"
#include "protocol/target.h"

struct front_config {
    struct tls_server *tls;           /* NULL: TLS is not offered */
    struct scram_end_point end_point; /* of its certificate; of no bytes: there is none */
    bool needs_tls;                   /* who comes without is refused */
    bool is_guest; /* it came over HTTP, which has seen to TLS: there is none of the protocol's */
    struct slice greeting; /* which kind of server it greets as; empty: the usual one */
    bool is_inside;        /* the client is the gateway itself: on_known comes without a proof */
    /* What the salts of unknown names are derived from; borrowed while any front is there. Those of
     * known names have to look alike: scram_verifier_mock() makes them for both. */
    const struct secret *mock_key;
    uint64_t authentication_ms;
};

/* Sets 'tls' and the end point of its certificate; 'tls' is not NULL. */
void front_config_set_tls(struct front_config *config, struct tls_server *tls);

/* What is kept of the credentials of a name, to hold a client's proof against; each protocol takes
 * what it can use. At most LIMIT_SCRAM_VERIFIERS; 0: the name is unknown. */
struct front_verifiers {
    const struct scram_verifier *scram; /* all have the same salt and iterations */
    const struct slice *hashes;         /* of the secrets, for clients that send theirs */
    const struct slice *kept;           /* as enum native_proof of the protocol has it */
    size_t count;
};

/* What the client says of itself. */
struct hello {
    struct slice name;             /* of the connection */
    struct slice database;         /* empty: the connection's own */
    struct slice application_name; /* may be empty */
    struct shape_pairs metadata;   /* why it comes; not checked yet */
    const char *metadata_hint;     /* how a client of this protocol gives them */
    struct shape_pairs parameters; /* the rest, for the target: see struct open_request */
    uint32_t version;              /* of the protocol, as both speak it */
    size_t key_size;               /* of what cancels; 0: in band, or not at all */
    uint32_t number;               /* by which other sessions of the credential cancel; 0: none */
};

/* What a client has proven that it has the secret of. */
struct front_key {
    struct slice fingerprint;
    struct slice certificate; /* the blob of one of OpenSSH's that it came in; empty: none */
};

/* on_known, on_cancel and on_closed always have a function. Texts last as long as the front. */
struct front_events {
    /* Whose verifiers? 'answer', now or later. */
    void (*on_name)(void *owner, struct slice name);
    /* Instead: the client has proven that it has the secret of a person's public key; of its
     * certificate nothing is known yet. The key lasts for the call. 'answer' with one verifier: it
     * may come in, and on_known follows; with none: it may not. NULL where protocols have no such
     * keys. */
    void (*on_key)(void *owner, struct slice name, const struct front_key *key);
    /* A proof was wrong: one for each front at most. May be NULL. */
    void (*on_refused)(void *owner, struct slice name);
    /* The client is the one with this verifier: 'open' or 'refuse', now or later, within a time
     * that is the owner's to limit. */
    void (*on_known)(void *owner, size_t index);
    /* The session is open, all was sent and the front gone. 'behind' is what the client sent behind
     * its proof; valid until the end of the turn. */
    void (*on_open)(void *owner, struct stream *take_stream, struct slice behind);
    /* Instead of all of these: another connection is to be cancelled. The key lasts for the call.
     * 'cancelled', now or later. */
    void (*on_cancel)(void *owner, const struct cancel_key *key);
    /* The connection is gone, and after this call the front. ERR_NONE: in an orderly way. */
    void (*on_closed)(void *owner, const struct error *reason);
};

struct front_ops;

/* The first member of each protocol's own. */
struct front {
    const struct front_ops *ops;
};

struct front_ops {
    /* Takes over the stream. 'events' is borrowed; the configuration is copied but for its key. */
    struct front *(*start)(struct stream *take_stream, const struct front_config *config,
                           const struct front_events *events, void *owner);
    /* After on_name; copied. This and the next two have no effect on a client that is being sent
     * away already. */
    void (*answer)(struct front *front, const struct front_verifiers *verifiers);
    /* After on_known: the client is let through, with this key of ours; on_open follows. ERR_LIMIT,
     * ERR_INPUT: that cannot be said; nothing was sent. */
    enum err (*open)(struct front *front, const struct arrival *arrival,
                     const struct cancel_key *key);
    /* After on_cancel: it was done, or cannot be; on_closed follows. */
    void (*cancelled)(struct front *front);
    /* At any time before on_open: says why and closes when the client has read it; on_closed
     * follows. The texts are copied. */
    void (*refuse)(struct front *front, const struct ending_words *words);
    /* After on_name: views, and what is in the arena. */
    struct hello (*hello_in)(struct arena *arena, const struct front *front);
    /* Ends it without a word, and without on_closed. */
    void (*close)(struct front *front);
};

#endif
