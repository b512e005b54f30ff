/* SPDX-License-Identifier: MIT */
#include "identity/login_redirect.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GATE "https://gate.example"

enum { NO = LOGIN_REDIRECT_REFUSED, PAGE = LOGIN_REDIRECT_PAGE, HERE = LOGIN_REDIRECT_LOOPBACK };

struct redirect_case {
    const char *public_url;
    const char *redirect;
    int kind;
};

static const struct redirect_case cases[] = {
    /* the gateway's own pages */
    {GATE, "https://gate.example", PAGE},
    {GATE, "https://gate.example/", PAGE},
    {GATE, "https://gate.example/connections/one?tab=2&x=%2F", PAGE},
    {GATE, "https://gate.example?from=mail", PAGE},
    {GATE, "https://gate.example:443/a", PAGE},
    {GATE, "HTTPS://GATE.example/a", PAGE},
    {GATE, "https://gate.example/callback", PAGE},
    {GATE, "https://gate.example/@someone", PAGE},
    {GATE, "https://gate.example//a", PAGE},
    {GATE, "https://gate.example/a..b/.well-known/...", PAGE},
    {"http://gate.example:8009", "http://gate.example:8009/a", PAGE},
    {"http://127.0.0.1:8009", "http://127.0.0.1:8009/", PAGE},
    {"http://127.0.0.1:8009", "http://127.0.0.1:8009/callback", PAGE},
    {"http://[2001:db8::1]:80", "http://[2001:db8::1]/a", PAGE},
    {GATE "/base", "https://gate.example/base", PAGE},
    {GATE "/base", "https://gate.example/base/", PAGE},
    {GATE "/base", "https://gate.example/base/a", PAGE},
    {GATE "/base", "https://gate.example/base?a=1", PAGE},
    {GATE "/base/", "https://gate.example/base/a", PAGE},
    /* others' */
    {GATE, "https://evil.example/", NO},
    {GATE, "https://gate.example.evil.example/", NO},
    {GATE, "https://gate.exampl/", NO},
    {GATE, "https://gate.examplee/", NO},
    {GATE, "https://evilgate.example/", NO},
    {GATE, "https://sub.gate.example/", NO},
    {GATE, "https://gate.example./", NO},
    {GATE, "https://gate%2Eexample/", NO},
    {GATE, "https://gate.example%2Fa", NO},
    {GATE, "https://gate.example:8443/", NO},
    {GATE, "https://gate.example:80/", NO},
    {GATE, "https://gate.example:0443000/", NO},
    {GATE, "https://gate.example:/", NO},
    {GATE, "https://gate.example:x/", NO},
    {GATE, "http://gate.example/", NO},
    {GATE, "http://gate.example:443/", NO},
    {GATE, "postgres://gate.example:443/", NO},
    {GATE, "ftp://gate.example/", NO},
    {GATE, "https:gate.example/", NO},
    {GATE, "https:/gate.example/", NO},
    {GATE, "https:///gate.example/", NO},
    {GATE, "javascript:alert(1)", NO},
    {GATE, "javascript://gate.example/%0aalert(1)", NO},
    {GATE, "data:text/html,x", NO},
    {GATE, "//gate.example/", NO},
    {GATE, "//evil.example/", NO},
    {GATE, "/connections", NO},
    {GATE, "connections", NO},
    {GATE, "?a=1", NO},
    {GATE, "", NO},
    {GATE, ":", NO},
    {GATE, "https://", NO},
    {GATE, "https://[::1]/", NO},
    {GATE, "https://[gate.example]/", NO},
    {"http://[2001:db8::1]:80", "http://[2001:db8::2]/a", NO},
    {GATE "/base", "https://gate.example/", NO},
    {GATE "/base", "https://gate.example/basement", NO},
    {GATE "/base", "https://gate.example/other", NO},
    {GATE "/base", "https://gate.example/BASE/a", NO},
    {GATE "/base", "https://gate.example/%62ase/a", NO},
    {GATE "/base", "https://gate.example/base/../other", NO},
    {GATE "/base", "https://gate.example/base/%2e%2E/other", NO},
    /* steps up or on the spot, which a browser takes before it asks */
    {GATE, "https://gate.example/a/../b", NO},
    {GATE, "https://gate.example/a/..", NO},
    {GATE, "https://gate.example/..?a=1", NO},
    {GATE, "https://gate.example/.", NO},
    {GATE, "https://gate.example/a/./b", NO},
    {GATE, "https://gate.example/a/%2e%2e/b", NO},
    {GATE, "https://gate.example/a/%2E./b", NO},
    {GATE, "https://gate.example/a/.%2e", NO},
    {GATE, "https://gate.example/a/%2e", NO},
    {GATE, "https://gate.example/a/%2e%2e%2e/..a/a../%2ea", PAGE},
    {GATE, "https://gate.example/a?b=/../c", PAGE},
    /* somebody before the host */
    {GATE, "https://user@gate.example/", NO},
    {GATE, "https://@gate.example/", NO},
    {GATE, "https://gate.example@evil.example/", NO},
    {GATE, "https://gate.example:443@evil.example/", NO},
    {GATE, "https://gate.example%40evil.example/", NO},
    {GATE, "https://evil.example?@gate.example/", NO},
    {GATE, "https://evil.example#@gate.example/", NO},
    /* what browsers read in their own way */
    {GATE, "https://evil.example\\@gate.example/", NO},
    {GATE, "https:\\\\gate.example/", NO},
    {GATE, "https://gate.example\\.evil.example/", NO},
    {GATE, "https://gate.example/\\evil.example", NO},
    {GATE, " https://gate.example/", NO},
    {GATE, "https://gate.example/ ", NO},
    {GATE, "https://gate.example/a b", NO},
    {GATE, "https://gate.example/a\tb", NO},
    {GATE, "ht\ntps://gate.example/", NO},
    {GATE, "https://gate.example/a\r\nSet-Cookie: a=b", NO},
    {GATE, "\x01https://gate.example/", NO},
    {GATE, "https://gate.example/\x7f", NO},
    {GATE, "https://gate.example/\xc3\xa9", NO},
    {GATE, "https://g\xd0\xb0te.example/", NO},
    {GATE, "https://gate.example/%", NO},
    {GATE, "https://gate.example/%zz", NO},
    {GATE, "https://gate.example/<script>", NO},
    {GATE, "https://gate.example/#a", NO},
    {GATE, "https://gate.example/#", NO},
    /* a program on the same machine */
    {GATE, "http://127.0.0.1:3587/callback", HERE},
    {GATE, "http://127.0.0.1:1/callback", HERE},
    {GATE, "http://127.0.0.1/callback", NO},
    {GATE, "http://127.0.0.1:0/callback", NO},
    {GATE, "http://localhost/callback", NO},
    {GATE, "http://[::1]/callback", NO},
    {GATE, "http://127.0.0.1:65535/callback", HERE},
    {GATE, "http://localhost:3587/callback", HERE},
    {GATE, "http://LocalHost:3587/callback", HERE},
    {GATE, "HTTP://127.0.0.1:3587/callback", HERE},
    {GATE, "http://[::1]:3587/callback", HERE},
    {"http://127.0.0.1:8009", "http://127.0.0.1:8010/callback", HERE},
    {GATE, "https://127.0.0.1:3587/callback", NO},
    {GATE, "postgres://127.0.0.1:3587/callback", NO},
    {GATE, "http://127.0.0.1:3587/", NO},
    {GATE, "http://127.0.0.1:3587", NO},
    {GATE, "http://127.0.0.1:3587/callback/", NO},
    {GATE, "http://127.0.0.1:3587/callback/a", NO},
    {GATE, "http://127.0.0.1:3587/a/callback", NO},
    {GATE, "http://127.0.0.1:3587//callback", NO},
    {GATE, "http://127.0.0.1:3587/a/../callback", NO},
    {GATE, "http://127.0.0.1:3587/CALLBACK", NO},
    {GATE, "http://127.0.0.1:3587/%63allback", NO},
    {GATE, "http://127.0.0.1:3587/callback;a", NO},
    {GATE, "http://127.0.0.1:3587/callback?a=1", NO},
    {GATE, "http://127.0.0.1:3587/callback#", NO},
    {GATE, "http://127.0.0.1:3587/callback#a", NO},
    {GATE, "http://127.0.0.1:0/callback", NO},
    {GATE, "http://127.0.0.1:65536/callback", NO},
    {GATE, "http://127.0.0.1:-1/callback", NO},
    {GATE, "http://127.0.0.2:3587/callback", NO},
    {GATE, "http://127.1:3587/callback", NO},
    {GATE, "http://127.000.000.001:3587/callback", NO},
    {GATE, "http://0x7f000001:3587/callback", NO},
    {GATE, "http://2130706433:3587/callback", NO},
    {GATE, "http://0.0.0.0:3587/callback", NO},
    {GATE, "http://[::]:3587/callback", NO},
    {GATE, "http://[0:0:0:0:0:0:0:1]:3587/callback", NO},
    {GATE, "http://[::ffff:127.0.0.1]:3587/callback", NO},
    {GATE, "http://::1:3587/callback", NO},
    {GATE, "http://localhost.evil.example:3587/callback", NO},
    {GATE, "http://localhost.:3587/callback", NO},
    {GATE, "http://127.0.0.1.evil.example:3587/callback", NO},
    {GATE, "http://user@127.0.0.1:3587/callback", NO},
    {GATE, "http://127.0.0.1:3587@evil.example/callback", NO},
    {GATE, "http://127.0.0.1:3587\\@evil.example/callback", NO},
    {GATE, "http://192.0.2.1:3587/callback", NO},
    {GATE, "http://evil.example/callback", NO},
    /* a public URL that is none makes nothing a page of it */
    {"", "https://gate.example/", NO},
    {"gate.example", "https://gate.example/", NO},
    {"", "http://127.0.0.1:3587/callback", HERE},
};

static void each_redirect_is_what_the_table_says(void **state)
{
    int wrong_count = 0;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct redirect_case *row = &cases[i];
        int kind =
            (int)login_redirect_kind(slice_of_text(row->redirect), slice_of_text(row->public_url));
        if (kind != row->kind) {
            print_error("'%s' for '%s': %d\n", row->redirect, row->public_url, kind);
            wrong_count++;
        }
    }
    assert_int_equal(wrong_count, 0);
}

static void a_nul_byte_is_refused(void **state)
{
    (void)state;
    assert_int_equal(login_redirect_kind(SLICE("https://gate.example/\0"), SLICE(GATE)), NO);
    assert_int_equal(login_redirect_kind(SLICE("https://gate.example\0.evil/"), SLICE(GATE)), NO);
    assert_int_equal(login_redirect_kind(SLICE("http://127.0.0.1:1/callback\0"), SLICE(GATE)), NO);
}

/* Every byte of a good one, replaced by every other: never more than a page of the same host. */
static void no_changed_byte_leads_elsewhere(void **state)
{
    char text[] = GATE "/a";
    const size_t host_end = sizeof(GATE) - 1;
    (void)state;
    for (size_t at = 0; at < host_end; at++) {
        char kept = text[at];
        for (int byte = 0; byte < 256; byte++) {
            text[at] = (char)byte;
            bool is_same_letter = (byte | 0x20) == (kept | 0x20) && kept >= 'a' && kept <= 'z';
            int wanted = byte == kept || is_same_letter ? PAGE : NO;
            assert_int_equal(login_redirect_kind(slice_of(text, sizeof(text) - 1), SLICE(GATE)),
                             wanted);
        }
        text[at] = kept;
    }
}

static void assert_with(const char *redirect, const char *value, const char *wanted)
{
    struct arena arena;
    arena_init(&arena);
    struct slice made =
        login_redirect_with_in(&arena, slice_of_text(redirect), "token", slice_of_text(value));
    assert_true(slice_equals(made, slice_of_text(wanted)));
    arena_release(&arena);
}

static void a_pair_is_added_to_its_query(void **state)
{
    (void)state;
    assert_with("http://127.0.0.1:1/callback", "a.b-c_d",
                "http://127.0.0.1:1/callback?token=a.b-c_d");
    assert_with("http://127.0.0.1:1/callback?", "x", "http://127.0.0.1:1/callback?&token=x");
    assert_with(GATE "/a?b=1", "x", GATE "/a?b=1&token=x");
    assert_with(GATE, "x", GATE "?token=x");
    assert_with(GATE, "", GATE "?token=");
}

static void nothing_in_the_value_ends_it(void **state)
{
    (void)state;
    assert_with(GATE, "a&b=c#d\r\ne f%+\xc3\xa9",
                GATE "?token=a%26b%3Dc%23d%0D%0Ae%20f%25%2B%C3%A9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_redirect_is_what_the_table_says),
        cmocka_unit_test(a_nul_byte_is_refused),
        cmocka_unit_test(no_changed_byte_leads_elsewhere),
        cmocka_unit_test(a_pair_is_added_to_its_query),
        cmocka_unit_test(nothing_in_the_value_ends_it),
    };
    return cmocka_run_group_tests_name("identity/login_redirect", tests, NULL, NULL);
}
