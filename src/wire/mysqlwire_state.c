/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_state.h"

#define MYSQLWIRE_NUMBER_MAX ((UINT64_C(1) << 56) - 1) /* nobody sends so many commands */
/* What begins as EOF and has as much is none, where EOF is not deprecated. */
#define EOF_SIZE_MAX 9

static const unsigned char answers_by_command[] = {
    [MYSQLWIRE_QUIT] = MYSQLWIRE_SILENT,
    [MYSQLWIRE_INIT_DB] = MYSQLWIRE_SIMPLE,
    [MYSQLWIRE_QUERY] = MYSQLWIRE_RESULTS,
    [MYSQLWIRE_FIELD_LIST] = MYSQLWIRE_COLUMNS,
    [MYSQLWIRE_CREATE_DB] = MYSQLWIRE_SIMPLE,
    [MYSQLWIRE_DROP_DB] = MYSQLWIRE_SIMPLE,
    [MYSQLWIRE_REFRESH] = MYSQLWIRE_SIMPLE,
    [MYSQLWIRE_SHUTDOWN] = MYSQLWIRE_SIMPLE,
    [MYSQLWIRE_STATISTICS] = MYSQLWIRE_TEXT,
    [MYSQLWIRE_PROCESS_INFO] = MYSQLWIRE_RESULTS,
    [MYSQLWIRE_PROCESS_KILL] = MYSQLWIRE_SIMPLE,
    [MYSQLWIRE_DEBUG] = MYSQLWIRE_SIMPLE,
    [MYSQLWIRE_PING] = MYSQLWIRE_SIMPLE,
    [MYSQLWIRE_STMT_PREPARE] = MYSQLWIRE_STATEMENT,
    [MYSQLWIRE_STMT_EXECUTE] = MYSQLWIRE_BINARY_RESULTS,
    [MYSQLWIRE_STMT_SEND_LONG_DATA] = MYSQLWIRE_SILENT,
    [MYSQLWIRE_STMT_CLOSE] = MYSQLWIRE_SILENT,
    [MYSQLWIRE_STMT_RESET] = MYSQLWIRE_SIMPLE,
    [MYSQLWIRE_SET_OPTION] = MYSQLWIRE_SIMPLE,
    [MYSQLWIRE_STMT_FETCH] = MYSQLWIRE_ROWS,
    [MYSQLWIRE_RESET_CONNECTION] = MYSQLWIRE_SIMPLE,
};

enum mysqlwire_answers mysqlwire_answers_of(uint8_t command)
{
    return command < sizeof(answers_by_command) ? answers_by_command[command]
                                                : MYSQLWIRE_NOT_SERVED;
}

void mysqlwire_state_init(struct mysqlwire_state *state, uint32_t capabilities, uint16_t status)
{
    *state = (struct mysqlwire_state){.capabilities = capabilities, .status = status};
}

const struct mysqlwire_request *mysqlwire_state_current(const struct mysqlwire_state *state)
{
    return state->count == 0 ? NULL : &state->owed[state->first];
}

/* The client ----------------------------------------------------------------------------------- */

enum err mysqlwire_state_command(struct mysqlwire_state *state, uint8_t command,
                                 uint64_t *ret_number, struct error *reterr)
{
    enum mysqlwire_answers answers = mysqlwire_answers_of(command);
    if (answers == MYSQLWIRE_NOT_SERVED || state->has_quit) {
        return fail(reterr, ERR_INPUT, "the client's command %u is not served", command);
    }
    if (state->count == LIMIT_MYSQLWIRE_OWED) {
        return fail(reterr, ERR_LIMIT, "the client does not wait for answers");
    }
    *ret_number = ++state->last_number;
    state->has_quit = command == MYSQLWIRE_QUIT;
    if (answers != MYSQLWIRE_SILENT) {
        size_t place = (state->first + state->count) % LIMIT_MYSQLWIRE_OWED;
        state->owed[place] = (struct mysqlwire_request){
            .command = command, .number = *ret_number & MYSQLWIRE_NUMBER_MAX};
        state->count++;
    }
    return ERR_NONE;
}

void mysqlwire_state_file_sent(struct mysqlwire_state *state)
{
    state->client_sends_file = false;
}

/* The server ----------------------------------------------------------------------------------- */

static bool state_has(const struct mysqlwire_state *state, uint32_t capability)
{
    return (state->capabilities & capability) != 0;
}

static bool state_is_end(const struct mysqlwire_state *state, uint32_t size, uint8_t first)
{
    uint32_t most = state_has(state, MYSQLWIRE_DEPRECATE_EOF) ? MYSQLWIRE_PIECE_MAX : EOF_SIZE_MAX;
    return first == MYSQLWIRE_FIRST_EOF && size < most;
}

static enum mysqlwire_kind state_end_kind(const struct mysqlwire_state *state)
{
    return state_has(state, MYSQLWIRE_DEPRECATE_EOF) ? MYSQLWIRE_KIND_OK : MYSQLWIRE_KIND_EOF;
}

static enum err state_unexpected(const struct mysqlwire_state *state, uint8_t first,
                                 struct error *reterr)
{
    const struct mysqlwire_request *request = mysqlwire_state_current(state);
    return fail(reterr, ERR_INPUT, "the target's packet (%u) answers nothing (command %u)", first,
                request == NULL ? 0U : request->command);
}

/* The first packet of an answer, or of one of several results. */
static enum err state_begin_first(const struct mysqlwire_state *state, uint8_t first,
                                  enum mysqlwire_kind *ret_kind, struct error *reterr)
{
    uint8_t command = mysqlwire_state_current(state)->command;
    switch (mysqlwire_answers_of(command)) {
    case MYSQLWIRE_SIMPLE:
        *ret_kind = MYSQLWIRE_KIND_OK;
        return first == MYSQLWIRE_FIRST_OK ? ERR_NONE : state_unexpected(state, first, reterr);
    case MYSQLWIRE_RESULTS:
    case MYSQLWIRE_BINARY_RESULTS:
        if (first == MYSQLWIRE_FIRST_OK) {
            *ret_kind = MYSQLWIRE_KIND_OK;
        } else if (first == MYSQLWIRE_FIRST_INFILE && command == MYSQLWIRE_QUERY &&
                   state_has(state, MYSQLWIRE_LOCAL_FILES)) {
            *ret_kind = MYSQLWIRE_KIND_INFILE;
        } else {
            *ret_kind = MYSQLWIRE_KIND_COLUMN_COUNT;
        }
        return ERR_NONE;
    case MYSQLWIRE_ROWS:
        *ret_kind = MYSQLWIRE_KIND_BINARY_ROW;
        return first == MYSQLWIRE_FIRST_OK ? ERR_NONE : state_unexpected(state, first, reterr);
    case MYSQLWIRE_COLUMNS:
        *ret_kind = MYSQLWIRE_KIND_COLUMN;
        return ERR_NONE;
    case MYSQLWIRE_STATEMENT:
        *ret_kind = MYSQLWIRE_KIND_PREPARED;
        return first == MYSQLWIRE_FIRST_OK ? ERR_NONE : state_unexpected(state, first, reterr);
    case MYSQLWIRE_TEXT:
        *ret_kind = MYSQLWIRE_KIND_TEXT;
        return ERR_NONE;
    case MYSQLWIRE_NOT_SERVED:
    case MYSQLWIRE_SILENT:
        break;
    }
    return state_unexpected(state, first, reterr);
}

static bool state_is_binary(const struct mysqlwire_state *state)
{
    uint8_t command = mysqlwire_state_current(state)->command;
    return mysqlwire_answers_of(command) == MYSQLWIRE_BINARY_RESULTS;
}

static enum err state_begin_row(const struct mysqlwire_state *state, uint8_t first,
                                enum mysqlwire_kind *ret_kind, struct error *reterr)
{
    bool is_binary = state_is_binary(state);
    *ret_kind = is_binary ? MYSQLWIRE_KIND_BINARY_ROW : MYSQLWIRE_KIND_TEXT_ROW;
    return is_binary && first != MYSQLWIRE_FIRST_OK ? state_unexpected(state, first, reterr)
                                                    : ERR_NONE;
}

static enum err state_begin_phase(const struct mysqlwire_state *state, bool is_end, uint8_t first,
                                  enum mysqlwire_kind *ret_kind, struct error *reterr)
{
    bool is_statement =
        mysqlwire_answers_of(mysqlwire_state_current(state)->command) == MYSQLWIRE_STATEMENT;
    switch (state->phase) {
    case MYSQLWIRE_AT_FIRST:
        *ret_kind = state_end_kind(state);
        return is_end ? ERR_NONE : state_begin_first(state, first, ret_kind, reterr);
    case MYSQLWIRE_AT_PARAMETERS:
    case MYSQLWIRE_AT_COLUMNS:
        *ret_kind = is_statement ? MYSQLWIRE_KIND_DESCRIBED : MYSQLWIRE_KIND_COLUMN;
        return is_end ? state_unexpected(state, first, reterr) : ERR_NONE;
    case MYSQLWIRE_AT_PARAMETERS_END:
    case MYSQLWIRE_AT_COLUMNS_END:
        *ret_kind = MYSQLWIRE_KIND_BETWEEN;
        return is_end ? ERR_NONE : state_unexpected(state, first, reterr);
    case MYSQLWIRE_AT_ROWS:
        *ret_kind = state_end_kind(state);
        return is_end ? ERR_NONE : state_begin_row(state, first, ret_kind, reterr);
    case MYSQLWIRE_AT_FILE_END:
        *ret_kind = MYSQLWIRE_KIND_OK;
        return first == MYSQLWIRE_FIRST_OK ? ERR_NONE : state_unexpected(state, first, reterr);
    }
    return ERR_INTERNAL;
}

enum err mysqlwire_state_begin(const struct mysqlwire_state *state, uint32_t size, uint8_t first,
                               enum mysqlwire_kind *ret_kind, uint64_t *ret_number,
                               struct error *reterr)
{
    const struct mysqlwire_request *request = mysqlwire_state_current(state);
    *ret_number = request == NULL ? MYSQLWIRE_NOBODY : request->number;
    if (size > 0 && first == MYSQLWIRE_FIRST_ERROR) {
        *ret_kind = MYSQLWIRE_KIND_ERROR;
        return ERR_NONE; /* also without being asked: it goes */
    }
    if (request == NULL || size == 0) {
        return state_unexpected(state, first, reterr);
    }
    return state_begin_phase(state, state_is_end(state, size, first), first, ret_kind, reterr);
}

bool mysqlwire_state_is_row(const struct mysqlwire_state *state, struct slice body,
                            enum mysqlwire_kind *ret_kind)
{
    uint8_t first = body.len > 0 ? (uint8_t)body.at[0] : MYSQLWIRE_FIRST_ERROR;
    return state->phase == MYSQLWIRE_AT_ROWS && first != MYSQLWIRE_FIRST_ERROR &&
           !state_is_end(state, (uint32_t)body.len, first) &&
           state_begin_row(state, first, ret_kind, NULL) == ERR_NONE;
}

bool mysqlwire_kind_decides(enum mysqlwire_kind kind)
{
    switch (kind) {
    case MYSQLWIRE_KIND_OK:
    case MYSQLWIRE_KIND_EOF:
    case MYSQLWIRE_KIND_BETWEEN:
    case MYSQLWIRE_KIND_COLUMN_COUNT:
    case MYSQLWIRE_KIND_PREPARED:
    case MYSQLWIRE_KIND_INFILE:
        return true;
    case MYSQLWIRE_KIND_ERROR:
    case MYSQLWIRE_KIND_COLUMN:
    case MYSQLWIRE_KIND_DESCRIBED:
    case MYSQLWIRE_KIND_TEXT_ROW:
    case MYSQLWIRE_KIND_BINARY_ROW:
    case MYSQLWIRE_KIND_TEXT:
        return false;
    }
    return false;
}

static void state_pop(struct mysqlwire_state *state)
{
    state->phase = MYSQLWIRE_AT_FIRST;
    if (state->count > 0) {
        state->first = (state->first + 1) % LIMIT_MYSQLWIRE_OWED;
        state->count--;
    }
}

/* Columns, then what comes behind them; of a prepared statement nothing does. */
static void state_go_to_columns(struct mysqlwire_state *state)
{
    if (state->columns_left > 0) {
        state->phase = MYSQLWIRE_AT_COLUMNS;
    } else {
        state_pop(state);
    }
}

static void state_leave_columns(struct mysqlwire_state *state)
{
    bool is_statement =
        mysqlwire_answers_of(mysqlwire_state_current(state)->command) == MYSQLWIRE_STATEMENT;
    if (!state_has(state, MYSQLWIRE_DEPRECATE_EOF)) {
        state->phase = MYSQLWIRE_AT_COLUMNS_END;
    } else if (is_statement) {
        state_pop(state);
    } else {
        state->phase = MYSQLWIRE_AT_ROWS;
    }
}

static void state_end_described(struct mysqlwire_state *state)
{
    if (state->phase == MYSQLWIRE_AT_PARAMETERS) {
        if (--state->parameters_left > 0) {
            return;
        }
        if (state_has(state, MYSQLWIRE_DEPRECATE_EOF)) {
            state_go_to_columns(state);
        } else {
            state->phase = MYSQLWIRE_AT_PARAMETERS_END;
        }
    } else if (state->phase == MYSQLWIRE_AT_COLUMNS && --state->columns_left == 0) {
        state_leave_columns(state);
    }
}

/* A result is over; another may follow. */
static void state_end_result(struct mysqlwire_state *state)
{
    if ((state->status & MYSQLWIRE_STATUS_MORE_RESULTS) != 0 &&
        mysqlwire_state_current(state) != NULL) {
        state->phase = MYSQLWIRE_AT_FIRST;
    } else {
        state_pop(state);
    }
}

/* EOF behind parameters or columns. Of a cursor that was opened nothing comes behind them. */
static void state_end_between(struct mysqlwire_state *state)
{
    bool is_cursor =
        state_is_binary(state) && (state->status & MYSQLWIRE_STATUS_CURSOR_EXISTS) != 0;
    if (state->phase == MYSQLWIRE_AT_PARAMETERS_END) {
        state_go_to_columns(state);
    } else if (mysqlwire_answers_of(mysqlwire_state_current(state)->command) ==
               MYSQLWIRE_STATEMENT) {
        state_pop(state);
    } else if (is_cursor) {
        state_end_result(state);
    } else {
        state->phase = MYSQLWIRE_AT_ROWS;
    }
}

static enum err state_end_ok(struct mysqlwire_state *state, enum mysqlwire_kind kind,
                             struct slice body, struct error *reterr)
{
    struct mysqlwire_ok ok;
    enum err err = mysqlwire_ok_read(body, state->capabilities, &ok, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    state->status = ok.status;
    if (kind == MYSQLWIRE_KIND_BETWEEN) {
        state_end_between(state);
    } else {
        state_end_result(state);
    }
    return ERR_NONE;
}

static enum err state_end_prepared(struct mysqlwire_state *state, struct slice body,
                                   struct error *reterr)
{
    struct mysqlwire_prepared prepared;
    enum err err = mysqlwire_prepared_read(body, &prepared, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    state->parameters_left = prepared.parameter_count;
    state->columns_left = prepared.column_count;
    if (state->parameters_left > 0) {
        state->phase = MYSQLWIRE_AT_PARAMETERS;
    } else {
        state_go_to_columns(state);
    }
    return ERR_NONE;
}

static enum err state_end_column_count(struct mysqlwire_state *state, struct slice body,
                                       struct error *reterr)
{
    uint64_t count = 0;
    enum err err = mysqlwire_column_count_read(body, &count, reterr);
    if (err == ERR_NONE) {
        state->columns_left = (uint32_t)count;
        state->phase = MYSQLWIRE_AT_COLUMNS;
    }
    return err;
}

/* What the client sent behind its statement would be read as the file. */
static enum err state_end_infile(struct mysqlwire_state *state, struct slice body,
                                 struct error *reterr)
{
    struct slice name;
    enum err err = mysqlwire_infile_read(body, &name, reterr);
    if (err == ERR_NONE && (state->count > 1 || state->has_quit)) {
        err = fail(reterr, ERR_INPUT, "the client goes on before the file that it was asked for");
    }
    if (err == ERR_NONE) {
        state->client_sends_file = true;
        state->phase = MYSQLWIRE_AT_FILE_END;
    }
    return err;
}

enum err mysqlwire_state_end(struct mysqlwire_state *state, enum mysqlwire_kind kind,
                             struct slice body, bool *ret_is_last, struct error *reterr)
{
    size_t before = state->count;
    enum err err = ERR_NONE;
    switch (kind) {
    case MYSQLWIRE_KIND_OK:
    case MYSQLWIRE_KIND_EOF:
    case MYSQLWIRE_KIND_BETWEEN:
        err = state_end_ok(state, kind, body, reterr);
        break;
    case MYSQLWIRE_KIND_ERROR:
    case MYSQLWIRE_KIND_TEXT:
        state_pop(state);
        break;
    case MYSQLWIRE_KIND_COLUMN_COUNT:
        err = state_end_column_count(state, body, reterr);
        break;
    case MYSQLWIRE_KIND_PREPARED:
        err = state_end_prepared(state, body, reterr);
        break;
    case MYSQLWIRE_KIND_COLUMN:
    case MYSQLWIRE_KIND_DESCRIBED:
        state_end_described(state);
        break;
    case MYSQLWIRE_KIND_INFILE:
        err = state_end_infile(state, body, reterr);
        break;
    case MYSQLWIRE_KIND_TEXT_ROW:
    case MYSQLWIRE_KIND_BINARY_ROW:
        break;
    }
    *ret_is_last = state->count < before;
    return err;
}
