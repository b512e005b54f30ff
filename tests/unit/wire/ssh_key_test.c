/* SPDX-License-Identifier: MIT */
#include "wire/ssh_key.h"

#include "base/memory.h"
#include "base/writer.h"
#include "codec/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Made by ssh-keygen; the secret halves are gone. */
static const char ed25519[] =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDg3lrNq5Fag59XKNgKCb+HF8axkQJzruLPhcfJhH3d7";
static const char ecdsa_256[] =
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBMlT+Zn6"
    "jK5FqmhjpIKVIrQBybqsm3hmhrd/0+xZhlOp6130C/ignqzv8gRaWsvQmcAEUDTirEpMo3yp3IH/5F0=";
static const char ecdsa_384[] =
    "ecdsa-sha2-nistp384 AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhBDLpnTRe"
    "vSo0//dIwj8mCv8aZ0G1dFkkimTFh6xibU4ZfwOAWEbIJdXyFbBDqjIhcLvdBzLpcHsle2GhsTRrZCl3"
    "yQoMZZW4Xa6o4ep3GRqDlbVC/PjodcYkABctVLYszg==";
static const char ecdsa_521[] =
    "ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBAD/p/Vk"
    "GbvrMdsczkx2UxhSFzxu37fEheB9818swwAcRLGAoGHzXVkNJjtSelu1o+FL9Mp8zVsjz+x93M1edccO"
    "6gEY4/dd5RRGHfb5fTe+HWdNIgTwr1ZWJ5KUBa4CUSj6ChECiQJ6Kf7W1T1VKaaSR4xd26PtwkemJ9cJ"
    "8E3NRy4NBQ==";
static const char rsa_2048[] =
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDGV26PKctA65jzhLa+y/Mn0ZTHkY7IhK4e8okFvp9M"
    "B6DQJ8g3kl/kjWZQ1lX5/1pip3tzeqj3Mriz9wPRM3k+rIGTQe2qAXh2/DzTA8GOTv0uqffzwb1zDZkD"
    "Fbyq/8T5INfTtpx3Dr7ZqNb891SBtSvc/ZERExfhKg3jjamocKIzORIt4NAZH49P+E7qlEuttnY98R3N"
    "Bnl5cBNljRw8MM0kMKWGLvleGVd+FcHPdHeXoSeyLTSw0TkZ8551SC23TwIZoe0XuK174k9IVux90niE"
    "Hddq800STyyS/uE33+hCs3iM9A7fSd7I4TBr80AXF8r7YHSv6JEZsnJIOXkd";
static const char rsa_1024[] =
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC1OqcOejbtTDBNErUIylZsiAy880DKkJTe2O53l0Aw"
    "/459hRogXQHmb4aNNeh6nPSJtvCbXGSMF7UkHCr7B1OmKNmGaB5BBw2XMmjfHUJ2RPv6MMsxnK8TEakC"
    "3L8PwmKCIRXlEdLRq/j4GXC9w8spXPSZVYqGtO91SQ/kPHn/Iw==";
static const char dsa[] =
    "ssh-dss AAAAB3NzaC1kc3MAAACBANLBd5KYzcko/2opKMm1H6IC2wzXO/jTQ9NuTRTQo9nr7nmZvin5"
    "/Xq/481GOFdETOgNB9ydCYhSFPrf0mCmO6b6pSYoC+5Esz0V/oEcvoH2FmNXCuzrt2jX9XCG7E/+0stb"
    "OC/rjr+MpLOJCtfttO670wuZb78HqXApIjYPu97rAAAAFQCqp+pWmrpcCmktmP7a2SGFgsDn6wAAAIBs"
    "WU8jNziFvmYcOyIY6kD8ZfibLt0DpxsD9tQGT/uMegYhUCNCw0Md0wG4PRtwju98uc2cPyv2apU+ff6p"
    "ijRFD5N8dr5fvKOm4u4jdRLoKcfXQOY/W7VdI5VebD1bFWbk3pUP4/qB3FLe/jO1WLBZJfWGnv43dxtC"
    "G2uwTixn7wAAAIAT8kZhUB0y707BwdwXKS40xOZ73oVGX6E43tLWKph32/ZnNmBlETnOofW3cAtuZzMw"
    "rdhecjH/3h2hYACw3oHqN8aZnXIYnlJJAEm/Rc7xn2BWt0Vncduy/NBAZFOk2y4vA7jg7E6YS3mep49U"
    "Zm7nzfkXp324oH9NVanFQnfpiA==";
static const char sk_ed25519[] =
    "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIDg3lrNq5"
    "Fag59XKNgKCb+HF8axkQJzruLPhcfJhH3d7AAAABHNzaDo=";
static const char sk_ecdsa[] =
    "sk-ecdsa-sha2-nistp256@openssh.com AAAAInNrLWVjZHNhLXNoYTItbmlzdHAyNTZAb3BlbnNza"
    "C5jb20AAAAIbmlzdHAyNTYAAABBBMlT+Zn6jK5FqmhjpIKVIrQBybqsm3hmhrd/0+xZhlOp6130C/ign"
    "qzv8gRaWsvQmcAEUDTirEpMo3yp3IH/5F0AAAAIc3NoOnRlc3Q=";

static const struct {
    const char *line;
    enum sshwire_key_kind kind;
    uint32_t bits;
} keys[] = {
    {ed25519, SSHWIRE_KEY_ED25519, 256},     {ecdsa_256, SSHWIRE_KEY_ECDSA_256, 256},
    {ecdsa_384, SSHWIRE_KEY_ECDSA_384, 384}, {ecdsa_521, SSHWIRE_KEY_ECDSA_521, 521},
    {rsa_2048, SSHWIRE_KEY_RSA, 2048},       {sk_ed25519, SSHWIRE_KEY_SK_ED25519, 256},
    {sk_ecdsa, SSHWIRE_KEY_SK_ECDSA, 256},
};

static int set_up(void **state)
{
    static struct arena arena;
    arena_init(&arena);
    *state = &arena;
    return 0;
}

static int tear_down(void **state)
{
    arena_release(*state);
    return 0;
}

static void assert_refused(struct arena *arena, const char *line, const char *words)
{
    struct sshwire_key key;
    struct error error;
    assert_int_equal(sshwire_key_read_line_in(arena, slice_of_text(line), &key, &error), ERR_INPUT);
    if (strstr(error.message, words) == NULL) {
        fail_msg("'%s' does not say '%s'", error.message, words);
    }
}

static void every_kind_of_key_is_read(void **state)
{
    struct arena *arena = *state;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct sshwire_key key;
        struct error error;
        struct slice line = arena_format(arena, "  %s\t somebody at a place \r\n", keys[i].line);
        assert_int_equal(sshwire_key_read_line_in(arena, line, &key, &error), ERR_NONE);
        assert_int_equal(key.kind, keys[i].kind);
        assert_int_equal(key.bits, keys[i].bits);
        assert_true(slice_equals(key.comment, SLICE("somebody at a place")));
        assert_true(slice_starts_with(slice_of_text(keys[i].line), key.type));
        line = slice_of_text(keys[i].line);
        assert_int_equal(sshwire_key_read_line_in(arena, line, &key, &error), ERR_NONE);
        assert_int_equal(key.comment.len, 0);
    }
}

static struct slice blob_of(struct arena *arena, const char *line)
{
    struct sshwire_key key;
    struct error error;
    assert_int_equal(sshwire_key_read_line_in(arena, slice_of_text(line), &key, &error), ERR_NONE);
    return key.blob;
}

static void no_prefix_of_a_key_is_one_and_nothing_may_follow(void **state)
{
    struct arena *arena = *state;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct sshwire_key key;
        struct error error;
        struct slice blob = blob_of(arena, keys[i].line);
        for (size_t len = 0; len < blob.len; len++) {
            assert_int_equal(sshwire_key_read(slice_sub(blob, 0, len), &key, &error), ERR_INPUT);
        }
        char *bytes = arena_alloc(arena, blob.len + 1);
        memcpy(bytes, blob.at, blob.len);
        bytes[blob.len] = '\0';
        struct slice longer = slice_of(bytes, blob.len + 1);
        assert_int_equal(sshwire_key_read(longer, &key, &error), ERR_INPUT);
        for (size_t len = 0; len < strlen(keys[i].line); len++) {
            struct slice line = slice_sub(slice_of_text(keys[i].line), 0, len);
            assert_int_equal(sshwire_key_read_line_in(arena, line, &key, &error), ERR_INPUT);
        }
    }
}

static void what_is_no_key_is_refused_in_words(void **state)
{
    struct arena *arena = *state;
    assert_refused(arena, rsa_1024, "at least 2048 bits, this one has 1024");
    assert_refused(arena, dsa, "DSA");
    assert_refused(arena, "", "a line of a type");
    assert_refused(arena, "ssh-ed25519", "no key in base64");
    assert_refused(arena, "ssh-ed25519 A===", "no key in base64");
    assert_refused(arena, "ssh-ed448 AAAA", "'ssh-ed448' are not known");
    assert_refused(arena, "ssh-ed25519-cert-v01@openssh.com AAAA", "certificate");
    assert_refused(arena, "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA", "'.pub' file");
    assert_refused(arena, "PuTTY-User-Key-File-3: ssh-ed25519", "'.pub' file");
    assert_refused(arena, "command=\"id\" ssh-ed25519 AAAA", "a line of a type");
    struct slice two = arena_format(arena, "%s\n%s", ed25519, ed25519);
    assert_refused(arena, two.at, "more than one line");
    struct slice other = arena_format(arena, "ssh-rsa %s", ed25519 + strlen("ssh-ed25519 "));
    assert_refused(arena, other.at, "the line says 'ssh-rsa'");
}

static void put(struct writer *writer, struct slice text)
{
    writer_u32(writer, (uint32_t)text.len);
    writer_bytes(writer, text);
}

static enum err read_rsa(struct slice exponent, struct slice modulus)
{
    struct sshwire_key key;
    struct error error;
    struct buf buf;
    buf_init(&buf, 4096);
    struct writer writer = writer_to(&buf);
    put(&writer, SLICE("ssh-rsa"));
    put(&writer, exponent);
    put(&writer, modulus);
    enum err err = sshwire_key_read(buf_view(&buf), &key, &error);
    buf_release(&buf);
    return err;
}

static void numbers_of_rsa_have_one_form(void **state)
{
    char modulus[2000];
    (void)state;
    memset(modulus, 0xff, sizeof(modulus));
    modulus[0] = modulus[1] = '\0';
    struct slice good = slice_of(modulus + 1, 257);
    struct slice usual = SLICE("\1\0\1");
    assert_int_equal(read_rsa(usual, good), ERR_NONE);
    assert_int_equal(read_rsa(SLICE("\3"), good), ERR_NONE);
    assert_int_equal(read_rsa(usual, slice_of(modulus + 2, 256)), ERR_INPUT); /* negative */
    assert_int_equal(read_rsa(usual, slice_of(modulus, 258)), ERR_INPUT);     /* a zero too many */
    assert_int_equal(read_rsa(usual, slice_of(modulus + 1, 1025)), ERR_NONE);
    assert_int_equal(read_rsa(usual, slice_of(modulus + 1, 1026)), ERR_INPUT); /* too long */
    assert_int_equal(read_rsa(usual, SLICE("")), ERR_INPUT);
    assert_int_equal(read_rsa(SLICE("\1"), good), ERR_INPUT);
    assert_int_equal(read_rsa(SLICE("\4"), good), ERR_INPUT);
    assert_int_equal(read_rsa(SLICE("\0\3"), good), ERR_INPUT);
    assert_int_equal(read_rsa(SLICE("\1\0\0\0\1"), good), ERR_INPUT);
    modulus[257] = (char)0xfe;
    assert_int_equal(read_rsa(usual, good), ERR_INPUT); /* even */
}

static enum err read_device(struct slice application)
{
    struct sshwire_key key;
    struct error error;
    struct buf buf;
    char point[32] = {1};
    buf_init(&buf, 4096);
    struct writer writer = writer_to(&buf);
    put(&writer, SLICE("sk-ssh-ed25519@openssh.com"));
    put(&writer, slice_of(point, sizeof(point)));
    put(&writer, application);
    enum err err = sshwire_key_read(buf_view(&buf), &key, &error);
    buf_release(&buf);
    return err;
}

static void a_security_key_is_one_for_ssh(void **state)
{
    char text[300];
    (void)state;
    assert_int_equal(read_device(SLICE("ssh:")), ERR_NONE);
    assert_int_equal(read_device(SLICE("ssh:work")), ERR_NONE);
    assert_int_equal(read_device(SLICE("https://example.com")), ERR_INPUT);
    assert_int_equal(read_device(SLICE("")), ERR_INPUT);
    assert_int_equal(read_device(SLICE("ssh:\xff")), ERR_INPUT);
    memset(text, 'a', sizeof(text));
    memcpy(text, "ssh:", 4);
    assert_int_equal(read_device(slice_of(text, sizeof(text))), ERR_INPUT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_kind_of_key_is_read),
        CASE(no_prefix_of_a_key_is_one_and_nothing_may_follow),
        CASE(what_is_no_key_is_refused_in_words),
        CASE(numbers_of_rsa_have_one_form),
        CASE(a_security_key_is_one_for_ssh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
