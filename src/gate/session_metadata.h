/* SPDX-License-Identifier: MIT */
/* What a client of PostgreSQL says about its session, for the record: why it is opened, for which
 * ticket. Clients have no field for that, so it comes in what every driver can send:
 *   - the startup option -c gatehouse.metadata.NAME=VALUE (or --gatehouse.metadata.NAME=VALUE),
 *   - a startup parameter of that name, where a driver sends any,
 *   - the application's name: application;NAME=VALUE;NAME=VALUE.
 * A name that is given more than once has the last of these in this order: the application's name,
 * options, parameters. The target sees none of it. */
#ifndef GH_GATE_SESSION_METADATA_H
#define GH_GATE_SESSION_METADATA_H

#include "base/arena.h"
#include "codec/shape.h"
#include "wire/pgwire_start.h"

#define SESSION_METADATA_HINT                                                                      \
    "Give it as a startup option, -c gatehouse.metadata.NAME=VALUE (for psql in PGOPTIONS), or "   \
    "in the application's name: psql;NAME=VALUE."

struct session_metadata {
    struct shape_pairs given;
    struct slice application_name; /* "" when there is none */
    /* What is left for the target. */
    struct pgwire_parameter *parameters;
    size_t parameter_count;
};

/* Texts are borrowed from the startup where they can be. ERR_INPUT: too many, too long, or not
 * UTF-8. */
enum err session_metadata_take_in(struct arena *arena, const struct pgwire_startup *startup,
                                  struct session_metadata *ret_metadata,
                                  struct error *reterr) MUST_USE;

#endif
