/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_key.h"

#include "base/memory.h"
#include "base/must.h"
#include "protocol/ssh/ssh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct secret secret_of(const char *text)
{
    struct secret secret;
    secret_init(&secret);
    must(secret_set(&secret, slice_of_text(text)) == ERR_NONE);
    return secret;
}

static void a_host_key_is_the_same_for_the_same_secret(void **state)
{
    struct secret one = secret_of("one secret of thirty-two bytes..");
    struct secret other = secret_of("another secret of thirty-two b..");
    struct arena arena;
    char *base64 = NULL;
    (void)state;
    arena_init(&arena);
    struct slice line = sshd_host_key_line_in(&arena, &one);
    assert_true(slice_equals(line, sshd_host_key_line_in(&arena, &one)));
    assert_false(slice_equals(line, sshd_host_key_line_in(&arena, &other)));
    ssh_key key = sshd_host_key_new(&one);
    assert_int_equal(ssh_key_is_private(key), 1);
    assert_int_equal(ssh_pki_export_pubkey_base64(key, &base64), SSH_OK);
    assert_true(slice_equals(line, arena_format(&arena, "ssh-ed25519 %s", base64)));
    ssh_string_free_char(base64);
    ssh_key_free(key);
    arena_release(&arena);
    secret_release(&one);
    secret_release(&other);
}

struct pinning {
    struct arena arena;
    ssh_key key;
    struct slice line;
    struct slice other;
    char own[SSHD_FINGERPRINT_SIZE];
};

static struct pinning pinning_new(void)
{
    struct pinning pinning;
    struct secret one = secret_of("one secret of thirty-two bytes..");
    struct secret other = secret_of("another secret of thirty-two b..");
    arena_init(&pinning.arena);
    pinning.key = sshd_host_key_new(&one);
    pinning.line = sshd_host_key_line_in(&pinning.arena, &one);
    pinning.other = sshd_host_key_line_in(&pinning.arena, &other);
    sshd_fingerprint(pinning.key, pinning.own);
    secret_release(&one);
    secret_release(&other);
    return pinning;
}

static void pinning_free(struct pinning *pinning)
{
    ssh_key_free(pinning->key);
    arena_release(&pinning->arena);
}

static void a_key_that_was_named_is_right(void **state)
{
    struct pinning p = pinning_new();
    struct slice own = slice_of_text(p.own);
    struct error error;
    (void)state;
    const struct sshd_pin right[] = {
        {.keys = p.line},
        {.keys = arena_format(&p.arena, "  %.*s somebody@here\r\n", SLICE_ARG(p.line))},
        {.keys = own},
        {.keys = arena_format(&p.arena, "%.*s=", SLICE_ARG(own))},
        {.keys = arena_format(&p.arena, "# ours\n\n%.*s\n%.*s\n", SLICE_ARG(p.other),
                              SLICE_ARG(p.line))},
        {.known_hosts = arena_format(&p.arena, "a.example %.*s\nb.example,h.example %.*s\n",
                                     SLICE_ARG(p.other), SLICE_ARG(p.line)),
         .host = SLICE("h.example"),
         .port = 22},
        {.known_hosts = arena_format(&p.arena, "[h.example]:2022 %.*s", SLICE_ARG(p.line)),
         .host = SLICE("h.example"),
         .port = 2022},
    };
    for (size_t i = 0; i < COUNT_OF(right); i++) {
        assert_int_equal(sshd_pin_check(&right[i], p.key, &error), ERR_NONE);
    }
    assert_true(slice_equals(sshd_pin_types_in(&p.arena, &right[0]), SLICE("ssh-ed25519")));
    assert_int_equal(sshd_pin_types_in(&p.arena, &right[2]).len, 0);
    const struct sshd_pin rsa = {.keys = SLICE("ssh-rsa AAAA\nssh-ed25519 AAAA")};
    assert_true(slice_equals(sshd_pin_types_in(&p.arena, &rsa),
                             SLICE("ssh-ed25519,rsa-sha2-512,rsa-sha2-256")));
    pinning_free(&p);
}

static void any_other_key_is_refused_with_its_fingerprint(void **state)
{
    struct pinning p = pinning_new();
    struct slice part = slice_sub(p.line, 0, p.line.len - 1);
    struct error error;
    (void)state;
    const struct sshd_pin wrong[] = {
        {.keys = SLICE("")},
        {.keys = SLICE("\n \n# nothing\n")},
        {.keys = p.other},
        {.keys = part},
        {.keys = SLICE("ssh-ed25519")},
        {.keys = SLICE("SHA256:")},
        {.keys = slice_sub(slice_of_text(p.own), 0, 20)},
        {.known_hosts = arena_format(&p.arena, "h.example %.*s", SLICE_ARG(p.line)),
         .host = SLICE("h.example"),
         .port = 2022},
        {.known_hosts = arena_format(&p.arena, "h.example.org %.*s", SLICE_ARG(p.line)),
         .host = SLICE("h.example"),
         .port = 22},
        {.known_hosts = arena_format(&p.arena, "|1|aaaa|bbbb %.*s", SLICE_ARG(p.line)),
         .host = SLICE("h.example"),
         .port = 22},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(sshd_pin_check(&wrong[i], p.key, &error), ERR_DENIED);
        assert_non_null(strstr(error.message, p.own));
    }
    assert_int_equal(sshd_pin_check(&wrong[2], p.key, &error), ERR_DENIED);
    assert_non_null(strstr(error.message, "but the connection has SHA256:"));
    pinning_free(&p);
}

static void an_answer_is_read_as_it_was_written(void **state)
{
    const struct ending_words words = {
        .why = ENDING_TARGET, .code = SLICE(""), .message = SLICE("no"), .hint = SLICE("Ask.")};
    struct ending_words again;
    char code[TARGET_CODE_SIZE];
    struct buf buf;
    (void)state;
    buf_init(&buf, SSHD_ANSWER_SIZE_MAX);
    assert_int_equal(sshd_answer_write(&words, code, &buf), ERR_NONE);
    assert_true(sshd_answer_read(buf_view(&buf), &again));
    assert_true(slice_equals(again.message, words.message));
    assert_true(slice_equals(again.hint, words.hint));
    for (size_t len = 0; len < buf.len; len++) {
        assert_false(sshd_answer_read(slice_sub(buf_view(&buf), 0, len), &again));
    }
    assert_int_equal(buf_append(&buf, SLICE("x")), ERR_NONE);
    assert_false(sshd_answer_read(buf_view(&buf), &again));
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_key_is_the_same_for_the_same_secret),
        cmocka_unit_test(a_key_that_was_named_is_right),
        cmocka_unit_test(any_other_key_is_refused_with_its_fingerprint),
        cmocka_unit_test(an_answer_is_read_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
