/* SPDX-License-Identifier: MIT */
/* Whatever is in a value that --param puts into a script, the script has as many statements as with
 * a plain one, as the databases' own rules cut it. */
#include "fuzz.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "client/parameters.h"
#include "sql/sql.h"

static enum err put(struct slice value, bool is_mysql, struct slice script, struct buf *out)
{
    const struct client_parameter item = {.name = SLICE("a"), .value = value};
    const struct client_parameters parameters = {.items = &item, .count = 1, .is_mysql = is_mysql};
    struct error error;
    return client_parameters_put(&parameters, script, out, &error);
}

/* SIZE_MAX: it cannot be cut. */
static size_t statements(const struct buf *text, bool is_mysql)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    const struct sql_settings settings = {.dialect = is_mysql ? SQL_MYSQL : SQL_POSTGRES,
                                          .database = SLICE("")};
    const struct sql_script script = sql_analyze(&arena, &settings, buf_view(text));
    return script.is_cut ? script.count : SIZE_MAX;
}

static void check(struct slice script, bool is_mysql)
{
    static const struct slice values[] = {SLICE("'; drop table t; --"), SLICE("\\'; drop t; -- \\"),
                                          SLICE("\"; x; `; y; /* $$ "), SLICE("")};
    struct buf plain CLEANUP(buf_release);
    buf_init(&plain, LIMIT_MIB(1));
    if (put(SLICE("x"), is_mysql, script, &plain) != ERR_NONE) {
        return;
    }
    size_t wanted = statements(&plain, is_mysql);
    for (size_t i = 0; wanted != SIZE_MAX && i < COUNT_OF(values); i++) {
        struct buf buf CLEANUP(buf_release);
        buf_init(&buf, LIMIT_MIB(1));
        enum err err = put(values[i], is_mysql, script, &buf);
        must(err == ERR_NONE || err == ERR_INPUT); /* it cannot name anything */
        must(err != ERR_NONE || statements(&buf, is_mysql) == wanted);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice script = slice_of(bytes, size < 4096 ? size : 4096);
    if (text_is_utf8(script)) { /* others are refused before */
        check(script, false);
        check(script, true);
    }
    return 0;
}
