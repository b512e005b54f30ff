/* SPDX-License-Identifier: MIT */
/* The words for types of MySQL's columns, as they stand in CREATE TABLE. */
#ifndef GH_MYSQL_MYSQL_TYPE_NAME_H
#define GH_MYSQL_MYSQL_TYPE_NAME_H

#include "wire/mysqlwire_answer.h"

/* A constant. */
struct slice mysql_type_name(const struct mysqlwire_column *column);

#endif
