/* SPDX-License-Identifier: MIT */
/* What recording_recover.c needs of a recording besides its public face. */
#ifndef GH_SESSION_RECORDING_INTERNAL_H
#define GH_SESSION_RECORDING_INTERNAL_H

#include "session/recording.h"

/* As recording_open(), of a file that is open, at its start. */
enum err recording_open_fd(int take_fd, struct seal_keys *keys, struct recording **ret_recording,
                           struct error *reterr) MUST_USE;

/* The record as the last block, behind all that was read. Valid until the recording is used. */
struct slice recording_seal_end(struct recording *recording, struct slice record);

#endif
