/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "sql/sql_lexer.h"
#include "sql/sql_mysql_internal.h"

/* Frames --------------------------------------------------------------------------------------- */

struct mysql_frame *mysql_push(struct mysql_scan *scan, enum mysql_clause clause)
{
    if (scan->depth >= LIMIT_SQL_DEPTH) {
        mysql_stop(scan, "parentheses are too deep");
        return mysql_top(scan);
    }
    scan->frames = sql_room(scan->arena, scan->frames, scan->depth, &scan->frame_capacity,
                            sizeof(*scan->frames));
    struct mysql_frame *frame = &scan->frames[scan->depth++];
    *frame = (struct mysql_frame){.clause = (uint8_t)clause, .with_mark = scan->with_count};
    return frame;
}

static void with_push(struct mysql_scan *scan, struct slice name)
{
    if (scan->with_count >= LIMIT_SQL_MYSQL_NAMES) {
        mysql_unknown(scan, "there are too many names");
        return;
    }
    scan->with_names = sql_room(scan->arena, scan->with_names, scan->with_count,
                                &scan->with_capacity, sizeof(*scan->with_names));
    scan->with_names[scan->with_count++] = name;
}

static void frame_open(struct mysql_scan *scan)
{
    struct mysql_frame *outer = mysql_top(scan);
    bool is_from =
        outer->clause == MYSQL_AT_FROM || (outer->is_from && outer->clause == MYSQL_AT_START);
    scan->at++;
    scan->is_behind_operand = false;
    if (outer->clause == MYSQL_AT_WITH_AS) {
        scan->at--;
        mysql_skip_parentheses(scan); /* the names of its columns */
        return;
    }
    if (outer->clause == MYSQL_AT_JOINED || outer->clause == MYSQL_AT_WITH_NAME ||
        outer->clause == MYSQL_AT_WITH_DONE) {
        if (outer->clause != MYSQL_AT_WITH_DONE) {
            mysql_stop(scan, "a parenthesis where none can stand");
            return;
        }
        outer->clause = MYSQL_AT_START;
    }
    mysql_push(scan, MYSQL_AT_START)->is_from = is_from;
}

static void frame_close(struct mysql_scan *scan)
{
    struct mysql_frame inner = *mysql_top(scan);
    scan->at++;
    if (scan->depth == 1) {
        mysql_stop(scan, "a parenthesis ends that did not begin");
        return;
    }
    scan->depth--;
    scan->with_count = inner.with_mark;
    scan->is_behind_operand = true;
    struct mysql_frame *outer = mysql_top(scan);
    if (outer->clause == MYSQL_AT_FROM) {
        outer->clause = MYSQL_AT_JOINED;
        outer->has_alias = false;
        outer->item = 0;
    } else if (outer->clause == MYSQL_AT_START && outer->is_from && !inner.is_query) {
        outer->clause = MYSQL_AT_JOINED;
    } else if (outer->clause == MYSQL_AT_START) {
        outer->clause = outer->is_from ? MYSQL_AT_JOINED : MYSQL_AT_EXPRESSION;
        outer->is_query = inner.is_query;
    } else if (outer->clause == MYSQL_AT_WITH_BODY) {
        if (!outer->is_recursive) {
            with_push(scan, outer->with_name);
        }
        outer->clause = MYSQL_AT_WITH_DONE;
    }
}

/* Where a query, or an expression, begins ------------------------------------------------------ */

bool mysql_begins_query(const struct mysql_scan *scan, size_t index)
{
    while (mysql_kind_at(scan, index) == MYSQL_TOKEN_OPEN) {
        index++;
    }
    enum mysql_word word = mysql_word_at(scan, index);
    return word == MYSQL_WORD_SELECT || word == MYSQL_WORD_WITH || word == MYSQL_WORD_VALUES ||
           word == MYSQL_WORD_TABLE;
}

static void start_table(struct mysql_scan *scan, struct mysql_frame *frame)
{
    struct sql_name name;
    scan->at++;
    mysql_operate(scan, SQL_SELECT);
    if (!mysql_take_name(scan, &name)) {
        mysql_stop(scan, "TABLE without a name");
        return;
    }
    (void)mysql_add_relation(scan, name, 0);
    frame->is_query = true;
    frame->clause = MYSQL_AT_EXPRESSION;
    scan->is_behind_operand = true;
}

static void start_word(struct mysql_scan *scan, struct mysql_frame *frame)
{
    switch ((int)mysql_word_at(scan, scan->at)) {
    case MYSQL_WORD_WITH:
        scan->at++;
        frame->is_recursive = mysql_take_word(scan, MYSQL_WORD_RECURSIVE);
        frame->clause = MYSQL_AT_WITH_NAME;
        return;
    case MYSQL_WORD_TABLE:
        start_table(scan, frame);
        return;
    case MYSQL_WORD_SELECT:
    case MYSQL_WORD_VALUES:
        mysql_operate(scan, SQL_SELECT);
        scan->at++;
        frame->is_query = true;
        frame->is_select = true;
        frame->clause = MYSQL_AT_EXPRESSION;
        scan->is_behind_operand = false;
        return;
    default:
        frame->clause = frame->is_from ? MYSQL_AT_FROM : MYSQL_AT_EXPRESSION;
        return;
    }
}

static void with_step(struct mysql_scan *scan, struct mysql_frame *frame)
{
    enum mysql_word word = mysql_word_at(scan, scan->at);
    uint8_t kind = mysql_kind_at(scan, scan->at);
    if (frame->clause == MYSQL_AT_WITH_NAME && mysql_is_name(scan, scan->at)) {
        frame->with_name = mysql_spelled_at(scan, scan->at++);
        if (frame->is_recursive) {
            with_push(scan, frame->with_name);
        }
        frame->clause = MYSQL_AT_WITH_AS;
    } else if (frame->clause == MYSQL_AT_WITH_AS && word == MYSQL_WORD_AS) {
        scan->at++;
        frame->clause = MYSQL_AT_WITH_BODY;
    } else if (frame->clause == MYSQL_AT_WITH_DONE && kind == MYSQL_TOKEN_COMMA) {
        scan->at++;
        frame->clause = MYSQL_AT_WITH_NAME;
    } else if (frame->clause == MYSQL_AT_WITH_DONE && mysql_begins_query(scan, scan->at)) {
        frame->clause = MYSQL_AT_START;
    } else if (frame->clause == MYSQL_AT_WITH_DONE && scan->depth == 1) {
        scan->is_paused = true;
    } else {
        mysql_stop(scan, "a WITH that is not understood");
    }
}

/* Words that begin a clause -------------------------------------------------------------------- */

static void clause_into(struct mysql_scan *scan)
{
    scan->at++;
    if (mysql_take_word(scan, MYSQL_WORD_OUTFILE) || mysql_take_word(scan, MYSQL_WORD_DUMPFILE)) {
        mysql_operate(scan, SQL_SERVER_FILE);
        return;
    }
    for (bool is_more = true; is_more;) { /* variables */
        scan->at++;
        is_more = mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_COMMA;
        scan->at += is_more ? 1 : 0;
    }
    scan->is_behind_operand = true;
}

static void clause_union(struct mysql_scan *scan, struct mysql_frame *frame)
{
    scan->at++;
    if (!mysql_take_word(scan, MYSQL_WORD_ALL)) {
        (void)mysql_take_word(scan, MYSQL_WORD_DISTINCT);
    }
    frame->clause = MYSQL_AT_START;
    frame->is_from = false;
    if (!mysql_begins_query(scan, scan->at)) {
        mysql_stop(scan, "no query behind UNION");
    }
}

static void clause_lock(struct mysql_scan *scan)
{
    enum mysql_word next = mysql_word_at(scan, scan->at + 1);
    if (next == MYSQL_WORD_UPDATE || next == MYSQL_WORD_SHARE || next == MYSQL_WORD_IN) {
        scan->statement->locks = true;
    }
    scan->at += 2;
    scan->is_behind_operand = true;
}

static void clause_where(struct mysql_scan *scan, struct mysql_frame *frame, bool is_where)
{
    frame->clause = MYSQL_AT_EXPRESSION;
    scan->is_in_where = scan->depth == 1 ? is_where : scan->is_in_where;
    scan->is_behind_operand = false;
    scan->at++;
}

/* False: the word begins no clause here. */
static bool clause_word(struct mysql_scan *scan, struct mysql_frame *frame, enum mysql_word word)
{
    switch ((int)word) {
    case MYSQL_WORD_FROM:
        frame->clause = MYSQL_AT_FROM;
        frame->has_alias = false;
        scan->at++;
        return true;
    case MYSQL_WORD_WHERE:
        clause_where(scan, frame, true);
        return true;
    case MYSQL_WORD_GROUP:
    case MYSQL_WORD_HAVING:
    case MYSQL_WORD_ORDER:
    case MYSQL_WORD_LIMIT:
    case MYSQL_WORD_PROCEDURE:
    case MYSQL_WORD_WINDOW:
    case MYSQL_WORD_OFFSET:
    case MYSQL_WORD_RETURNING:
    case MYSQL_WORD_WITH: /* ROLLUP, CHECK OPTION */
        clause_where(scan, frame, false);
        return true;
    case MYSQL_WORD_INTO:
        clause_into(scan);
        return true;
    case MYSQL_WORD_UNION:
    case MYSQL_WORD_EXCEPT:
    case MYSQL_WORD_INTERSECT:
        clause_union(scan, frame);
        return true;
    case MYSQL_WORD_FOR:
    case MYSQL_WORD_LOCK:
        frame->clause = MYSQL_AT_EXPRESSION;
        clause_lock(scan);
        return true;
    default:
        return false;
    }
}

/* Expressions ---------------------------------------------------------------------------------- */

/* Their first argument, or the word before it, is a unit. */
static bool call_begins_with_unit(const struct mysql_scan *scan, size_t index)
{
    static const struct slice names[] = {SLICE_INIT("extract"), SLICE_INIT("timestampdiff"),
                                         SLICE_INIT("timestampadd"), SLICE_INIT("get_format")};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (mysql_text_is(scan, index, names[i])) {
            return true;
        }
    }
    return false;
}

/* Grammar only where the parenthesis stands right behind them: otherwise they are looked for among
 * the functions that somebody has defined. */
static bool call_needs_parenthesis(const struct mysql_scan *scan, size_t index)
{
    static const struct slice names[] = {
        SLICE_INIT("adddate"),       SLICE_INIT("bit_and"),  SLICE_INIT("bit_or"),
        SLICE_INIT("bit_xor"),       SLICE_INIT("cast"),     SLICE_INIT("count"),
        SLICE_INIT("curdate"),       SLICE_INIT("curtime"),  SLICE_INIT("date_add"),
        SLICE_INIT("date_sub"),      SLICE_INIT("extract"),  SLICE_INIT("group_concat"),
        SLICE_INIT("max"),           SLICE_INIT("mid"),      SLICE_INIT("min"),
        SLICE_INIT("now"),           SLICE_INIT("position"), SLICE_INIT("session_user"),
        SLICE_INIT("std"),           SLICE_INIT("stddev"),   SLICE_INIT("stddev_pop"),
        SLICE_INIT("stddev_samp"),   SLICE_INIT("subdate"),  SLICE_INIT("substr"),
        SLICE_INIT("substring"),     SLICE_INIT("sum"),      SLICE_INIT("sysdate"),
        SLICE_INIT("system_user"),   SLICE_INIT("trim"),     SLICE_INIT("var_pop"),
        SLICE_INIT("var_samp"),      SLICE_INIT("variance"), SLICE_INIT("json_arrayagg"),
        SLICE_INIT("json_objectagg")};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (mysql_text_is(scan, index, names[i])) {
            return true;
        }
    }
    return false;
}

static void expression_call(struct mysql_scan *scan, struct slice schema, size_t index)
{
    bool is_quoted = scan->tokens[index].kind == MYSQL_TOKEN_QUOTED;
    bool is_apart = scan->tokens[scan->at].is_apart && call_needs_parenthesis(scan, index);
    if (schema.len == 0 && (is_quoted || is_apart)) {
        mysql_unknown(scan, "the name of a function may be one that somebody has defined");
    }
    mysql_add_function(scan, schema, mysql_name_at(scan, index));
    if (schema.len == 0 && call_begins_with_unit(scan, index) &&
        mysql_kind_at(scan, scan->at + 1) == MYSQL_TOKEN_WORD) {
        (void)mysql_push(scan, MYSQL_AT_EXPRESSION);
        scan->at += 2;
        scan->is_behind_operand = true;
    }
}

/* A name with its dots: a column, a call, or what stands behind an operand. */
static void expression_name(struct mysql_scan *scan)
{
    bool is_label = scan->is_behind_operand;
    size_t index = scan->at++;
    struct slice schema = SLICE("");
    scan->is_behind_operand = true;
    while (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_DOT) {
        schema = mysql_name_at(scan, index);
        index = scan->at + 1;
        scan->at += 2;
        uint8_t kind = mysql_kind_at(scan, index);
        if (kind == MYSQL_TOKEN_STAR) {
            mysql_see_column(scan);
            return;
        }
        if (kind != MYSQL_TOKEN_WORD && kind != MYSQL_TOKEN_QUOTED) {
            mysql_stop(scan, "a dot that is not understood");
            return;
        }
    }
    bool is_introducer =
        mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_STRING &&
        (mysql_text_is(scan, index, SLICE("date")) || mysql_text_is(scan, index, SLICE("time")) ||
         mysql_text_is(scan, index, SLICE("timestamp")) ||
         scan->lower[scan->tokens[index].offset] == '_');
    if (mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_OPEN) {
        expression_call(scan, schema, index);
    } else if (!is_label && !is_introducer && !mysql_is_word_alone(scan, index)) {
        mysql_see_column(scan);
    }
}

/* NEXT VALUE FOR name, of a sequence: which it changes. */
static bool expression_next_value(struct mysql_scan *scan)
{
    struct sql_name name;
    size_t start = scan->at;
    bool is_next = mysql_word_at(scan, start) == MYSQL_WORD_NEXT;
    if ((!is_next && mysql_word_at(scan, start) != MYSQL_WORD_PREVIOUS) ||
        mysql_word_at(scan, start + 1) != MYSQL_WORD_VALUE ||
        mysql_word_at(scan, start + 2) != MYSQL_WORD_FOR) {
        return false;
    }
    scan->at += 3;
    if (!mysql_take_name(scan, &name)) {
        scan->at = start;
        return false;
    }
    (void)mysql_add_relation(scan, name, is_next ? SQL_BIT(SQL_OTHER) : 0);
    scan->is_behind_operand = true;
    return true;
}

/* A reserved word that begins no clause. */
static void expression_reserved(struct mysql_scan *scan, struct mysql_frame *frame,
                                enum mysql_word word)
{
    scan->at++;
    switch ((int)word) {
    case MYSQL_WORD_SELECT:
        mysql_unknown(scan, "SELECT where none can stand");
        scan->at--;
        frame->clause = MYSQL_AT_START;
        return;
    case MYSQL_WORD_AS:
    case MYSQL_WORD_COLLATE:
    case MYSQL_WORD_USING:
        scan->at += mysql_kind_at(scan, scan->at) == MYSQL_TOKEN_OPEN ? 0 : 1;
        scan->is_behind_operand = true;
        return;
    case MYSQL_WORD_NULL:
    case MYSQL_WORD_TRUE:
    case MYSQL_WORD_FALSE:
    case MYSQL_WORD_DEFAULT:
    case MYSQL_WORD_CURRENT_DATE:
    case MYSQL_WORD_CURRENT_TIME:
    case MYSQL_WORD_CURRENT_TIMESTAMP:
    case MYSQL_WORD_CURRENT_USER:
    case MYSQL_WORD_LOCALTIME:
    case MYSQL_WORD_LOCALTIMESTAMP:
    case MYSQL_WORD_UTC_DATE:
    case MYSQL_WORD_UTC_TIME:
    case MYSQL_WORD_UTC_TIMESTAMP:
    case MYSQL_WORD_ASC:
    case MYSQL_WORD_DESC:
        scan->is_behind_operand = true;
        return;
    case MYSQL_WORD_SET: /* CHARACTER SET name */
        scan->at += mysql_is_name(scan, scan->at) ? 1 : 0;
        scan->is_behind_operand = true;
        return;
    case MYSQL_WORD_OVER: /* the name of a window, if no parenthesis comes */
        scan->at += mysql_is_name(scan, scan->at) ? 1 : 0;
        scan->is_behind_operand = true;
        return;
    default:
        scan->is_behind_operand = false;
        return;
    }
}

static void expression_word(struct mysql_scan *scan, struct mysql_frame *frame)
{
    enum mysql_word word = mysql_word_at(scan, scan->at);
    bool is_call = mysql_kind_at(scan, scan->at + 1) == MYSQL_TOKEN_OPEN;
    bool is_reserved = mysql_word_is_reserved(word);
    if (frame->clause == MYSQL_AT_ON && mysql_from_goes_on(scan, frame)) {
        return;
    }
    if (frame->is_query && (is_reserved || (!is_call && scan->is_behind_operand)) &&
        clause_word(scan, frame, word)) {
        return;
    }
    if (is_reserved) {
        expression_reserved(scan, frame, word);
    } else if (word == MYSQL_WORD_END) {
        scan->at++;
        scan->is_behind_operand = true;
    } else if (!expression_next_value(scan)) {
        expression_name(scan);
    }
}

static void expression_step(struct mysql_scan *scan, struct mysql_frame *frame)
{
    switch ((int)scan->tokens[scan->at].kind) {
    case MYSQL_TOKEN_WORD:
    case MYSQL_TOKEN_QUOTED:
        expression_word(scan, frame);
        return;
    case MYSQL_TOKEN_COMMA:
        if (frame->clause == MYSQL_AT_ON && mysql_from_goes_on(scan, frame)) {
            return;
        }
        scan->is_behind_operand = false;
        break;
    case MYSQL_TOKEN_STAR:
        scan->has_columns = scan->has_columns || !scan->is_behind_operand;
        scan->is_behind_operand = !scan->is_behind_operand;
        break;
    case MYSQL_TOKEN_SYSTEM: /* @@[scope.]name */
        scan->at++;
        while (mysql_kind_at(scan, scan->at + 1) == MYSQL_TOKEN_DOT) {
            scan->at += 2;
        }
        scan->is_behind_operand = true;
        break;
    case MYSQL_TOKEN_OPEN_BRACE: /* {fn now()}, {d '…'} */
        scan->at += mysql_kind_at(scan, scan->at + 1) == MYSQL_TOKEN_WORD ? 1 : 0;
        scan->is_behind_operand = false;
        break;
    case MYSQL_TOKEN_STRING:
    case MYSQL_TOKEN_NUMBER:
    case MYSQL_TOKEN_PARAMETER:
    case MYSQL_TOKEN_VARIABLE:
    case MYSQL_TOKEN_CLOSE_BRACE:
        scan->is_behind_operand = true;
        break;
    case MYSQL_TOKEN_DOT: /* .name */
        scan->is_behind_operand = false;
        break;
    default:
        scan->is_behind_operand = false;
        break;
    }
    scan->at++;
}

/* The machine ---------------------------------------------------------------------------------- */

static void step(struct mysql_scan *scan)
{
    struct mysql_frame *frame = mysql_top(scan);
    uint8_t kind = scan->tokens[scan->at].kind;
    if (kind == MYSQL_TOKEN_OPEN) {
        frame_open(scan);
        return;
    }
    if (kind == MYSQL_TOKEN_CLOSE) {
        frame_close(scan);
        return;
    }
    switch ((enum mysql_clause)frame->clause) {
    case MYSQL_AT_START:
        start_word(scan, frame);
        return;
    case MYSQL_AT_EXPRESSION:
    case MYSQL_AT_ON:
        expression_step(scan, frame);
        return;
    case MYSQL_AT_FROM:
        mysql_from_item(scan, frame);
        return;
    case MYSQL_AT_JOINED:
        mysql_from_joined(scan, frame);
        if (frame->clause == MYSQL_AT_EXPRESSION && scan->at < scan->end && !scan->is_stopped &&
            !clause_word(scan, frame, mysql_word_at(scan, scan->at))) {
            mysql_stop(scan, "a FROM that is not understood");
        }
        return;
    case MYSQL_AT_WITH_NAME:
    case MYSQL_AT_WITH_AS:
    case MYSQL_AT_WITH_BODY:
    case MYSQL_AT_WITH_DONE:
        with_step(scan, frame);
        return;
    }
}

static void run(struct mysql_scan *scan, size_t end)
{
    size_t end_of_all = scan->end;
    scan->end = end;
    scan->is_behind_operand = false;
    while (scan->at < end && !scan->is_stopped && !scan->is_paused) {
        step(scan);
    }
    if (!scan->is_stopped && scan->depth != 1) {
        mysql_unknown(scan, "a parenthesis does not end");
    }
    if (!scan->is_stopped && scan->depth == 1 && mysql_top(scan)->clause == MYSQL_AT_FROM) {
        mysql_unknown(scan, "a FROM that does not end");
    }
    scan->depth = 0;
    scan->at = scan->is_stopped || scan->at > end ? end : scan->at;
    scan->end = end_of_all;
    if (scan->is_stopped && end < end_of_all) {
        scan->at = end;
        mysql_guess(scan);
    }
}

void mysql_run(struct mysql_scan *scan, enum mysql_clause clause, size_t end)
{
    if (scan->is_stopped || scan->at >= end) {
        return;
    }
    bool is_query = clause == MYSQL_AT_FROM || clause == MYSQL_AT_JOINED;
    mysql_push(scan, clause)->is_query = is_query;
    run(scan, end);
}

void mysql_run_query(struct mysql_scan *scan, size_t end)
{
    if (!scan->is_stopped && scan->at < end) {
        (void)mysql_push(scan, MYSQL_AT_START);
        run(scan, end);
    }
}
