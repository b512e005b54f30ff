/* SPDX-License-Identifier: MIT */
/* For sql.c only: a text in MySQL's dialect, or MariaDB's. */
#ifndef GH_SQL_SQL_MYSQL_H
#define GH_SQL_SQL_MYSQL_H

#include "sql/sql.h"

struct sql_script sql_mysql_analyze(struct arena *arena, const struct sql_settings *settings,
                                    struct slice text);

#endif
