/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include "base/must.h"
#include "base/writer.h"

static void write_operations(struct writer *writer, uint64_t operations)
{
    for (int i = 0; i <= SQL_OTHER; i++) {
        if ((operations & SQL_BIT(i)) != 0) {
            writer_bytes(writer, SLICE("+"));
            writer_bytes(writer, slice_of_text(sql_operation_word((enum sql_operation)i)));
        }
    }
}

static void write_name(struct writer *writer, struct slice schema, struct slice name)
{
    writer_bytes(writer, SLICE(" "));
    writer_bytes(writer, schema);
    writer_bytes(writer, schema.len == 0 ? SLICE("") : SLICE("."));
    writer_bytes(writer, name);
}

static void write_statement(struct writer *writer, const struct sql_statement *statement,
                            bool has_columns)
{
    writer_bytes(writer, slice_of_text(sql_operation_word(statement->verb)));
    write_operations(writer, statement->operations & ~SQL_BIT(statement->verb));
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        write_name(writer, relation->name.schema, relation->name.name);
        writer_bytes(writer, relation->is_read ? SLICE(":r") : SLICE(":"));
        must(!relation->is_all || slice_equals(relation->name.name, SLICE("*")));
        must(relation->is_written == (relation->operations != 0));
        write_operations(writer, relation->operations);
    }
    for (size_t i = 0; i < statement->function_count; i++) {
        const struct sql_function *function = &statement->functions[i];
        write_name(writer, function->name.schema, function->name.name);
        writer_bytes(writer, function->is_field ? SLICE(".") : SLICE("()"));
    }
    for (size_t i = 0; i < statement->column_count && has_columns; i++) {
        writer_bytes(writer, i == 0 ? SLICE(" |") : SLICE(""));
        write_name(writer, statement->columns[i].qualifier, statement->columns[i].name);
        writer_bytes(writer, statement->columns[i].is_used ? SLICE("!") : SLICE(""));
    }
    writer_bytes(writer, statement->without_where ? SLICE(" -where") : SLICE(""));
    writer_bytes(writer, statement->rewrites_rows ? SLICE(" -count") : SLICE(""));
    writer_bytes(writer, statement->needs_no_transaction ? SLICE(" -transaction") : SLICE(""));
    if (statement->prepared.len > 0) {
        writer_bytes(writer, SLICE(" prepared="));
        writer_bytes(writer, statement->prepared);
    }
    must(statement->is_unknown == (statement->why[0] != '\0'));
    writer_bytes(writer, statement->is_unknown ? SLICE(" ? ") : SLICE(""));
    writer_bytes(writer, slice_of_text(statement->why));
}

void summary_write(struct buf *buf, const struct sql_script *script, bool has_columns)
{
    struct writer writer = writer_to(buf);
    for (size_t i = 0; i < script->count; i++) {
        writer_bytes(&writer, i == 0 ? SLICE("") : SLICE("\n"));
        write_statement(&writer, &script->statements[i], has_columns);
    }
    must(writer_done(&writer) == ERR_NONE);
}
