/* SPDX-License-Identifier: MIT */
/* What a verdict costs: guard_bench
 *
 * Sixty rules, twenty of each type, judge statements of several sizes: those that were seen before
 * (from the cache) and those that were not (analyzed, matched, kept). Prints the median of each, in
 * nanoseconds: "seen SIZE NANOSECONDS" and "new SIZE NANOSECONDS". Then a mebibyte of each shape
 * that is dear to read: "shape MICROSECONDS HEAD…PIECE". */
#include "base/limits.h"
#include "base/must.h"
#include "policy/guard_cache.h"
#include "shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define BENCH_ROUNDS 20001
#define BENCH_BATCH  64 /* of what is too short for a clock */

static const char *const bench_texts[] = {
    "SELECT abalance FROM pgbench_accounts WHERE aid = 0000000000;",
    "UPDATE orders SET state = 'shipped', shipped_at = now(), carrier = 'ups' WHERE id = "
    "0000000000 AND state IN ('paid', 'packed') RETURNING id, customer_id, state, total;",
    "SELECT c.id, c.name, c.email, o.id AS order_id, o.placed_at, sum(l.quantity * l.price) AS "
    "total, count(*) FILTER (WHERE l.is_gift) AS gifts, max(s.arrived_at) AS arrived, "
    "coalesce(a.city, 'unknown') AS city FROM public.customers c JOIN public.orders o ON "
    "o.customer_id = c.id /* only those that were paid */ JOIN public.order_lines l ON l.order_id "
    "= o.id LEFT JOIN public.shipments s ON s.order_id = o.id AND s.state = 'arrived' LEFT JOIN "
    "public.addresses a ON a.customer_id = c.id AND a.is_default WHERE o.placed_at >= date_trunc("
    "'month', now()) - interval '3 months' AND o.state IN ('paid', 'packed', 'shipped') AND c.id "
    "= 0000000000 AND lower(c.email) LIKE '%@example.com' AND NOT EXISTS (SELECT 1 FROM "
    "public.refunds r WHERE r.order_id = o.id AND r.state <> 'refused') GROUP BY c.id, c.name, "
    "c.email, o.id, o.placed_at, a.city HAVING sum(l.quantity * l.price) > 100 ORDER BY "
    "o.placed_at DESC, total DESC LIMIT 50 OFFSET 0 -- the list of the start page\n",
};

struct bench {
    struct arena arena;
    struct guard_scratch *scratch;
    struct guard_cache *cache;
    struct guard_rules *rules;
    struct guard_scope scope;
    struct guard_verdict verdict;
    struct guard_facts facts;
    double times[BENCH_ROUNDS];
};

static double bench_now_ns(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int bench_compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double bench_median(struct bench *bench)
{
    qsort(bench->times, BENCH_ROUNDS, sizeof(bench->times[0]), bench_compare);
    return bench->times[BENCH_ROUNDS / 2];
}

static struct slice *bench_words(struct bench *bench, size_t count, const char *format, size_t seed)
{
    struct slice *words = arena_alloc_array(&bench->arena, count, sizeof(*words));
    for (size_t i = 0; i < count; i++) {
        words[i] = arena_format(&bench->arena, "%s_%zu", format, seed * count + i);
    }
    return words;
}

static void bench_make_rules(struct bench *bench)
{
    static struct slice operations[] = {SLICE_INIT("drop"), SLICE_INIT("truncate")};
    struct guard_rule *rules = arena_alloc_array(&bench->arena, 60, sizeof(*rules));
    for (size_t i = 0; i < 20; i++) {
        rules[i * 3] =
            (struct guard_rule){.type = SLICE(GUARD_TYPE_WORDS),
                                .words = {bench_words(bench, 10, "secret word", i), 10, true}};
        rules[i * 3 + 1] = (struct guard_rule){
            .type = SLICE(GUARD_TYPE_PATTERN),
            .pattern_regex = arena_format(
                &bench->arena,
                "(?i)\\b(delete|update)\\s+.*\\bsecret_%zu\\b|card\\s*=\\s*'\\d{4}%zu", i, i)};
        struct guard_relation *relation = arena_alloc(&bench->arena, sizeof(*relation));
        relation->name = arena_format(&bench->arena, "audit_%zu.log_*", i);
        rules[i * 3 + 2] = (struct guard_rule){.type = SLICE(GUARD_TYPE_SQL),
                                               .operations = {operations, i % 2 == 0 ? 2 : 0, true},
                                               .relations = {relation, i % 2 == 0 ? 0 : 1, true}};
    }
    struct guard_rule_list list = {.rules = {rules, 60, true}};
    struct guardrail guardrail = {.name = SLICE("bench"), .input = &list};
    struct error error = {0};
    if (guard_rules_new(&guardrail, 1, &bench->rules, &error) != ERR_NONE) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    bench->scope = guard_scope_in(&bench->arena, bench->scratch, bench->rules, NULL, 0);
}

static void bench_judge(struct bench *bench, struct slice text)
{
    static const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    guard_cache_judge(bench->cache, &bench->scope, &settings, text, &bench->verdict, &bench->facts);
}

static void bench_seen(struct bench *bench, struct slice text)
{
    for (size_t i = 0; i < BENCH_ROUNDS; i++) {
        double began = bench_now_ns();
        for (size_t j = 0; j < BENCH_BATCH; j++) {
            bench_judge(bench, text);
        }
        bench->times[i] = (bench_now_ns() - began) / BENCH_BATCH;
    }
    printf("seen %zu %.0f\n", text.len, bench_median(bench));
}

/* The number in it is another one each time. */
static void bench_new(struct bench *bench, char *text)
{
    char *number = strstr(text, "0000000000");
    for (size_t i = 0; i < BENCH_ROUNDS; i++) {
        char digits[16];
        snprintf(digits, sizeof(digits), "%010zu", i + 1);
        memcpy(number, digits, 10);
        double began = bench_now_ns();
        bench_judge(bench, slice_of_text(text));
        bench->times[i] = bench_now_ns() - began;
    }
    must(bench->verdict.action == GUARD_PASS && !bench->facts.is_unknown);
    printf("new %zu %.0f\n", strlen(text), bench_median(bench));
}

/* The least of three, in what the processor took. */
static void bench_shape(struct bench *bench, const struct shape_of_text *shape)
{
    struct arena arena;
    arena_init(&arena);
    struct slice text = shape_fill(&arena, shape, LIMIT_MIB(1));
    clock_t least = CLOCKS_PER_SEC * 100;
    for (int i = 0; i < 3; i++) {
        clock_t began = clock();
        bench_judge(bench, text);
        clock_t took = clock() - began;
        least = took < least ? took : least;
    }
    printf("shape %ld ", (long)least);
    for (const char *at = shape->head; *at != '\0'; at++) {
        putchar(*at > ' ' && *at < 127 ? *at : '_');
    }
    printf("…");
    for (const char *at = shape->piece; *at != '\0'; at++) {
        putchar(*at > ' ' && *at < 127 ? *at : '_');
    }
    printf("\n");
    arena_release(&arena);
}

int main(void)
{
    static struct bench bench;
    arena_init(&bench.arena);
    bench.scratch = guard_scratch_new();
    bench.cache = guard_cache_new((const uint8_t[HASH_SEED_SIZE]){1, 2, 3});
    bench_make_rules(&bench);
    for (size_t i = 0; i < sizeof(bench_texts) / sizeof(bench_texts[0]); i++) {
        bench_seen(&bench, slice_of_text(bench_texts[i]));
        bench_new(&bench, arena_text(&bench.arena, slice_of_text(bench_texts[i])));
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        bench_shape(&bench, &shapes[i]);
    }
    guard_rules_unref(bench.rules);
    guard_cache_free(bench.cache);
    guard_scratch_free(bench.scratch);
    arena_release(&bench.arena);
    return 0;
}
