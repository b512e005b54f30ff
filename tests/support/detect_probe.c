/* SPDX-License-Identifier: MIT */
/* Finds in each line of its input, "NAME<tab>TEXT" where \n and \\ stand for what they do in C, and
 * prints a line of findings: "TYPE:OFFSET:LEN:SCORE ...". usage: detect_probe [SCORE_MIN] */
#include "base/memory.h"
#include "detect/detect.h"

#include <stdio.h>

enum {
    LINE_SIZE_MAX = 1 << 16,
    FINDINGS_MAX = 64,
};

static size_t unescape(char *text, size_t len)
{
    size_t to = 0;
    for (size_t from = 0; from < len; from++) {
        char byte = text[from];
        if (byte == '\\' && from + 1 < len) {
            byte = text[++from];
            byte = byte == 'n' ? '\n' : byte;
        }
        text[to++] = byte;
    }
    return to;
}

int main(int count, char **arguments)
{
    static char line[LINE_SIZE_MAX];
    struct detect_set set = {0};
    for (size_t i = 0; i < DETECT_TYPE_COUNT; i++) {
        set.is_wanted[i] = true;
        set.score_min[i] = (uint8_t)(count > 1 ? strtoul(arguments[1], NULL, 10) : 60);
    }
    detect_set_prepare(&set);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        struct slice rest, name = slice_cut(slice_of(line, strcspn(line, "\n")), '\t', &rest);
        size_t size = rest.at == NULL ? 0 : unescape(line + name.len + 1, rest.len);
        char *text = size > 0 ? memory_new(size) : NULL; /* nothing lies behind it */
        if (text != NULL) {
            memcpy(text, line + name.len + 1, size);
        }
        struct detect_finding findings[FINDINGS_MAX];
        size_t end, found = detect_scan(&set, detect_context_of(name), slice_of(text, size), 0,
                                        findings, FINDINGS_MAX, &end);
        for (size_t i = 0; i < found; i++) {
            printf("%s%s:%zu:%zu:%u", i > 0 ? " " : "", detect_type_word(findings[i].type),
                   findings[i].offset, findings[i].len, findings[i].score);
        }
        printf("\n");
        memory_free(text);
    }
    return 0;
}
