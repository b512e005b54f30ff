/* SPDX-License-Identifier: MIT */
#include "io/fault.h"

#include <errno.h>

#define FAULT_SHORT_MAX 7

/* An errno to fail with, or 0 and the number of bytes that may move. */
struct verdict {
    int error_number;
    size_t size_max;
};

static enum err parse_number(struct slice text, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned)(unsigned char)text.at[i] - '0';
        if (digit > 9 || number > (UINT64_MAX - digit) / 10) {
            return ERR_INPUT;
        }
        number = number * 10 + digit;
    }
    *ret_number = number;
    return text.len == 0 ? ERR_INPUT : ERR_NONE;
}

static enum err parse_word(struct slice word, struct fault *fault)
{
    struct slice number;
    struct slice name = slice_cut(word, ':', &number);
    if (slice_equals(name, SLICE("fail"))) {
        return parse_number(number, &fault->fail_at);
    }
    if (slice_equals(name, SLICE("seed"))) {
        return parse_number(number, &fault->seed);
    }
    if (slice_equals(word, SLICE("short"))) {
        fault->is_short = true;
        return ERR_NONE;
    }
    if (slice_equals(word, SLICE("again"))) {
        fault->is_again = true;
        return ERR_NONE;
    }
    return ERR_INPUT;
}

enum err fault_parse(struct slice text, struct fault *ret_fault, struct error *error)
{
    struct fault fault = {.is_short = false};
    struct slice rest = text;
    do {
        struct slice word = slice_cut(rest, ',', &rest);
        enum err err = parse_word(word, &fault);
        if (err != ERR_NONE) {
            return fail(error, err, "fault '%.*s' is none of short, again, fail:N, seed:N",
                        SLICE_ARG(word));
        }
    } while (rest.at != NULL);
    ret_fault->is_short = fault.is_short;
    ret_fault->is_again = fault.is_again;
    ret_fault->fail_at = fault.fail_at;
    ret_fault->seed = fault.seed;
    atomic_init(&ret_fault->call_count, 0);
    return ERR_NONE;
}

/* The finishing step of SplitMix64: neighbouring numbers come out unrelated. */
static uint64_t scramble(uint64_t number)
{
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

static struct verdict judge(struct fault *fault, int failure)
{
    uint64_t call = atomic_fetch_add_explicit(&fault->call_count, 1, memory_order_relaxed) + 1;
    if (call == fault->fail_at) {
        return (struct verdict){.error_number = failure, .size_max = 0};
    }
    uint64_t chance = scramble(scramble(fault->seed) + call);
    if (fault->is_again && chance % 3 == 0) {
        return (struct verdict){.error_number = EAGAIN, .size_max = 0};
    }
    size_t size_max = fault->is_short ? 1 + (size_t)((chance >> 32) % FAULT_SHORT_MAX) : SIZE_MAX;
    return (struct verdict){.error_number = 0, .size_max = size_max};
}

ssize_t fault_read_disturbed(struct fault *fault, int fd, char *at, size_t size)
{
    struct verdict verdict = judge(fault, ECONNRESET);
    if (verdict.error_number != 0) {
        errno = verdict.error_number;
        return -1;
    }
    return read(fd, at, size < verdict.size_max ? size : verdict.size_max);
}

ssize_t fault_writev_disturbed(struct fault *fault, int fd, const struct iovec *parts, int count)
{
    struct verdict verdict = judge(fault, EIO);
    if (verdict.error_number != 0) {
        errno = verdict.error_number;
        return -1;
    }
    if (!fault->is_short) {
        return writev(fd, parts, count);
    }
    char joined[FAULT_SHORT_MAX];
    size_t len = 0;
    for (int i = 0; i < count && len < verdict.size_max; i++) {
        size_t left = verdict.size_max - len;
        size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;
        if (size > 0) {
            memcpy(joined + len, parts[i].iov_base, size);
            len += size;
        }
    }
    return write(fd, joined, len);
}
