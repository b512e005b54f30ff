/* SPDX-License-Identifier: MIT */
/* The client's side of MySQL's protocol: the greeting, TLS, who the client is. The user is the
 * connection's name and the password its credential's secret, which is proved by
 * caching_sha2_password or mysql_native_password; a client of mysql_clear_password sends it, under
 * TLS alone. */
#ifndef GH_MYSQL_MYSQL_FRONT_H
#define GH_MYSQL_MYSQL_FRONT_H

#include "protocol/front.h"

/* What clients take for the server's version: it is told before the target is known. */
#define MYSQL_FRONT_VERSION         "8.0.36-gatehouse"
#define MYSQL_FRONT_VERSION_MARIADB "5.5.5-10.11.0-MariaDB-gatehouse" /* as its servers begin */

extern const struct front_ops mysql_front_ops;

#endif
