/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "policy/guard_function.h"

/* In the order of slice_compare(). Functions of MySQL 5.7 to 9 and MariaDB 10 and 11 that change
 * nothing but what the session remembers, and read neither a table nor a file that the statement
 * does not name; and types and words of the grammar that stand before a parenthesis. Not among
 * them: load_file, sequences' (nextval, setval), what waits for or asks of replication, and all
 * that comes with plug-ins. */
/* clang-format off */
static const char *const harmless[] = {
    "abs", "acos", "adddate", "addtime", "aes_decrypt", "aes_encrypt", "aggregate", "any_value",
    "ascii", "asin", "atan", "atan2", "avg", "benchmark", "bigint", "bin", "bin_to_uuid", "binary",
    "bit", "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "blob", "bool",
    "can_access_column", "cast", "ceil", "ceiling", "char", "char_length", "character_length",
    "charset", "chr", "coalesce", "coercibility", "collation", "column_add", "column_check",
    "column_create", "column_delete", "column_exists", "column_get", "column_json", "column_list",
    "columns", "compress", "concat", "concat_operator_oracle", "concat_ws", "connection_id", "conv",
    "convert", "convert_tz", "cos", "cot", "count", "crc32", "crc32c", "cume_dist", "curdate",
    "current_date", "current_role", "current_time", "current_timestamp", "current_user", "curtime",
    "database", "date", "date_add", "date_format", "date_sub", "datediff", "datetime", "day",
    "dayname", "dayofmonth", "dayofweek", "dayofyear", "dec", "decimal", "decode", "decode_oracle",
    "default", "degrees", "dense_rank", "des_decrypt", "des_encrypt", "double", "elt", "encode",
    "encrypt", "enum", "exp", "export_set", "extract", "extractvalue", "field", "find_in_set",
    "first_value", "fixed", "float", "floor", "format", "format_bytes", "format_pico_time",
    "found_rows", "from_base64", "from_days", "from_unixtime", "geomcollection",
    "geometrycollection", "get_format", "get_lock", "greatest", "group_concat", "grouping",
    "gtid_subset", "gtid_subtract", "hash", "hex", "hour", "icu_version", "if", "ifnull", "in",
    "inet6_aton", "inet6_ntoa", "inet_aton", "inet_ntoa", "insert", "instr", "int", "integer",
    "interval", "is_free_lock", "is_ipv4", "is_ipv4_compat", "is_ipv4_mapped", "is_ipv6",
    "is_used_lock", "is_uuid", "isnull", "json_array", "json_array_append", "json_array_insert",
    "json_array_intersect", "json_arrayagg", "json_compact", "json_contains", "json_contains_path",
    "json_depth", "json_detailed", "json_equals", "json_exists", "json_extract", "json_insert",
    "json_key_value", "json_keys", "json_length", "json_loose", "json_merge", "json_merge_patch",
    "json_merge_preserve", "json_normalize", "json_object", "json_object_filter_keys",
    "json_object_to_array", "json_objectagg", "json_overlaps", "json_pretty", "json_query",
    "json_quote", "json_remove", "json_replace", "json_schema_valid",
    "json_schema_validation_report", "json_search", "json_set", "json_storage_free",
    "json_storage_size", "json_table", "json_type", "json_unquote", "json_valid", "json_value",
    "kdf", "key", "lag", "last_day", "last_insert_id", "last_value", "lcase", "lead", "least",
    "left", "length", "lengthb", "linestring", "list", "ln", "localtime", "localtimestamp",
    "locate", "log", "log10", "log2", "lower", "lpad", "ltrim", "make_set", "makedate", "maketime",
    "match", "max", "md5", "median", "mediumint", "microsecond", "mid", "min", "minute", "mod",
    "month", "monthname", "multilinestring", "multipoint", "multipolygon", "name_const",
    "natural_sort_key", "nchar", "now", "nth_value", "ntile", "nullif", "numeric", "nvarchar",
    "nvl", "nvl2", "oct", "octet_length", "old_password", "ord", "partition", "password",
    "percent_rank", "percentile_cont", "percentile_disc", "period_add", "period_diff", "pi",
    "point", "polygon", "position", "pow", "power", "quarter", "quote", "radians", "rand",
    "random_bytes", "range", "rank", "regexp_instr", "regexp_like", "regexp_replace",
    "regexp_substr", "release_all_locks", "release_lock", "repeat", "replace", "replace_oracle",
    "reverse", "right", "roles_graphml", "round", "row", "row_count", "row_number", "rpad", "rtrim",
    "schema", "sec_to_time", "second", "session_user", "set", "sformat", "sha", "sha1", "sha2",
    "sign", "sin", "sleep", "smallint", "soundex", "space", "sqrt", "statement_digest",
    "statement_digest_text", "std", "stddev", "stddev_pop", "stddev_samp", "str_to_date", "strcmp",
    "subdate", "substr", "substring", "substring_index", "subtime", "sum", "sys_guid", "sysdate",
    "system_user", "tan", "text", "than", "time", "time_format", "time_to_sec", "timediff",
    "timestamp", "timestampadd", "timestampdiff", "tinyint", "to_base64", "to_char", "to_date",
    "to_days", "to_number", "to_seconds", "to_vector", "trim", "trim_oracle", "trunc", "truncate",
    "ucase", "uncompress", "uncompressed_length", "unhex", "unix_timestamp", "updatexml", "upper",
    "user", "using", "utc_date", "utc_time", "utc_timestamp", "uuid", "uuid_short", "uuid_to_bin",
    "uuid_v4", "uuid_v7", "validate_password_strength", "value", "values", "var_pop", "var_samp",
    "varbinary", "varchar", "variance", "vec_distance", "vec_distance_cosine",
    "vec_distance_euclidean", "vec_fromtext", "vec_totext", "vector", "vector_dim",
    "vector_to_string", "version", "week", "weekday", "weekofyear", "weight_string", "xmltype",
    "year", "yearweek",
};
/* clang-format on */

bool guard_mysql_function_is_harmless(const struct sql_name *function)
{
    size_t low = 0;
    size_t high = function->schema.len > 0 ? 0 : COUNT_OF(harmless);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = slice_compare(function->name, slice_of_text(harmless[middle]));
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return false;
}
