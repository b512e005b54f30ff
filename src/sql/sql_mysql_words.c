/* SPDX-License-Identifier: MIT */
#include "sql/sql_mysql_words.h"

#include "base/memory.h"

struct mysql_word_row {
    struct slice text;
    bool is_reserved;
};

static const struct mysql_word_row word_rows[] = {[MYSQL_NO_WORD] = {.text = SLICE_INIT("")},
#define MYSQL_WORD(name, spelled, reserved)                                                        \
    [MYSQL_WORD_##name] = {.text = SLICE_INIT(spelled), .is_reserved = (reserved)},
                                                  MYSQL_WORDS(MYSQL_WORD)
#undef MYSQL_WORD
};

enum mysql_word mysql_word_find(struct slice lower)
{
    size_t low = 1;
    size_t high = COUNT_OF(word_rows);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = slice_compare(lower, word_rows[middle].text);
        if (order == 0) {
            return (enum mysql_word)middle;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return MYSQL_NO_WORD;
}

bool mysql_word_is_reserved(enum mysql_word word)
{
    return word_rows[word].is_reserved;
}
