/* SPDX-License-Identifier: MIT */
/* MySQL and MariaDB, as a protocol of the gateway. */
#ifndef GH_MYSQL_MYSQL_H
#define GH_MYSQL_MYSQL_H

#include "protocol/protocol.h"

extern const struct protocol mysql_protocol;

#endif
