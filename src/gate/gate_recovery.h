/* SPDX-License-Identifier: MIT */
/* Recordings that were left open, by a gateway that was killed or a disk that was full, are closed,
 * and their sessions put right in the store: before the gateway serves, those that the store knows
 * to be open; behind that, on a pool, what else lies in the folder, also of sessions that the store
 * was never told of. What cannot be done is tried again: a disk has room some day, a store answers.
 *
 * The store is told first what the file will be, then the file is closed: whoever is killed between
 * the two finds the same to do at the next start. A recording that does not end as the store says
 * is left as it is: somebody has changed it. */
#ifndef GH_GATE_GATE_RECOVERY_H
#define GH_GATE_GATE_RECOVERY_H

#include "gate/gate_internal.h"

/* Ends the sessions that the store has as open and whose recordings lie here. Blocks. */
enum err gate_recovery_run_first(struct gate *gate, struct error *reterr) MUST_USE;

void gate_recovery_start(struct gate_worker *worker);
void gate_recovery_stop(struct gate_worker *worker);

/* From any worker: the recording of a session that began then was not closed, or the store was not
 * told of it. */
void gate_recovery_note(struct gate *gate, int64_t started_at);

#endif
