/* SPDX-License-Identifier: MIT */
/* 64 bytes of text as bits by class: bit n is byte n. The first stage of the scan. */
#ifndef GH_DETECT_DETECT_BLOCK_H
#define GH_DETECT_DETECT_BLOCK_H

#include <stdint.h>

#define DETECT_BLOCK_SIZE 64

struct detect_block {
    uint64_t digit;
    uint64_t letter; /* a-z, A-Z */
    uint64_t
        number;     /* digits, and what stands between those of a number: ( ) + - . / _ and space */
    uint64_t token; /* letters, digits, - and _ */
    uint64_t dash;
    uint64_t sign; /* @ : = */
    uint64_t w;    /* w, W */
};

/* The same for the sieve, as far as it may do with less. */
struct detect_marks {
    uint64_t digit;
    uint64_t letter;
    uint64_t number;
    uint64_t delimiter;
    uint64_t odd;     /* one of the three */
    uint64_t opening; /* ( < [ { " and all up to the space */
    uint64_t escape;  /* % & \ and what is not ASCII */
};

/* Reads DETECT_BLOCK_SIZE bytes. */
void detect_block_read(const char *at, struct detect_block *ret_block);
void detect_block_mark(const char *at, char delimiter, const char odd[3],
                       struct detect_marks *ret_marks);
/* Of those bytes, where % & \ and what is not ASCII are. */
uint64_t detect_block_escapes(const char *at);
/* The same on any machine, slower. */
void detect_block_read_any(const char *at, struct detect_block *ret_block);
void detect_block_mark_any(const char *at, char delimiter, const char odd[3],
                           struct detect_marks *ret_marks);
uint64_t detect_block_escapes_any(const char *at);

#endif
