/* SPDX-License-Identifier: MIT */
/* What is asked of MySQL's and MariaDB's catalog, see protocol/protocol.h. A schema is a database
 * there: the one that is asked for, or the connection's own. */
#ifndef GH_MYSQL_MYSQL_CATALOG_H
#define GH_MYSQL_MYSQL_CATALOG_H

#include "protocol/protocol.h"

extern const struct catalog_ops mysql_catalog_ops;

#endif
