/* SPDX-License-Identifier: MIT */
#include "policy/guard_function.h"

#include "base/memory.h"

/* In the order of slice_compare(). Functions of PostgreSQL 15 to 18 that are stable or immutable,
 * but for those that serve operators, types and indexes, and for those that read a relation that
 * they are given by name; those that are volatile and change nothing but what the session
 * remembers; sequences, which hold no data; and what the grammar calls like a function. */
/* clang-format off */
static const char *const harmless[] = {
    "abbrev", "abs", "aclcontains", "acldefault", "aclexplode", "acos", "acosd", "acosh", "age",
    "all", "any", "any_value", "area", "array", "array_agg", "array_append", "array_cat",
    "array_dims",
    "array_fill", "array_length", "array_lower", "array_ndims", "array_position", "array_positions",
    "array_prepend", "array_remove", "array_replace", "array_reverse", "array_sample",
    "array_shuffle", "array_sort", "array_to_json", "array_to_string", "array_to_tsvector",
    "array_upper", "ascii", "asin", "asind", "asinh", "atan", "atan2", "atan2d", "atand", "atanh",
    "avg", "bit", "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "bool", "bool_and",
    "bool_or", "bound_box", "box", "bpchar", "bpcharlike", "broadcast", "btrim",
    "bytea", "cardinality",
    "casefold", "cash_words", "cast", "cbrt", "ceil", "ceiling", "center", "char", "char_length",
    "character_length", "charlt", "chr", "cidr", "circle", "clock_timestamp", "coalesce",
    "col_description", "collation", "concat", "concat_ws", "convert", "convert_from", "convert_to",
    "corr", "cos", "cosd", "cosh", "cot", "cotd", "count", "covar_pop", "covar_samp", "crc32",
    "crc32c", "cume_dist", "current_catalog", "current_database", "current_query", "current_role",
    "current_schema", "current_schemas", "current_setting", "current_time", "current_timestamp",
    "current_user", "currval", "date", "date_add", "date_bin", "date_part", "date_subtract",
    "date_trunc", "datemultirange", "daterange", "daterange_canonical", "daterange_subdiff",
    "decode", "degrees", "dense_rank", "dexp", "diagonal", "diameter", "div", "dlog1", "dlog10",
    "dround", "dtrunc", "encode", "enum_first", "enum_last", "enum_range", "erf", "erfc", "every",
    "exists", "exp", "extract", "factorial", "family", "first_value", "float4", "float8", "floor",
    "format", "format_type", "gamma", "gcd", "gen_random_uuid", "generate_series",
    "generate_subscripts", "get_bit", "get_byte", "get_current_ts_config", "getdatabaseencoding",
    "getpgusername", "greatest", "grouping", "has_any_column_privilege", "has_column_privilege",
    "has_database_privilege", "has_foreign_data_wrapper_privilege", "has_function_privilege",
    "has_language_privilege", "has_largeobject_privilege", "has_parameter_privilege",
    "has_schema_privilege", "has_sequence_privilege", "has_server_privilege", "has_table_privilege",
    "has_tablespace_privilege", "has_type_privilege", "hashint4", "hashint8", "hashtext",
    "hashtextextended", "height", "host", "hostmask", "icu_unicode_version", "in_range",
    "inet_client_addr", "inet_client_port", "inet_merge", "inet_same_family", "inet_server_addr",
    "inet_server_port", "initcap", "int2", "int4", "int4multirange", "int4range",
    "int4range_canonical", "int4range_subdiff", "int8", "int8multirange", "int8range",
    "int8range_canonical", "int8range_subdiff", "interval", "is_normalized", "isclosed", "isempty",
    "isfinite", "ishorizontal", "isnull", "isopen", "isparallel", "isperp", "isvertical", "json",
    "json_agg", "json_array", "json_array_elements", "json_array_elements_text",
    "json_array_length", "json_arrayagg", "json_build_array", "json_build_object", "json_each",
    "json_each_text", "json_exists", "json_extract_path", "json_extract_path_text", "json_object",
    "json_object_agg", "json_object_keys", "json_objectagg", "json_populate_record",
    "json_populate_recordset", "json_query", "json_scalar", "json_serialize", "json_strip_nulls",
    "json_table", "json_to_record", "json_to_recordset", "json_to_tsvector", "json_typeof",
    "json_value", "jsonb_agg", "jsonb_array_elements", "jsonb_array_elements_text",
    "jsonb_array_length", "jsonb_build_array", "jsonb_build_object", "jsonb_each",
    "jsonb_each_text", "jsonb_extract_path", "jsonb_extract_path_text", "jsonb_insert",
    "jsonb_object", "jsonb_object_agg", "jsonb_object_keys", "jsonb_path_exists",
    "jsonb_path_exists_tz", "jsonb_path_match", "jsonb_path_match_tz", "jsonb_path_query",
    "jsonb_path_query_array", "jsonb_path_query_array_tz", "jsonb_path_query_first",
    "jsonb_path_query_first_tz", "jsonb_path_query_tz", "jsonb_populate_record",
    "jsonb_populate_recordset", "jsonb_pretty", "jsonb_set", "jsonb_set_lax", "jsonb_strip_nulls",
    "jsonb_to_record", "jsonb_to_recordset", "jsonb_to_tsvector", "jsonb_typeof", "justify_days",
    "justify_hours", "justify_interval", "lag", "last_value", "lastval", "lcm", "lead", "least",
    "left", "length", "lgamma", "like", "like_escape", "line", "ln", "localtime", "localtimestamp",
    "log", "log10", "lower", "lower_inc", "lower_inf", "lpad", "lseg", "ltrim", "macaddr",
    "macaddr8", "macaddr8_set7bit", "make_date", "make_interval", "make_time", "make_timestamp",
    "make_timestamptz", "makeaclitem", "masklen", "max", "md5", "min", "min_scale", "mod", "mode",
    "money", "multirange", "mxid_age", "name", "nameeq", "netmask", "network", "nextval",
    "normalize", "notlike", "notnull", "now", "npoints", "nth_value", "ntile", "nullif",
    "num_nonnulls", "num_nulls", "numeric", "numeric_div_trunc", "numeric_exp", "numeric_ln",
    "numeric_log", "numeric_sqrt", "nummultirange", "numnode", "numrange", "numrange_subdiff",
    "obj_description", "octet_length", "oid", "oidvectortypes", "overlaps", "overlay",
    "parse_ident", "path", "pclose", "percent_rank", "percentile_cont", "percentile_disc",
    "pg_advisory_lock", "pg_advisory_lock_shared", "pg_advisory_unlock", "pg_advisory_unlock_all",
    "pg_advisory_unlock_shared", "pg_advisory_xact_lock", "pg_advisory_xact_lock_shared",
    "pg_available_extension_versions", "pg_available_extensions", "pg_available_wal_summaries",
    "pg_backend_pid", "pg_basetype", "pg_blocking_pids", "pg_char_to_encoding",
    "pg_client_encoding", "pg_collation_actual_version", "pg_collation_for",
    "pg_collation_is_visible", "pg_column_compression", "pg_column_is_updatable", "pg_column_size",
    "pg_conf_load_time", "pg_config", "pg_control_checkpoint", "pg_control_init",
    "pg_control_recovery", "pg_control_system", "pg_conversion_is_visible", "pg_current_logfile",
    "pg_current_snapshot", "pg_current_wal_flush_lsn", "pg_current_wal_insert_lsn",
    "pg_current_wal_lsn", "pg_current_xact_id", "pg_current_xact_id_if_assigned",
    "pg_database_collation_actual_version", "pg_database_size", "pg_describe_object",
    "pg_encoding_max_length", "pg_encoding_to_char", "pg_extension_update_paths",
    "pg_filenode_relation", "pg_function_is_visible", "pg_get_acl", "pg_get_catalog_foreign_keys",
    "pg_get_constraintdef", "pg_get_expr", "pg_get_function_arg_default",
    "pg_get_function_arguments", "pg_get_function_identity_arguments", "pg_get_function_result",
    "pg_get_function_sqlbody", "pg_get_functiondef", "pg_get_indexdef", "pg_get_keywords",
    "pg_get_object_address", "pg_get_partition_constraintdef", "pg_get_partkeydef",
    "pg_get_publication_tables", "pg_get_replica_identity_index", "pg_get_replication_slots",
    "pg_get_ruledef", "pg_get_serial_sequence", "pg_get_statisticsobjdef",
    "pg_get_statisticsobjdef_columns", "pg_get_statisticsobjdef_expressions", "pg_get_triggerdef",
    "pg_get_userbyid", "pg_get_viewdef", "pg_get_wal_summarizer_state", "pg_has_role",
    "pg_hba_file_rules", "pg_ident_file_mappings", "pg_identify_object",
    "pg_identify_object_as_address", "pg_index_column_has_property", "pg_index_has_property",
    "pg_indexam_has_property", "pg_indexam_progress_phasename", "pg_indexes_size",
    "pg_input_error_info", "pg_input_is_valid", "pg_is_in_recovery", "pg_is_other_temp_schema",
    "pg_is_wal_replay_paused", "pg_isolation_test_session_is_blocked", "pg_jit_available",
    "pg_last_committed_xact", "pg_last_wal_receive_lsn", "pg_last_wal_replay_lsn",
    "pg_last_xact_replay_timestamp", "pg_listening_channels", "pg_lock_status", "pg_lsn",
    "pg_mcv_list_items", "pg_my_temp_schema", "pg_notification_queue_usage", "pg_notify",
    "pg_opclass_is_visible", "pg_operator_is_visible", "pg_opfamily_is_visible",
    "pg_options_to_table", "pg_partition_ancestors", "pg_partition_root", "pg_partition_tree",
    "pg_postmaster_start_time", "pg_prepared_statement", "pg_prepared_xact", "pg_relation_filenode",
    "pg_relation_filepath", "pg_relation_is_publishable", "pg_relation_is_updatable",
    "pg_relation_size", "pg_replication_origin_oid", "pg_safe_snapshot_blocking_pids",
    "pg_sequence_last_value", "pg_sequence_parameters", "pg_settings_get_flags",
    "pg_show_all_file_settings", "pg_show_all_settings", "pg_show_replication_origin_status",
    "pg_size_bytes", "pg_size_pretty", "pg_sleep", "pg_sleep_for", "pg_sleep_until",
    "pg_snapshot_xip", "pg_snapshot_xmax", "pg_snapshot_xmin", "pg_split_walfile_name",
    "pg_stat_clear_snapshot", "pg_stat_have_stats", "pg_statistics_obj_is_visible",
    "pg_table_is_visible", "pg_table_size", "pg_tablespace_databases", "pg_tablespace_location",
    "pg_tablespace_size", "pg_timezone_abbrevs", "pg_timezone_names", "pg_total_relation_size",
    "pg_trigger_depth", "pg_try_advisory_lock", "pg_try_advisory_lock_shared",
    "pg_try_advisory_xact_lock", "pg_try_advisory_xact_lock_shared", "pg_ts_config_is_visible",
    "pg_ts_dict_is_visible", "pg_ts_parser_is_visible", "pg_ts_template_is_visible",
    "pg_type_is_visible", "pg_typeof", "pg_visible_in_snapshot", "pg_wal_lsn_diff",
    "pg_wal_summary_contents", "pg_walfile_name", "pg_walfile_name_offset",
    "pg_xact_commit_timestamp", "pg_xact_commit_timestamp_origin", "pg_xact_status",
    "phraseto_tsquery", "pi", "plainto_tsquery", "point", "polygon", "popen", "position", "pow",
    "power", "querytree", "quote_ident", "quote_literal", "quote_nullable", "radians", "radius",
    "random", "random_normal", "range_agg", "range_intersect_agg", "range_merge", "rank",
    "regclass", "regexp_count", "regexp_instr", "regexp_like", "regexp_match", "regexp_matches",
    "regexp_replace", "regexp_split_to_array", "regexp_split_to_table", "regexp_substr",
    "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx",
    "regr_sxy", "regr_syy", "repeat", "replace", "reverse", "right", "round", "row", "row_number",
    "row_security_active", "row_to_json", "rpad", "rtrim", "scale", "session_user", "set_bit",
    "set_byte", "set_config", "set_masklen", "setseed", "setweight", "sha224", "sha256", "sha384",
    "sha512", "shobj_description", "sign", "similar_escape", "similar_to_escape", "sin", "sind",
    "sinh", "slope", "some", "split_part", "sqrt", "starts_with",
    "statement_timestamp", "stddev", "stddev_pop",
    "stddev_samp", "string_agg", "string_to_array", "string_to_table", "strip", "strpos", "substr",
    "substring", "sum", "system_user", "tan", "tand", "tanh", "text", "texteq", "textlen",
    "textlike", "time", "timeofday", "timestamp", "timestamptz", "timetz", "timezone", "to_ascii",
    "to_bin", "to_char", "to_date", "to_hex", "to_json", "to_jsonb", "to_number", "to_oct",
    "to_regclass", "to_regcollation", "to_regnamespace", "to_regoper", "to_regoperator",
    "to_regproc", "to_regprocedure", "to_regrole", "to_regtype", "to_regtypemod", "to_timestamp",
    "to_tsquery", "to_tsvector", "transaction_timestamp", "translate", "treat", "trim",
    "trim_array", "trim_scale", "trunc", "ts_debug", "ts_delete", "ts_filter", "ts_headline",
    "ts_lexize", "ts_parse", "ts_rank", "ts_rank_cd", "ts_token_type", "tsmultirange", "tsquery",
    "tsquery_phrase", "tsrange", "tsrange_subdiff", "tstzmultirange", "tstzrange",
    "tstzrange_subdiff", "tsvector", "tsvector_to_array", "txid_current",
    "txid_current_if_assigned", "txid_current_snapshot", "txid_snapshot_xip", "txid_snapshot_xmax",
    "txid_snapshot_xmin", "txid_status", "txid_visible_in_snapshot", "unicode_assigned",
    "unicode_version", "unistr", "unnest", "upper", "upper_inc", "upper_inf", "user", "uuid",
    "uuid_extract_timestamp", "uuid_extract_version", "uuidv4", "uuidv7", "var_pop", "var_samp",
    "varbit", "varchar", "variance", "version", "websearch_to_tsquery", "width", "width_bucket",
    "xid", "xml", "xml_is_well_formed", "xml_is_well_formed_content", "xml_is_well_formed_document",
    "xmlagg", "xmlattributes", "xmlcomment", "xmlconcat", "xmlelement", "xmlexists", "xmlforest",
    "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable", "xmltext", "xmlvalidate", "xpath",
    "xpath_exists",
};
/* clang-format on */

/* The database's own; all of a kind. */
static const char *const harmless_prefixes[] = {"pg_stat_get_"};

static bool function_is_listed(struct slice name)
{
    size_t low = 0;
    size_t high = name.len == 0 ? 0 : COUNT_OF(harmless);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *listed = harmless[middle];
        int order = (unsigned char)name.at[0] - (unsigned char)listed[0];
        order = order != 0 ? order : strncmp(name.at, listed, name.len);
        if (order == 0 && listed[name.len] == '\0') {
            return true;
        }
        if (order <= 0) { /* what is listed may be longer */
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return false;
}

static bool function_is_of_a_kind(struct slice name)
{
    for (size_t i = 0; i < COUNT_OF(harmless_prefixes); i++) {
        if (slice_starts_with(name, slice_of_text(harmless_prefixes[i]))) {
            return true;
        }
    }
    return false;
}

/* Those of information_schema, all of them. */
static bool function_is_of_the_schema(struct slice name)
{
    static const char *const names[] = {
        "_pg_char_max_length",    "_pg_char_octet_length",
        "_pg_datetime_precision", "_pg_expandarray",
        "_pg_index_position",     "_pg_interval_type",
        "_pg_numeric_precision",  "_pg_numeric_precision_radix",
        "_pg_numeric_scale",      "_pg_truetypid",
        "_pg_truetypmod",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (slice_equals(name, slice_of_text(names[i]))) {
            return true;
        }
    }
    return false;
}

bool guard_field_is_harmless(const struct sql_name *field)
{
    static const char *const prefixes[] = {"pg_", "lo_", "brin_", "gin_", "ts_", "dblink"};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        if (slice_starts_with(field->name, slice_of_text(prefixes[i]))) {
            return guard_function_is_harmless(field);
        }
    }
    return true;
}

bool guard_function_is_harmless(const struct sql_name *function)
{
    if (slice_equals(function->schema, SLICE("information_schema"))) {
        return function_is_of_the_schema(function->name);
    }
    if (function->schema.len > 0 && !slice_equals(function->schema, SLICE("pg_catalog"))) {
        return false;
    }
    return function_is_listed(function->name) || function_is_of_a_kind(function->name);
}

bool guard_function_reads_any(const struct sql_function *function)
{
    const struct sql_name *name = &function->name;
    if (name->schema.len > 0 && !slice_equals(name->schema, SLICE("pg_catalog"))) {
        return false;
    }
    return slice_has_nocase(name->name, SLICE("_to_xml")) ||
           slice_equals(name->name, SLICE("ts_stat")) ||
           (slice_equals(name->name, SLICE("ts_rewrite")) && function->argument_min < 3) ||
           slice_starts_with(name->name, SLICE("pg_logical_slot_"));
}

uint64_t guard_function_operations(const struct sql_name *function)
{
    if (slice_equals(function->name, SLICE("set_config"))) {
        return SQL_BIT(SQL_SET);
    }
    return slice_equals(function->name, SLICE("pg_notify")) ? SQL_BIT(SQL_NOTIFY) : 0;
}
