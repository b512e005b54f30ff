/* SPDX-License-Identifier: MIT */
/* How fast all types are looked for, on one core: a buffer of rows with hardly anything in it, and
 * one with several findings in each row; the best of many rounds. Prints "sparse GB/s FINDINGS" and
 * "dense GB/s FINDINGS". usage: detect_bench [SECONDS [sparse|dense]] */
#include "base/buf.h"
#include "base/memory.h"
#include "detect/detect.h"

#include <stdio.h>
#include <time.h>

enum {
    BUFFER_SIZE = 4 << 20,
    FINDINGS_MAX = 256,
};

static uint64_t next_number(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* Cells that a shop's tables have: names, texts, prices, counts, times. */
static size_t write_sparse(char *row, size_t size, uint64_t *seed)
{
    static const char *const names[] = {"Anna Schmidt", "Bob Miller", "Carla Rossi", "Zoe Dupont"};
    static const char *const goods[] = {
        "oak table, oiled, seats six, legs can be taken off for transport",
        "wool blanket in grey and white, woven by hand in the mountains",
        "kettle of enamelled steel with a wooden handle, for all stoves"};
    static const char *const states[] = {"shipped", "open", "returned", "paid"};
    int len = snprintf(row, size, "%u\t%s\t%s\t%u.%02u\t%s\t2024-%02u-%02u %02u:%02u:%02u\n",
                       (unsigned)next_number(seed) % 100000, names[next_number(seed) % 4],
                       goods[next_number(seed) % 3], (unsigned)next_number(seed) % 900,
                       (unsigned)next_number(seed) % 100, states[next_number(seed) % 4],
                       (unsigned)next_number(seed) % 12 + 1, (unsigned)next_number(seed) % 28 + 1,
                       (unsigned)next_number(seed) % 24, (unsigned)next_number(seed) % 60,
                       (unsigned)next_number(seed) % 60);
    return (size_t)len;
}

static size_t write_dense(char *row, size_t size, uint64_t *seed)
{
    static const char *const names[] = {"anna.schmidt", "bob", "c.rossi", "zoe_d"};
    static const char *const cards[] = {"4111 1111 1111 1111", "5555555555554444",
                                        "378282246310005"};
    static const char *const ibans[] = {"DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19"};
    int len = snprintf(row, size, "%u\t%s%u@example.com\t+1 415 555 %04u\t%s\t%s\t10.%u.%u.7\t%s\n",
                       (unsigned)next_number(seed) % 100000, names[next_number(seed) % 4],
                       (unsigned)next_number(seed) % 1000, (unsigned)next_number(seed) % 10000,
                       cards[next_number(seed) % 3], ibans[next_number(seed) % 2],
                       (unsigned)next_number(seed) % 255, (unsigned)next_number(seed) % 255,
                       "12 Long Lane, Springfield, second floor, ring twice");
    return (size_t)len;
}

static double now(void)
{
    struct timespec time;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) {
        return 0;
    }
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static size_t scan_all(const struct detect_set *set, struct slice text)
{
    struct detect_finding findings[FINDINGS_MAX];
    size_t count = 0;
    for (size_t at = 0; at < text.len;) {
        count += detect_scan(set, 0, text, at, findings, FINDINGS_MAX, &at);
    }
    return count;
}

static void measure(const char *name, const struct detect_set *set, double seconds,
                    size_t (*write)(char *, size_t, uint64_t *))
{
    char *text = memory_new(BUFFER_SIZE);
    uint64_t seed = 1;
    size_t len = 0, count = 0;
    while (len + 512 < BUFFER_SIZE) {
        len += write(text + len, 512, &seed);
    }
    double left = seconds, best = seconds;
    while (left > 0) {
        double start = now();
        count = scan_all(set, slice_of(text, len));
        double took = now() - start;
        best = took < best ? took : best;
        left -= took;
    }
    printf("%s %.3f %zu\n", name, (double)len / best / 1e9, count);
    memory_free(text);
}

int main(int count, char **arguments)
{
    struct detect_set set = {0};
    for (size_t i = 0; i < DETECT_TYPE_COUNT; i++) {
        set.is_wanted[i] = true;
        set.score_min[i] = 60;
    }
    detect_set_prepare(&set);
    double seconds = count > 1 ? strtod(arguments[1], NULL) : 2;
    const char *only = count > 2 ? arguments[2] : "";
    if (strcmp(only, "dense") != 0) {
        measure("sparse", &set, seconds, write_sparse);
    }
    if (strcmp(only, "sparse") != 0) {
        measure("dense", &set, seconds, write_dense);
    }
    return 0;
}
