/* SPDX-License-Identifier: MIT */
/* What rules can do on a connection, by its protocol, and that none is saved which can do nothing.
 */
#ifndef GH_API_CONTROLS_H
#define GH_API_CONTROLS_H

#include "api/api.h"

/* After rules, or what they act on, were written: whether each of the organization's rules can be
 * held on all connections that it acts on now, by itself or by an attribute. ERR_INPUT names a
 * connection where that is not so. */
enum err controls_check(const struct api_call *call, struct store_tx *tx,
                        struct error *reterr) MUST_USE;

#endif
