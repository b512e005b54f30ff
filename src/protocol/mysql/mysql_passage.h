/* SPDX-License-Identifier: MIT */
/* What passes between a client and a MySQL target: followed from the first byte on (mysql_tap.h),
 * and recorded. Commands that are not served are answered here and never reach the target; KILL
 * names sessions of the gateway, so it is the gateway that does it. */
#ifndef GH_MYSQL_MYSQL_PASSAGE_H
#define GH_MYSQL_MYSQL_PASSAGE_H

#include "protocol/passage.h"

extern const struct passage_ops mysql_passage_ops;

#endif
