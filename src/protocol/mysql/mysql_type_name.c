/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_type_name.h"

#include "wire/mysqlwire_value.h"

#define FLAG_ENUM 0x100U
#define FLAG_SET  0x800U

/* Texts and bytes have one number, and a character set of its own says which they are. */
static struct slice name_of_text(const struct mysqlwire_column *column)
{
    bool is_binary = column->charset == MYSQLWIRE_BINARY_CHARSET;
    if ((column->flags & FLAG_ENUM) != 0) {
        return SLICE("enum");
    }
    if ((column->flags & FLAG_SET) != 0) {
        return SLICE("set");
    }
    switch (column->type) {
    case MYSQLWIRE_TYPE_STRING:
        return is_binary ? SLICE("binary") : SLICE("char");
    case MYSQLWIRE_TYPE_VARCHAR:
    case MYSQLWIRE_TYPE_VAR_STRING:
        return is_binary ? SLICE("varbinary") : SLICE("varchar");
    default:
        return is_binary ? SLICE("blob") : SLICE("text");
    }
}

struct slice mysql_type_name(const struct mysqlwire_column *column)
{
    bool is_unsigned = (column->flags & MYSQLWIRE_COLUMN_UNSIGNED) != 0;
    switch (column->type) {
    case MYSQLWIRE_TYPE_DECIMAL:
    case MYSQLWIRE_TYPE_NEWDECIMAL:
        return SLICE("decimal");
    case MYSQLWIRE_TYPE_TINY:
        return is_unsigned ? SLICE("tinyint unsigned") : SLICE("tinyint");
    case MYSQLWIRE_TYPE_SHORT:
        return is_unsigned ? SLICE("smallint unsigned") : SLICE("smallint");
    case MYSQLWIRE_TYPE_INT24:
        return is_unsigned ? SLICE("mediumint unsigned") : SLICE("mediumint");
    case MYSQLWIRE_TYPE_LONG:
        return is_unsigned ? SLICE("int unsigned") : SLICE("int");
    case MYSQLWIRE_TYPE_LONGLONG:
        return is_unsigned ? SLICE("bigint unsigned") : SLICE("bigint");
    case MYSQLWIRE_TYPE_FLOAT:
        return SLICE("float");
    case MYSQLWIRE_TYPE_DOUBLE:
        return SLICE("double");
    case MYSQLWIRE_TYPE_NULL:
        return SLICE("null");
    case MYSQLWIRE_TYPE_TIMESTAMP:
        return SLICE("timestamp");
    case MYSQLWIRE_TYPE_DATE:
        return SLICE("date");
    case MYSQLWIRE_TYPE_TIME:
        return SLICE("time");
    case MYSQLWIRE_TYPE_DATETIME:
        return SLICE("datetime");
    case MYSQLWIRE_TYPE_YEAR:
        return SLICE("year");
    case MYSQLWIRE_TYPE_BIT:
        return SLICE("bit");
    case MYSQLWIRE_TYPE_JSON:
        return SLICE("json");
    case MYSQLWIRE_TYPE_GEOMETRY:
        return SLICE("geometry");
    default:
        return name_of_text(column);
    }
}
