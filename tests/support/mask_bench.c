/* SPDX-License-Identifier: MIT */
/* How fast values are masked: mask_bench [MILLISECONDS [PART OF A NAME]]. One line a case:
 * nanoseconds a value, bytes a second, and how many of a hundred values were changed. */
#include "base/memory.h"
#include "base/must.h"
#include "policy/mask.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define VALUES 4096

#define TYPES                                                                                      \
    "\"supported_entity_types\":[{\"name\":\"T\",\"entity_types\":[\"EMAIL_ADDRESS\","             \
    "\"PHONE_NUMBER\",\"CREDIT_CARD\",\"IBAN_CODE\",\"US_SSN\",\"IP_ADDRESS\","                    \
    "\"URL_WITH_CREDENTIALS\",\"JWT\",\"AWS_KEY\",\"GITHUB_TOKEN\",\"PRIVATE_KEY\"]}]"
#define OWN                                                                                        \
    "\"custom_entity_types\":[{\"name\":\"OWN\",\"score\":1,\"regex\":\"EMP-[0-9]{6}\","           \
    "\"deny_list\":[\"Project Zero\",\"Falcon\"]}]"

static const char *const words[] = {"order",   "shipped", "green",  "2021-04-03", "alpha",
                                    "Berlin",  "pending", "42",     "customer",   "invoice",
                                    "3.14",    "true",    "street", "north",      "weekly",
                                    "harbour", "copper",  "A-17",   "window",     "paid"};
static const char *const secrets[] = {"ann.smith@example.com", "4012 8888 8888 1881",
                                      "+1 202-555-0143", "DE89370400440532013000"};

struct values {
    struct buf memory;
    struct slice items[VALUES];
    size_t size;
};

static unsigned random_state = 12345;

static unsigned next_random(unsigned below)
{
    random_state = random_state * 1103515245 + 12345;
    return (random_state >> 16) % below;
}

static void add(struct values *values, const char *text)
{
    must(buf_append(&values->memory, slice_of_text(text)) == ERR_NONE);
}

/* Words up to a length; one in 'rarity' is something to be masked, none for 0. */
static void add_words(struct values *values, size_t len, unsigned rarity)
{
    size_t start = values->memory.len;
    while (values->memory.len - start < len) {
        bool is_secret = rarity > 0 && next_random(rarity) == 0;
        add(values, is_secret ? secrets[next_random(COUNT_OF(secrets))]
                              : words[next_random(COUNT_OF(words))]);
        add(values, " ");
    }
}

static void add_json(struct values *values, size_t len, unsigned rarity)
{
    add(values, "{\"id\": 17, \"tags\": [\"a\", \"b\"], \"ok\": true, \"note\": \"");
    add_words(values, len, rarity);
    add(values, "\", \"items\": [{\"n\": 1, \"label\": \"x\"}, {\"n\": 2, \"label\": \"y\"}]}");
}

typedef void (*add_fn)(struct values *values, size_t len, unsigned rarity);

static void fill(struct values *values, add_fn add_value, size_t len_min, size_t len_max,
                 unsigned rarity)
{
    size_t ends[VALUES];
    buf_init(&values->memory, LIMIT_MIB(256));
    for (size_t i = 0; i < VALUES; i++) {
        size_t len = len_min + next_random((unsigned)(len_max - len_min + 1));
        add_value(values, len, rarity);
        ends[i] = values->memory.len;
    }
    values->size = values->memory.len;
    for (size_t i = 0; i < VALUES; i++) {
        size_t start = i == 0 ? 0 : ends[i - 1];
        values->items[i] = slice_sub(buf_view(&values->memory), start, ends[i] - start);
    }
}

static struct mask_rules *compile(const char *members)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct json document;
    struct slice text = arena_format(&arena, "{\"name\":\"r\",%s}", members);
    must(json_parse_in(&arena, text, &document, NULL) == ERR_NONE);
    struct masking_rule rule = {0};
    must(shape_read(&masking_rule_shape, SHAPE_WHOLE, &document, &rule, NULL) == ERR_NONE);
    struct mask_rules *rules = NULL;
    must(mask_rules_new(&rule, 1, SLICE("0123456789abcdef0123456789abcdef"), &rules, NULL) ==
         ERR_NONE);
    return rules;
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static const char *wanted = "";

/* Values of one case, and the rule that they are masked by. */
struct bench_case {
    const char *name;
    const char *members;
    add_fn add_value;
    size_t len_min;
    size_t len_max;
    unsigned rarity;
};

static void run(const struct bench_case *of, double seconds)
{
    if (strstr(of->name, wanted) == NULL) {
        return;
    }
    struct values *values = memory_new(sizeof(*values));
    fill(values, of->add_value, of->len_min, of->len_max, of->rarity);
    struct mask_rules *rules = compile(of->members);
    struct mask_scratch *scratch = mask_scratch_new();
    struct mask_plan plan = mask_plan_of(rules, &(struct mask_origin){0}, SLICE("x"));
    struct mask_counts counts = {0};
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(16));
    size_t rounds = 0;
    size_t changed = 0;
    double start = now();
    double took = 0;
    for (; took < seconds; took = now() - start) {
        for (size_t i = 0; i < VALUES; i++) {
            enum mask_outcome outcome =
                mask_text(rules, &plan, scratch, values->items[i], &buf, &counts);
            changed += outcome != MASK_SAME;
            buf_truncate(&buf, 0);
        }
        rounds++;
    }
    double count = (double)(rounds * VALUES);
    (void)printf("%-44s %8.0f ns %8.2f GB/s %5.0f %%\n", of->name, took * 1e9 / count,
                 (double)values->size * (double)rounds / took / 1e9, (double)changed * 100 / count);
    buf_release(&buf);
    mask_scratch_free(scratch);
    mask_rules_unref(rules);
    buf_release(&values->memory);
    memory_free(values);
}

#define PARTIAL   "\"columns\":[{\"name\":\"x\",\"strategy\":{\"type\":\"partial\"}}]"
#define HASH      "\"columns\":[{\"name\":\"x\",\"strategy\":{\"type\":\"hash\"}}]"
#define REDACT    "\"columns\":[{\"name\":\"x\"}]"
#define ELSEWHERE "\"columns\":[{\"name\":\"y\"}]"

static const struct bench_case cases[] = {
    {"column, redact, 8-40 bytes", REDACT, add_words, 8, 40, 0},
    {"column, redact, 1 KB", REDACT, add_words, 1000, 1000, 0},
    {"column, partial, 8-40 bytes", PARTIAL, add_words, 8, 40, 0},
    {"column, partial, 1 KB", PARTIAL, add_words, 1000, 1000, 0},
    {"column, hash, 8-40 bytes", HASH, add_words, 8, 40, 0},
    {"no rule for it, 8-40 bytes", ELSEWHERE, add_words, 8, 40, 0},
    {"text, nothing to find, 8-40 bytes", TYPES, add_words, 8, 40, 0},
    {"text, nothing to find, 1 KB", TYPES, add_words, 1000, 1000, 0},
    {"text, one word in 50, 1 KB", TYPES, add_words, 1000, 1000, 50},
    {"text, one word in 10, 8-40 bytes", TYPES, add_words, 8, 40, 10},
    {"text, one word in 4, 1 KB", TYPES, add_words, 1000, 1000, 4},
    {"JSON, nothing to find, 200 bytes", TYPES, add_json, 80, 80, 0},
    {"JSON, nothing to find, 2 KB", TYPES, add_json, 2000, 2000, 0},
    {"JSON, one word in 10, 200 bytes", TYPES, add_json, 80, 80, 10},
    {"own patterns alone, nothing to find, 8-40", OWN, add_words, 8, 40, 0},
    {"own patterns alone, nothing to find, 1 KB", OWN, add_words, 1000, 1000, 0},
    {"both, nothing to find, 8-40 bytes", TYPES "," OWN, add_words, 8, 40, 0},
    {"both, nothing to find, 1 KB", TYPES "," OWN, add_words, 1000, 1000, 0},
};

int main(int argc, char **argv)
{
    double seconds = (argc > 1 ? strtod(argv[1], NULL) : 300) / 1000;
    wanted = argc > 2 ? argv[2] : "";
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        run(&cases[i], seconds);
    }
    return 0;
}
