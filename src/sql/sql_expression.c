/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

#include "base/memory.h"

/* Words that may stand behind the name of a type. */
static void sql_skip_type_words(struct sql_scan *scan)
{
    enum sql_word word = sql_word_at(scan, scan->at);
    if (word == SQL_WORD_PRECISION || word == SQL_WORD_VARYING) {
        scan->at++;
    } else if ((word == SQL_WORD_WITH || word == SQL_WORD_WITHOUT) &&
               sql_word_at(scan, scan->at + 1) == SQL_WORD_TIME) {
        scan->at += 3;
        scan->at = scan->at > scan->end ? scan->end : scan->at;
    }
}

/* value::type */
void sql_expression_cast(struct sql_scan *scan)
{
    struct sql_name type;
    scan->at++;
    (void)sql_take_word(scan, SQL_WORD_SETOF);
    if (sql_take_name(scan, &type)) {
        sql_add_type(scan, type);
    }
    sql_skip_type_words(scan);
}

void sql_expression_operator(struct sql_scan *scan, const struct sql_frame *frame)
{
    if (frame->clause != SQL_IN_NAMES) {
        sql_add_operator(scan, SLICE_NONE, sql_token_lower(scan, scan->at));
    }
    scan->at++;
}

/* AS and a label, or the type of a CAST. */
static void sql_expression_as(struct sql_scan *scan, const struct sql_frame *frame)
{
    struct sql_name name;
    scan->at++;
    if (sql_kind_at(scan, scan->at) == SQL_TOKEN_WORD && !sql_token_is_name(scan, scan->at)) {
        scan->at++; /* any word can be a label */
        return;
    }
    if (sql_take_name(scan, &name)) {
        sql_skip_type_words(scan);
        if (!frame->is_query) {
            sql_add_type(scan, name);
        }
        if (frame->call == SQL_WORD_TREAT) { /* calls the database's own function of that name */
            static const char catalog[32] = "pg_catalog";
            name.schema = slice_of(catalog, strlen(catalog));
            sql_add_arguments(scan, sql_add_function(scan, name, false), 1);
        }
    }
}

/* The operators that a word stands for. */
static void sql_expression_operators(struct sql_scan *scan)
{
    static const struct {
        enum sql_word word;
        char operator[8];
    } operators[] = {
        {SQL_WORD_IN, "="},       {SQL_WORD_IN, "<>"},      {SQL_WORD_LIKE, "~~"},
        {SQL_WORD_LIKE, "!~~"},   {SQL_WORD_ILIKE, "~~*"},  {SQL_WORD_ILIKE, "!~~*"},
        {SQL_WORD_SIMILAR, "~"},  {SQL_WORD_SIMILAR, "!~"}, {SQL_WORD_BETWEEN, ">="},
        {SQL_WORD_BETWEEN, "<="}, {SQL_WORD_BETWEEN, ">"},  {SQL_WORD_BETWEEN, "<"},
        {SQL_WORD_DISTINCT, "="}, {SQL_WORD_NULLIF, "="},   {SQL_WORD_CASE, "="},
        {SQL_WORD_USING, "="},    {SQL_WORD_NATURAL, "="},
    };
    enum sql_word word = sql_word_at(scan, scan->at);
    for (size_t i = 0; i < COUNT_OF(operators) && word != SQL_NO_WORD; i++) {
        if (operators[i].word == word) {
            sql_add_operator(scan, SLICE_NONE, slice_of_text(operators[i].operator));
        }
    }
}

/* Whether what comes at 'index' ends an item of a select list. */
static bool sql_ends_item(const struct sql_scan *scan, size_t index)
{
    switch (sql_kind_at(scan, index)) {
    case SQL_TOKEN_END:
    case SQL_TOKEN_COMMA:
    case SQL_TOKEN_CLOSE:
    case SQL_TOKEN_SEMICOLON:
        return true;
    default:
        break;
    }
    switch ((int)sql_word_at(scan, index)) {
    case SQL_WORD_AS:
    case SQL_WORD_FROM:
    case SQL_WORD_INTO:
    case SQL_WORD_WHERE:
    case SQL_WORD_LIMIT:
    case SQL_WORD_OFFSET:
    case SQL_WORD_FETCH:
        return true;
    default:
        return false;
    }
}

static bool sql_begins_item(const struct sql_scan *scan, size_t index)
{
    if (index == scan->list_at || sql_kind_at(scan, index - 1) == SQL_TOKEN_COMMA) {
        return true;
    }
    enum sql_word word = sql_word_at(scan, index - 1);
    return word == SQL_WORD_SELECT || word == SQL_WORD_RETURNING || word == SQL_WORD_ALL;
}

/* Whether the column named from 'start' to 'at' is handed to the client as it is. */
static bool sql_is_handed_out(const struct sql_scan *scan, const struct sql_frame *frame,
                              size_t start)
{
    bool is_list = (frame->clause == SQL_IN_LIST && frame->is_outer) ||
                   (frame->clause == SQL_IN_RETURNING && scan->depth == 1);
    if (!is_list || start == 0 || !sql_begins_item(scan, start)) {
        return false;
    }
    enum sql_word label = sql_word_at(scan, scan->at);
    return sql_ends_item(scan, scan->at) ||
           (sql_token_is_name(scan, scan->at) && label != SQL_WORD_ISNULL &&
            label != SQL_WORD_NOTNULL && sql_ends_item(scan, scan->at + 1));
}

static bool sql_collects_columns(const struct sql_scan *scan, const struct sql_frame *frame)
{
    if (!scan->has_columns && scan->unread_count == 0 && scan->where_depth == 0) {
        return false;
    }
    switch ((enum sql_clause)frame->clause) {
    case SQL_IN_EXPRESSION:
    case SQL_IN_LIST:
    case SQL_IN_RETURNING:
    case SQL_IN_ON:
    case SQL_IN_WINDOW:
    case SQL_IN_VALUE:
    case SQL_IN_VALUES:
    case SQL_IN_CONFLICT:
    case SQL_IN_MERGE:
        return !(frame->is_exists && frame->clause == SQL_IN_LIST);
    case SQL_IN_DEFINITION:
    case SQL_IN_NAMES:
    case SQL_IN_START:
    case SQL_IN_WITH:
    case SQL_IN_WITH_BODY:
    case SQL_IN_WITH_DONE:
    case SQL_IN_FROM:
    case SQL_IN_JOINED:
    case SQL_IN_FOLLOW:
    case SQL_IN_TARGET:
    case SQL_IN_SET:
    case SQL_IN_INSERT:
    case SQL_IN_ACTION:
        return false;
    }
    return true;
}

void sql_expression_star(struct sql_scan *scan, struct sql_frame *frame)
{
    size_t at = scan->at++;
    bool is_list = frame->clause == SQL_IN_LIST || frame->clause == SQL_IN_RETURNING;
    bool is_operator = sql_is_behind_operand(scan, at);
    if (is_operator) {
        sql_add_operator(scan, SLICE_NONE, sql_all());
    } else if (is_list && !frame->is_exists) {
        sql_add_column(scan, SLICE_NONE, sql_all(), !sql_is_handed_out(scan, frame, at));
    }
}

/* CUBE and ROLLUP are grammar as an item of GROUP BY, or of GROUPING SETS, alone. */
static bool sql_is_grouping_item(struct sql_scan *scan, size_t start)
{
    const struct sql_frame *frame = sql_top(scan);
    enum sql_word before = start == 0 ? SQL_NO_WORD : sql_word_at(scan, start - 1);
    uint8_t kind = start == 0 ? SQL_TOKEN_END : sql_kind_at(scan, start - 1);
    return frame->is_grouping &&
           (kind == SQL_TOKEN_COMMA || kind == SQL_TOKEN_OPEN || before == SQL_WORD_BY ||
            before == SQL_WORD_ALL || before == SQL_WORD_DISTINCT);
}

bool sql_is_json_call(enum sql_word word)
{
    switch ((int)word) {
    case SQL_WORD_JSON:
    case SQL_WORD_JSON_ARRAY:
    case SQL_WORD_JSON_ARRAYAGG:
    case SQL_WORD_JSON_EXISTS:
    case SQL_WORD_JSON_OBJECT:
    case SQL_WORD_JSON_OBJECTAGG:
    case SQL_WORD_JSON_QUERY:
    case SQL_WORD_JSON_SCALAR:
    case SQL_WORD_JSON_SERIALIZE:
    case SQL_WORD_JSON_VALUE:
        return true;
    default:
        return false;
    }
}

bool sql_is_special_call(enum sql_word word)
{
    bool is_other = word == SQL_NO_WORD || word == SQL_WORD_JSON_TABLE ||
                    word == SQL_WORD_MERGE_ACTION || sql_is_json_call(word);
    return !is_other && sql_word_class(word) == SQL_WORD_IS_COLUMN;
}

/* Whether a word that is followed by '(' is called. */
static bool sql_is_function(struct sql_scan *scan, enum sql_word word, size_t start)
{
    if (word == SQL_NO_WORD) {
        return true;
    }
    switch (sql_word_class(word)) {
    case SQL_WORD_IS_RESERVED:
        return false;
    case SQL_WORD_IS_COLUMN:
        return !sql_is_special_call(word);
    case SQL_WORD_IS_TYPE:
        return !sql_is_behind_operand(scan, start);
    case SQL_WORD_IS_FREE:
        break;
    }
    if (sql_is_behind_operand(scan, start)) {
        return false;
    }
    enum sql_word before = start == 0 ? SQL_NO_WORD : sql_word_at(scan, start - 1);
    switch ((int)word) {
    case SQL_WORD_BY:
        return before != SQL_WORD_GROUP && before != SQL_WORD_ORDER && before != SQL_WORD_PARTITION;
    case SQL_WORD_SECOND: { /* INTERVAL '…' DAY TO SECOND (2) */
        enum sql_word first = start < 2 ? SQL_NO_WORD : sql_word_at(scan, start - 2);
        return before != SQL_WORD_TO ||
               (first != SQL_WORD_DAY && first != SQL_WORD_HOUR && first != SQL_WORD_MINUTE);
    }
    case SQL_WORD_SETS:
        return before != SQL_WORD_GROUPING;
    case SQL_WORD_ZONE:
        return before != SQL_WORD_TIME;
    case SQL_WORD_FIRST:
    case SQL_WORD_NEXT:
        return before != SQL_WORD_FETCH;
    case SQL_WORD_OPERATOR: /* a prefix one */
        return false;
    case SQL_WORD_ROLLUP:
    case SQL_WORD_CUBE:
        return !sql_is_grouping_item(scan, start);
    default:
        return true;
    }
}

/* In definitions words stand before many a parenthesis. */
static bool sql_is_defined_function(struct sql_scan *scan, enum sql_word word, size_t start)
{
    if (start == 0 || sql_is_behind_operand(scan, start)) {
        return false;
    }
    enum sql_word before = sql_word_at(scan, start - 1);
    if (before == SQL_WORD_BY ||
        (before == SQL_WORD_USING && sql_word_at(scan, start - 2) == SQL_WORD_EXCLUDE)) {
        return false;
    }
    bool is_grammar = before == SQL_WORD_PRIMARY || before == SQL_WORD_FOREIGN ||
                      before == SQL_WORD_AS || before == SQL_WORD_WITH;
    return word == SQL_NO_WORD || (!is_grammar && sql_is_function(scan, word, start));
}

/* Words of the grammar that could be columns, and are none where they stand. */
static bool sql_is_grammar(const struct sql_scan *scan, enum sql_word word, size_t start)
{
    enum sql_word before = start == 0 ? SQL_NO_WORD : sql_word_at(scan, start - 1);
    enum sql_word next = sql_word_at(scan, start + 1);
    if (word == SQL_NO_WORD || sql_word_class(word) == SQL_WORD_IS_TYPE) {
        return word != SQL_NO_WORD;
    }
    switch ((int)word) {
    case SQL_WORD_GROUPING:
        return next == SQL_WORD_SETS;
    case SQL_WORD_TIES:
        return before == SQL_WORD_WITH;
    case SQL_WORD_PRECEDING:
    case SQL_WORD_FOLLOWING:
        return before == SQL_WORD_UNBOUNDED;
    case SQL_WORD_BY:
        return before == SQL_WORD_PARTITION || before == SQL_WORD_ORDER || before == SQL_WORD_GROUP;
    case SQL_WORD_PARTITION:
        return next == SQL_WORD_BY;
    case SQL_WORD_ROWS:
    case SQL_WORD_RANGE:
    case SQL_WORD_GROUPS:
        return next == SQL_WORD_BETWEEN || next == SQL_WORD_UNBOUNDED || next == SQL_WORD_CURRENT;
    case SQL_WORD_UNBOUNDED:
        return next == SQL_WORD_PRECEDING || next == SQL_WORD_FOLLOWING;
    case SQL_WORD_CURRENT:
        return next == SQL_WORD_ROW;
    case SQL_WORD_ROW:
        return before == SQL_WORD_CURRENT;
    case SQL_WORD_BETWEEN:
        return before == SQL_WORD_NOT || before == SQL_WORD_ROWS || before == SQL_WORD_RANGE ||
               before == SQL_WORD_GROUPS;
    case SQL_WORD_TIMESTAMP:
    case SQL_WORD_TIME:
        return next == SQL_WORD_WITH || next == SQL_WORD_WITHOUT || next == SQL_WORD_ZONE;
    case SQL_WORD_ZONE:
        return before == SQL_WORD_TIME;
    default:
        return false;
    }
}

/* Words of the grammar that stand where a column could: behind IS, the field of EXTRACT or of an
 * interval, the form of NORMALIZE, the names of types of more than one word. */
static bool sql_is_fixed(const struct sql_scan *scan, const struct sql_frame *frame, size_t start)
{
    enum sql_word word = sql_word_at(scan, start);
    enum sql_word before = start == 0 ? SQL_NO_WORD : sql_word_at(scan, start - 1);
    enum sql_word first = start < 2 ? SQL_NO_WORD : sql_word_at(scan, start - 2);
    enum sql_word next = sql_word_at(scan, start + 1);
    struct slice written = sql_token_lower(scan, start);
    if (before == SQL_WORD_IS || (before == SQL_WORD_NOT && first == SQL_WORD_IS) ||
        before == SQL_WORD_COLLATE || before == SQL_WORD_UNIQUE) {
        return true;
    }
    if (before == SQL_WORD_TO) {
        return first == SQL_WORD_YEAR || first == SQL_WORD_DAY || first == SQL_WORD_HOUR ||
               first == SQL_WORD_MINUTE;
    }
    if (frame->call == SQL_WORD_EXTRACT) {
        return first == SQL_WORD_EXTRACT && next == SQL_WORD_FROM;
    }
    if (frame->call == SQL_WORD_NORMALIZE && sql_kind_at(scan, start + 1) == SQL_TOKEN_CLOSE) {
        return slice_equals(written, SLICE("nfc")) || slice_equals(written, SLICE("nfd")) ||
               slice_equals(written, SLICE("nfkc")) || slice_equals(written, SLICE("nfkd"));
    }
    return (next == SQL_WORD_PRECISION && slice_equals(written, SLICE("double"))) ||
           (next == SQL_WORD_VARYING && sql_word_class(word) == SQL_WORD_IS_COLUMN) ||
           (word == SQL_WORD_NATIONAL && (next == SQL_WORD_CHARACTER || next == SQL_WORD_CHAR));
}

/* The parts of a name: those before the last are its qualifier. */
struct sql_parts {
    struct slice schema; /* the last part of it */
    struct slice qualifier;
    struct slice name;
    size_t count;
};

static struct sql_parts sql_take_parts(struct sql_scan *scan)
{
    struct sql_parts parts = {.name = sql_token_name(scan, scan->at), .count = 1};
    size_t start = scan->at++;
    while (sql_kind_at(scan, scan->at) == SQL_TOKEN_DOT) {
        bool is_star = sql_kind_at(scan, scan->at + 1) == SQL_TOKEN_STAR;
        if (!is_star && !sql_token_is_name(scan, scan->at + 1)) {
            scan->at++;
            break;
        }
        parts.schema = parts.name;
        parts.name = is_star ? sql_all() : sql_token_name(scan, scan->at + 1);
        parts.count++;
        scan->at += 2;
        if (is_star) {
            break;
        }
    }
    parts.qualifier = parts.schema;
    if (parts.count == 3 && scan->has_columns) {
        struct slice written =
            arena_format(scan->arena, "%.*s.%.*s%*s", SLICE_ARG(sql_token_name(scan, start)),
                         SLICE_ARG(parts.schema), SQL_PADDING, "");
        parts.qualifier = slice_sub(written, 0, written.len - SQL_PADDING);
    }
    return parts;
}

/* What was named from 'start' to 'at', and is not called: a column, a type before a string, a
 * label, or the name of an argument. */
static void sql_expression_column(struct sql_scan *scan, const struct sql_frame *frame,
                                  size_t start, const struct sql_parts *parts)
{
    uint8_t next = sql_kind_at(scan, scan->at);
    bool is_literal = next == SQL_TOKEN_STRING || next == SQL_TOKEN_STRING_UNICODE;
    bool is_label = parts->count == 1 && sql_is_behind_operand(scan, start);
    bool is_argument = next == SQL_TOKEN_ARROW || next == SQL_TOKEN_ASSIGN;
    enum sql_word word = sql_word_at(scan, start);
    bool may_be_type = word == SQL_NO_WORD || sql_word_class(word) != SQL_WORD_IS_TYPE;
    if (is_literal && !is_label && may_be_type) {
        sql_add_type(scan, (struct sql_name){parts->schema, parts->name});
    }
    if (is_literal || is_label || is_argument ||
        (parts->count == 1 && sql_is_grammar(scan, word, start)) ||
        sql_is_fixed(scan, frame, start)) {
        return;
    }
    if (frame->clause == SQL_IN_WINDOW && sql_word_at(scan, scan->at) == SQL_WORD_AS) {
        return;
    }
    if (start == 0 || sql_kind_at(scan, start - 1) != SQL_TOKEN_DOT) { /* a field is of a value */
        sql_see_column(scan);
    }
    sql_add_column(scan, parts->qualifier, parts->name, !sql_is_handed_out(scan, frame, start));
}

/* Behind a dot behind no name: each is a field of a value, or a function called with it. */
static void sql_expression_fields(struct sql_scan *scan, size_t start)
{
    for (size_t i = start; i < scan->at && sql_token_is_name(scan, i) && !scan->is_stopped;
         i += 2) {
        struct sql_name name = {SLICE_NONE, sql_token_name(scan, i)};
        (void)sql_add_function(scan, name, true);
    }
}

/* A name with its dots: of a function, or of whatever else is no key word. */
static void sql_expression_name(struct sql_scan *scan, const struct sql_frame *frame)
{
    size_t start = scan->at;
    enum sql_word word = sql_word_at(scan, start);
    bool is_field = start > 0 && sql_kind_at(scan, start - 1) == SQL_TOKEN_DOT;
    struct sql_parts parts = sql_take_parts(scan);
    uint8_t next = sql_kind_at(scan, scan->at);
    bool is_definition = frame->clause == SQL_IN_DEFINITION;
    if (is_field) {
        sql_expression_fields(scan, start);
    } else if (next == SQL_TOKEN_OPEN &&
               (is_definition ? sql_is_defined_function(scan, word, start)
                              : parts.count > 1 || sql_is_function(scan, word, start))) {
        scan->called = sql_add_function(scan, (struct sql_name){parts.schema, parts.name}, false);
    }
    if (next == SQL_TOKEN_OPEN || is_definition) {
        return;
    }
    if (sql_collects_columns(scan, frame)) {
        sql_expression_column(scan, frame, start, &parts);
    }
}

/* Another table, whose rows or columns are looked at. */
static bool sql_expression_other(struct sql_scan *scan)
{
    size_t index = 0;
    switch ((int)sql_word_at(scan, scan->at)) {
    case SQL_WORD_REFERENCES:
    case SQL_WORD_LIKE:
    case SQL_WORD_INHERIT:
        scan->at++;
        (void)sql_take_relation(scan, 0, &index);
        return true;
    case SQL_WORD_INHERITS:
        if (sql_kind_at(scan, scan->at + 1) != SQL_TOKEN_OPEN) {
            return false;
        }
        scan->at += 2;
        (void)sql_take_relations(scan, 0);
        scan->at += sql_kind_at(scan, scan->at) == SQL_TOKEN_CLOSE ? 1 : 0;
        return true;
    default:
        return false;
    }
}

/* A word of the grammar: what it says of the arguments around it. */
static void sql_expression_grammar(struct sql_scan *scan, struct sql_frame *frame)
{
    switch ((int)sql_word_at(scan, scan->at)) {
    case SQL_WORD_FROM:
        frame->is_grammar |= sql_word_at(scan, scan->at - 1) != SQL_WORD_DISTINCT;
        break;
    case SQL_WORD_FOR:
    case SQL_WORD_PLACING:
        frame->is_grammar = true;
        break;
    case SQL_WORD_SIMILAR:
        frame->is_grammar |= sql_word_at(scan, scan->at + 1) != SQL_WORD_TO;
        break;
    case SQL_WORD_ORDER:
        frame->is_argument_end = true;
        break;
    case SQL_WORD_VARIADIC:
        frame->is_variadic = true;
        break;
    default:
        break;
    }
}

void sql_expression_word(struct sql_scan *scan, struct sql_frame *frame)
{
    if (scan->tokens[scan->at].word != SQL_NO_WORD) {
        sql_expression_grammar(scan, frame);
        if (scan->has_columns) {
            sql_expression_operators(scan);
        }
    }
    if (sql_word_at(scan, scan->at) == SQL_WORD_AS) {
        sql_expression_as(scan, frame);
    } else if (frame->clause == SQL_IN_DEFINITION && sql_expression_other(scan)) {
        return;
    } else if (sql_token_is_name(scan, scan->at)) {
        sql_expression_name(scan, frame);
    } else {
        if (sql_word_at(scan, scan->at) == SQL_WORD_DO &&
            sql_word_at(scan, scan->at + 1) == SQL_WORD_UPDATE) {
            sql_unknown(scan, "an update that belongs to nothing");
        }
        scan->at++;
    }
}
