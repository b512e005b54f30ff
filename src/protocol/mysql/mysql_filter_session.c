/* SPDX-License-Identifier: MIT */
/* How the session reads a text: asked of the target, since what changes it can be a procedure, a
 * prepared statement or the server's own start. */
#include "base/must.h"
#include "protocol/mysql/mysql_filter_internal.h"
#include "wire/mysqlwire_value.h"

/* Questions have a limit of their own: without one the session's sql_select_limit would be theirs.
 */
#define QUESTION  "SELECT @@sql_mode, @@character_set_client, DATABASE() LIMIT 1"
#define READ_ONLY "SET SESSION TRANSACTION READ ONLY"
/* The setting's name differs: MySQL's servers have the one, and MariaDB's take it for a comment. */
#define AS_BEFORE                                                                                  \
    "SET SESSION /*!50720 transaction_read_only = DEFAULT */ /*M! tx_read_only = DEFAULT */"
#define AGE_US 1000000 /* of what is known of views, which others make */

bool filter_settings(const struct mysql_filter *filter, struct sql_settings *ret_settings)
{
    const struct filter_session *session = &filter->session;
    *ret_settings = (struct sql_settings){
        .dialect = SQL_MYSQL,
        .is_backslash_quoted = session->is_backslash_quoted,
        .is_ansi_quoted = session->is_ansi_quoted,
        .charset = session->charset,
        .database = session->database.len > 0 ? buf_view(&session->database) : SLICE(""),
    };
    return session->is_known && session->is_settled;
}

/* Names of settings cannot be written otherwise. */
static bool names_setting(struct slice text)
{
    static const struct slice parts[] = {SLICE_INIT("mode"), SLICE_INIT("names"),
                                         SLICE_INIT("char"), SLICE_INIT("use")};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (slice_has_nocase(text, parts[i])) {
            return true;
        }
    }
    return false;
}

bool filter_changes_session(struct slice text, const struct guard_facts *facts)
{
    const uint64_t runs_others = SQL_BIT(SQL_CALL) | SQL_BIT(SQL_EXECUTE);
    const uint64_t may_leave = SQL_BIT(SQL_DROP) | SQL_BIT(SQL_ALTER);
    bool is_setting = (facts->operations & SQL_BIT(SQL_SET)) != 0 && names_setting(text);
    bool leaves =
        (facts->operations & may_leave) != 0 &&
        (slice_has_nocase(text, SLICE("database")) || slice_has_nocase(text, SLICE("schema")));
    return facts->is_unknown || is_setting || leaves || (facts->operations & runs_others) != 0;
}

/* The question --------------------------------------------------------------------------------- */

struct slice mysql_filter_question(const struct mysql_filter *filter)
{
    const struct slice texts[] = {
        [FILTER_ASK_SESSION] = SLICE(QUESTION),     [FILTER_ASK_VIEWS] = mysql_views_question(),
        [FILTER_ASK_VIEW] = filter->views.question, [FILTER_ASK_READ_ONLY] = SLICE(READ_ONLY),
        [FILTER_ASK_WRITABLE] = SLICE(AS_BEFORE),
    };
    return texts[filter->wants];
}

bool filter_knows_views(const struct mysql_filter *filter)
{
    const struct mysql_views *views = &filter->views;
    if (filter->has_new_views) {
        return true;
    }
    return views->asked_at_us != 0 && filter->events->on_stamp != NULL &&
           filter->events->on_stamp(filter->owner).at_us - views->asked_at_us < AGE_US;
}

static void on_row(void *owner, struct slice row);

void mysql_filter_ask(struct mysql_filter *filter)
{
    struct filter_question *question = &filter->question;
    question->about = filter->wants;
    mysql_aside_ask(&question->aside, MYSQLWIRE_QUERY, on_row, filter);
    if (question->about == FILTER_ASK_VIEWS) {
        mysql_views_clear(&filter->views);
        filter->views.asked_at_us =
            filter->events->on_stamp == NULL ? 0 : filter->events->on_stamp(filter->owner).at_us;
    } else if (question->about == FILTER_ASK_SESSION) {
        question->has_row = false;
        filter->session.is_known = true; /* as soon as it is answered, however */
        filter->session.is_settled = false;
        buf_clear(&filter->session.database);
    }
}

bool mysql_filter_is_asking(const struct mysql_filter *filter)
{
    return filter->question.aside.is_asked;
}

static bool is_one_of(struct slice name, const struct slice *names, size_t count)
{
    bool is_there = false;
    for (size_t i = 0; i < count && !is_there; i++) {
        is_there = slice_equals_nocase(name, names[i]);
    }
    return is_there;
}

/* False: it is not known which bytes are quotes in it. */
static bool read_charset(struct slice name, enum sql_charset *ret_charset)
{
    static const struct slice hiding[] = {
        SLICE_INIT("gbk"),   SLICE_INIT("sjis"),    SLICE_INIT("big5"),
        SLICE_INIT("cp932"), SLICE_INIT("gb18030"), SLICE_INIT("gb2312"),
        SLICE_INIT("euckr"), SLICE_INIT("ujis"),    SLICE_INIT("eucjpms")};
    static const struct slice single[] = {
        SLICE_INIT("latin1"),  SLICE_INIT("latin2"),   SLICE_INIT("latin5"),  SLICE_INIT("latin7"),
        SLICE_INIT("ascii"),   SLICE_INIT("binary"),   SLICE_INIT("cp850"),   SLICE_INIT("cp852"),
        SLICE_INIT("cp866"),   SLICE_INIT("cp1250"),   SLICE_INIT("cp1251"),  SLICE_INIT("cp1256"),
        SLICE_INIT("cp1257"),  SLICE_INIT("koi8r"),    SLICE_INIT("koi8u"),   SLICE_INIT("greek"),
        SLICE_INIT("hebrew"),  SLICE_INIT("macroman"), SLICE_INIT("macce"),   SLICE_INIT("tis620"),
        SLICE_INIT("keybcs2"), SLICE_INIT("armscii8"), SLICE_INIT("geostd8"), SLICE_INIT("hp8"),
        SLICE_INIT("dec8")};
    static const struct slice utf8[] = {SLICE_INIT("utf8mb4"), SLICE_INIT("utf8mb3"),
                                        SLICE_INIT("utf8")};
    *ret_charset = SQL_CHARSET_UTF8;
    if (is_one_of(name, utf8, sizeof(utf8) / sizeof(utf8[0]))) {
        return true;
    }
    *ret_charset = SQL_CHARSET_SINGLE;
    if (is_one_of(name, single, sizeof(single) / sizeof(single[0]))) {
        return true;
    }
    *ret_charset = SQL_CHARSET_HIDING;
    return is_one_of(name, hiding, sizeof(hiding) / sizeof(hiding[0]));
}

static bool mode_has(struct slice modes, struct slice wanted)
{
    while (modes.len > 0) {
        if (slice_equals_nocase(slice_cut(modes, ',', &modes), wanted)) {
            return true;
        }
    }
    return false;
}

static void read_row(struct mysql_filter *filter, struct slice body)
{
    struct filter_session *session = &filter->session;
    struct reader reader = reader_of(body);
    struct slice modes = mysqlwire_text_value_read(&reader);
    struct slice charset = mysqlwire_text_value_read(&reader);
    struct slice database = mysqlwire_text_value_read(&reader);
    if (reader.failed || modes.at == NULL || charset.at == NULL || filter->question.has_row) {
        session->is_settled = false;
        return;
    }
    filter->question.has_row = true;
    session->is_backslash_quoted = !mode_has(modes, SLICE("NO_BACKSLASH_ESCAPES"));
    session->is_ansi_quoted = mode_has(modes, SLICE("ANSI_QUOTES"));
    /* Other grammars of MariaDB's. */
    bool is_foreign = mode_has(modes, SLICE("ORACLE")) || mode_has(modes, SLICE("MSSQL"));
    session->is_settled = read_charset(charset, &session->charset) && !is_foreign;
    for (size_t i = 0; i < database.len; i++) { /* as names are compared */
        char byte = database.at[i];
        char lower = (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
        if (buf_append(&session->database, slice_of(&lower, 1)) != ERR_NONE) {
            session->is_settled = false;
        }
    }
}

static void on_row(void *owner, struct slice row)
{
    struct mysql_filter *filter = owner;
    if (filter->question.about == FILTER_ASK_VIEWS) {
        mysql_views_take_name(&filter->views, row);
    } else if (filter->question.about == FILTER_ASK_VIEW) {
        mysql_views_take_part(&filter->views, row);
    } else {
        read_row(filter, row);
    }
}

static void take_answer(struct mysql_filter *filter)
{
    struct filter_question *question = &filter->question;
    if (question->about == FILTER_ASK_VIEWS) {
        filter->views.is_known = !question->aside.has_failed;
        filter->has_new_views = true;
    } else if (question->about == FILTER_ASK_VIEW) {
        filter->has_new_views = true; /* however long it took */
    } else if (question->about != FILTER_ASK_SESSION) {
        filter_read_only_answered(filter, question->about, question->aside.has_failed);
    }
}

enum err mysql_filter_take(struct mysql_filter *filter, struct slice *bytes, struct error *reterr)
{
    struct mysql_aside *aside = &filter->question.aside;
    enum err err = mysql_aside_take(aside, bytes, reterr);
    if (err == ERR_NONE && !aside->is_asked) {
        take_answer(filter);
        if (filter->read_only.has_failed && filter->read_only.is_held) {
            err = fail(reterr, ERR_INPUT, "the target does not keep the session read only");
        }
    }
    return err;
}
