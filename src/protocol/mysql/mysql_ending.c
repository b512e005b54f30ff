/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_ending.h"

#include "base/memory.h"
#include "base/text.h"
#include "wire/mysqlwire_frame.h"

#define WORDS_SIZE_MAX  400 /* of a message and of a hint: clients keep 512 bytes of both */
#define ANSWER_SIZE_MAX 4096

uint16_t mysql_ending_number(const struct ending_words *words)
{
    static const uint16_t numbers[] = {
        [ENDING_IDENTITY] = MYSQL_ERROR_ACCESS,
        [ENDING_ACCESS] = MYSQL_ERROR_ACCESS,
        [ENDING_METADATA] = MYSQL_ERROR_HANDSHAKE,
        [ENDING_CONNECTION] = MYSQL_ERROR_UNKNOWN,
        [ENDING_TARGET] = 1927,   /* ER_CONNECTION_KILLED */
        [ENDING_BUSY] = 1040,     /* ER_CON_COUNT_ERROR */
        [ENDING_STOPPING] = 1053, /* ER_SERVER_SHUTDOWN */
        [ENDING_KILLED] = 1927,
        [ENDING_RECORDING] = 1026, /* ER_ERROR_ON_WRITE */
        [ENDING_PROTOCOL] = 1835,  /* ER_MALFORMED_PACKET */
        [ENDING_UNAVAILABLE] = MYSQL_ERROR_UNKNOWN,
    };
    uint64_t number = 0;
    if (words->code.len > 0 && text_parse_u64(words->code, &number) == ERR_NONE && number > 0 &&
        number <= UINT16_MAX) {
        return (uint16_t)number;
    }
    return numbers[words->why];
}

struct slice mysql_state_of(uint16_t number)
{
    static const struct {
        uint16_t number;
        const char *state;
    } states[] = {
        {1040, "08004"}, {1043, "08S01"}, {1044, "42000"}, {1045, "28000"},
        {1047, "08S01"}, {1049, "42000"}, {1053, "08S01"}, {1094, "HY000"},
        {1227, "42000"}, {1235, "42000"}, {1317, "70100"}, {1927, "70100"},
    };
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (states[i].number == number) {
            return slice_of_text(states[i].state);
        }
    }
    return SLICE("HY000");
}

enum err mysql_ending_write(uint16_t number, uint8_t sequence, const struct ending_words *words,
                            struct buf *buf)
{
    struct buf text;
    buf_init(&text, 4 * WORDS_SIZE_MAX);
    struct writer writer = writer_to(&text);
    writer_bytes(&writer, slice_sub(words->message, 0, WORDS_SIZE_MAX));
    if (words->hint.len > 0) {
        writer_bytes(&writer, SLICE(". "));
        writer_bytes(&writer, slice_sub(words->hint, 0, WORDS_SIZE_MAX));
    }
    const struct mysqlwire_error error = {
        .number = number, .state = mysql_state_of(number), .message = buf_view(&text)};
    enum err err = mysqlwire_error_write(buf, sequence, &error);
    buf_release(&text);
    return err;
}

bool mysql_answer_read(struct slice answer, struct ending_words *ret_words)
{
    struct mysqlwire_error error;
    struct slice body;
    uint8_t sequence = 0;
    size_t taken = 0;
    if (mysqlwire_packet_read(answer, ANSWER_SIZE_MAX, &taken, &sequence, &body, NULL) !=
            ERR_NONE ||
        taken != answer.len || mysqlwire_error_read(body, &error, NULL) != ERR_NONE) {
        return false;
    }
    *ret_words = (struct ending_words){
        .why = ENDING_TARGET, .code = SLICE(""), .message = error.message, .hint = SLICE("")};
    return true;
}

enum err mysql_answer_write(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                            struct buf *buf)
{
    uint16_t number = mysql_ending_number(words);
    (void)snprintf(code, TARGET_CODE_SIZE, "%05u", number);
    return mysql_ending_write(number, 0, words, buf);
}

enum err mysql_arrival_check(const struct arrival *arrival, struct error *reterr)
{
    struct mysqlwire_ok ok;
    if (arrival->rest.len > 0 || arrival->greeting.len > LIMIT_GREETING_SIZE) {
        return fail(reterr, ERR_LIMIT, "the target says too much at the start");
    }
    return mysqlwire_ok_read(arrival->greeting, arrival->version, &ok, reterr);
}

const char *mysql_words_for(uint8_t command)
{
    switch (command) {
    case MYSQLWIRE_CHANGE_USER:
        return "the user of a session through the gateway cannot be changed (COM_CHANGE_USER): "
               "connect anew with the other credential, or turn the reset of pooled connections to "
               "COM_RESET_CONNECTION";
    case MYSQLWIRE_BINLOG_DUMP:
    case MYSQLWIRE_BINLOG_DUMP_GTID:
    case MYSQLWIRE_TABLE_DUMP:
    case MYSQLWIRE_REGISTER_SLAVE:
    case MYSQLWIRE_GROUP_STREAM:
        return "replication does not go through this gateway";
    case MYSQLWIRE_CLONE:
        return "servers are not cloned through this gateway";
    default:
        return "the gateway does not serve this command of the protocol";
    }
}
