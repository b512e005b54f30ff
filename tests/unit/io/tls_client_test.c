/* SPDX-License-Identifier: MIT */
#include "io/tls_client.h"

#include "base/limits.h"
#include "io/socket_stream.h"
#include "tls_issuer.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

/* The issuer that clients trust, and one that nobody trusts. */
struct world {
    struct tls_issuer root;
    struct tls_issuer stranger;
};

static int make_world(void **state)
{
    struct world *world = memory_new(sizeof(*world));
    tls_issuer_make(&world->root, (struct tls_subject){.name = "Root", .is_issuer = true});
    tls_issuer_make(&world->stranger, (struct tls_subject){.name = "Stranger", .is_issuer = true});
    *state = world;
    return 0;
}

static int free_world(void **state)
{
    struct world *world = *state;
    tls_issuer_free(&world->root);
    tls_issuer_free(&world->stranger);
    memory_free(world);
    return 0;
}

/* The handshake with a server that shows this certificate: NULL, or words of the client's error. */
static const char *meet(const struct tls_issuer *shown, struct tls_client *client,
                        struct slice host)
{
    static char words[ERROR_MESSAGE_SIZE];
    struct tls_pair pair;
    struct tls_server *server = tls_issuer_server(shown, SLICE_NONE);
    tls_pair_start(&pair, (struct tls_pair_wish){.server = server, .client = client, .host = host});
    bool is_good = tls_pair_await(&pair);
    (void)snprintf(words, sizeof(words), "%s", pair.client.error.message);
    assert_int_equal(pair.client.error.code, is_good ? ERR_NONE : ERR_UNAVAILABLE);
    tls_pair_end(&pair);
    tls_server_unref(server);
    return is_good ? NULL : words;
}

/* The same with a certificate that is made for it, and a client that trusts the root alone. */
static const char *judge(const struct world *world, struct tls_subject subject,
                         enum tls_verify verify, const char *host)
{
    struct tls_issuer shown;
    struct tls_client *client = tls_issuer_client(&world->root, verify);
    tls_issuer_make(&shown, subject);
    const char *words = meet(&shown, client, slice_of_text(host));
    tls_issuer_free(&shown);
    tls_client_unref(client);
    return words;
}

static void assert_words(const char *words, const char *wanted)
{
    assert_non_null(words);
    if (strstr(words, wanted) == NULL) {
        fail_msg("'%s' is not in '%s'", wanted, words);
    }
}

/* Whom it trusts ------------------------------------------------------------------------------- */

static void a_certificate_is_for_the_hosts_that_stand_in_it(void **state)
{
    const struct world *world = *state;
    static const struct {
        const char *hosts;
        const char *host;
        bool is_good;
    } cases[] = {
        {"DNS:db.test", "db.test", true},
        {"DNS:db.test", "DB.Test.", true},
        {"DNS:db.test", "other.test", false},
        {"DNS:db.test", "a.db.test", false},
        {"DNS:*.db.test", "a.db.test", true},
        {"DNS:*.db.test", "a.b.db.test", false},
        {"DNS:a*.db.test", "ab.db.test", false},
        {"IP:127.0.0.1", "127.0.0.1", true},
        {"IP:127.0.0.1", "127.0.0.2", false},
        {"IP:fd00:0:0:0:0:0:0:1", "fd00::1", true},
        {"IP:fe80:0:0:0:0:0:0:1", "fe80::1%eth0", true},
        {"DNS:127.0.0.1", "127.0.0.1", false}, /* addresses stand in iPAddress alone */
        {NULL, "CN.test", true},               /* nothing but the common name */
        {"DNS:db.test", "CN.test", false},
        {"email:a@db.test", "db.test", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tls_subject subject = {
            .name = "CN.test", .hosts = cases[i].hosts, .issuer = &world->root};
        const char *words = judge(world, subject, TLS_VERIFY_FULL, cases[i].host);
        if ((words == NULL) != cases[i].is_good) {
            fail_msg("%s for %s: %s", cases[i].hosts, cases[i].host, words);
        }
        assert_null(judge(world, subject, TLS_VERIFY_CA, cases[i].host));
        assert_null(judge(world, subject, TLS_VERIFY_NONE, cases[i].host));
    }
}

static void refusals_are_told_in_words(void **state)
{
    const struct world *world = *state;
    struct tls_subject good = {.name = "x", .hosts = "DNS:db.test", .issuer = &world->root};
    struct tls_subject subject = good;
    assert_null(judge(world, good, TLS_VERIFY_FULL, "db.test"));
    assert_words(judge(world, good, TLS_VERIFY_FULL, "other.test"),
                 "TLS with 'other.test': its certificate is for another host: 'db.test'");
    subject.hosts = "DNS:a.test,IP:127.0.0.1,DNS:b.test,DNS:c.test";
    assert_words(judge(world, subject, TLS_VERIFY_FULL, "db.test"),
                 "is for another host: 'a.test', '127.0.0.1', 'b.test' and others");
    subject.hosts = "DNS:a'b\\\n.test";
    assert_words(judge(world, subject, TLS_VERIFY_FULL, "db.test"), "'a'b\\\\\\n.test'");
    subject = good;
    subject.starts_s = -864000;
    subject.ends_s = -86400;
    assert_words(judge(world, subject, TLS_VERIFY_CA, "db.test"), "its certificate expired on 20");
    subject.starts_s = 86400;
    subject.ends_s = 864000;
    assert_words(judge(world, subject, TLS_VERIFY_CA, "db.test"),
                 "its certificate is not valid before 20");
    subject = good;
    subject.issuer = &world->stranger;
    assert_words(judge(world, subject, TLS_VERIFY_CA, "db.test"),
                 "its certificate was issued by 'Stranger', which is not trusted");
    assert_null(judge(world, subject, TLS_VERIFY_NONE, "db.test"));
    subject.issuer = NULL;
    assert_words(judge(world, subject, TLS_VERIFY_CA, "db.test"),
                 "its certificate was issued by itself and is not trusted");
}

static void issuers_between_are_checked_and_named(void **state)
{
    const struct world *world = *state;
    struct tls_issuer middle;
    struct tls_subject leaf = {.name = "x", .hosts = "DNS:db.test", .issuer = &middle};
    tls_issuer_make(
        &middle, (struct tls_subject){.name = "Middle", .issuer = &world->root, .is_issuer = true});
    assert_null(judge(world, leaf, TLS_VERIFY_FULL, "db.test"));
    struct tls_client *client = tls_issuer_client(&middle, TLS_VERIFY_FULL);
    struct tls_issuer shown;
    tls_issuer_make(&shown, leaf);
    assert_null(meet(&shown, client, SLICE("db.test"))); /* who is named needs no root */
    tls_issuer_free(&shown);
    tls_client_unref(client);
    tls_issuer_free(&middle);
    tls_issuer_make(&middle, (struct tls_subject){.name = "Middle",
                                                  .issuer = &world->root,
                                                  .is_issuer = true,
                                                  .starts_s = -864000,
                                                  .ends_s = -86400});
    assert_words(judge(world, leaf, TLS_VERIFY_FULL, "db.test"),
                 "the certificate of its issuer 'Middle' expired on ");
    tls_issuer_free(&middle);
    tls_issuer_make(&middle, (struct tls_subject){.name = "Middle", .issuer = &world->root});
    assert_words(judge(world, leaf, TLS_VERIFY_FULL, "db.test"),
                 "the certificate of its issuer 'Middle' is refused: ");
    tls_issuer_free(&middle);
}

static void a_server_can_be_trusted_by_its_own_certificate(void **state)
{
    (void)state;
    struct tls_issuer own;
    tls_issuer_make(&own, (struct tls_subject){.name = "x", .hosts = "DNS:db.test"});
    struct tls_client *client = tls_issuer_client(&own, TLS_VERIFY_FULL);
    assert_null(meet(&own, client, SLICE("db.test")));
    assert_words(meet(&own, client, SLICE("other.test")), "is for another host");
    tls_client_unref(client);
    tls_issuer_free(&own);
}

static void the_systems_issuers_are_trusted_when_none_are_given(void **state)
{
    const struct world *world = *state;
    struct tls_issuer shown;
    struct tls_client *client = NULL;
    struct tls_client_settings settings = {.verify = TLS_VERIFY_FULL};
    tls_issuer_make(
        &shown, (struct tls_subject){.name = "x", .hosts = "DNS:db.test", .issuer = &world->root});
    assert_int_equal(tls_client_new(&settings, &client, NULL), ERR_NONE);
    assert_words(meet(&shown, client, SLICE("db.test")), "issued by 'Root', which is not trusted");
    tls_client_unref(client);
    assert_int_equal(setenv("SSL_CERT_FILE", world->root.path, 1), 0);
    assert_int_equal(tls_client_new(&settings, &client, NULL), ERR_NONE);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    assert_null(meet(&shown, client, SLICE("db.test")));
    tls_client_unref(client);
    tls_issuer_free(&shown);
}

/* Settings ------------------------------------------------------------------------------------- */

static void assert_refused(struct tls_client_settings settings, enum err code, const char *words)
{
    struct tls_client *client = NULL;
    struct error error = {.code = ERR_NONE};
    assert_int_equal(tls_client_new(&settings, &client, &error), code);
    assert_null(client);
    assert_words(error.message, words);
}

static void settings_that_are_wrong_are_named(void **state)
{
    const struct world *world = *state;
    struct tls_pem good = {.path = world->root.path};
    struct tls_pem other = {.path = world->stranger.path};
    struct tls_pem gone = {.path = "/nowhere/ca.pem"};
    struct tls_pem text = {.bytes = SLICE("hello")};
    struct tls_pem cut = {.bytes = SLICE("-----BEGIN CERTIFICATE-----\nMIIB\n")};
    assert_refused((struct tls_client_settings){.trusted = gone}, ERR_IO,
                   "issuers' certificate '/nowhere/ca.pem' cannot be read");
    assert_refused((struct tls_client_settings){.trusted = text}, ERR_INPUT,
                   "the issuers' certificate holds no PEM certificate");
    assert_refused((struct tls_client_settings){.trusted = cut}, ERR_INPUT,
                   "the issuers' certificate is damaged: ");
    assert_refused((struct tls_client_settings){.certificate = gone}, ERR_IO, "certificate '/now");
    assert_refused((struct tls_client_settings){.certificate = text}, ERR_INPUT,
                   "the certificate is not a PEM certificate");
    assert_refused((struct tls_client_settings){.certificate = good, .key = text}, ERR_INPUT,
                   "the key is not a PEM private key");
    assert_refused((struct tls_client_settings){.certificate = good, .key = other}, ERR_INPUT,
                   "does not belong to certificate '");
    assert_refused((struct tls_client_settings){.key = good}, ERR_INPUT,
                   "a key was given without its certificate");
}

static void a_host_that_no_certificate_has_is_refused(void **state)
{
    const struct world *world = *state;
    static const struct slice hosts[] = {SLICE_INIT(""), SLICE_INIT("."), SLICE_INIT("a b"),
                                         SLICE_INIT("a\0b"), SLICE_INIT("\xc3\xa4.test")};
    struct tls_client *client = tls_issuer_client(&world->root, TLS_VERIFY_FULL);
    struct loop *loop = loop_new(NULL);
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        if (i == 1) {
            continue; /* the root of all names: a name like others, and nobody's */
        }
        int fds[2];
        char byte = 0;
        struct stream *stream = NULL;
        struct error error = {.code = ERR_NONE};
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
        assert_int_equal(tls_stream_new_client(client, hosts[i], socket_stream_new(loop, fds[0]),
                                               &stream, &error),
                         ERR_INPUT);
        assert_words(error.message, "TLS: the host's name is none");
        loop_turn(loop);
        assert_int_equal(read(fds[1], &byte, 1), 0); /* closed */
        assert_int_equal(close(fds[1]), 0);
    }
    loop_free(loop);
    tls_client_unref(client);
}

/* What can be read ----------------------------------------------------------------------------- */

static void assert_bytes(const struct buf *a, const struct buf *b)
{
    assert_true(a->len > 0);
    assert_true(slice_equals(buf_view(a), buf_view(b)));
}

static void both_sides_see_the_same_certificate_and_binding(void **state)
{
    const struct world *world = *state;
    static const struct {
        const char *digest;
        size_t len;
    } cases[] = {{NULL, 32}, {"SHA384", 48}, {"SHA512", 64}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tls_issuer shown;
        struct tls_pair pair;
        struct buf bytes[5];
        tls_issuer_make(
            &shown,
            (struct tls_subject){.name = "x", .issuer = &world->root, .digest = cases[i].digest});
        struct tls_server *server = tls_issuer_server(&shown, SLICE_NONE);
        struct tls_client *client = tls_issuer_client(&world->root, TLS_VERIFY_NONE);
        for (size_t j = 0; j < COUNT_OF(bytes); j++) {
            buf_init(&bytes[j], LIMIT_KIB(16));
        }
        tls_pair_start(&pair, (struct tls_pair_wish){.server = server, .client = client});
        assert_true(tls_pair_await(&pair));
        assert_int_equal(tls_stream_peer_certificate(pair.client.stream, &bytes[0]), ERR_NONE);
        assert_int_equal(tls_stream_own_certificate(pair.server.stream, &bytes[1]), ERR_NONE);
        assert_bytes(&bytes[0], &bytes[1]);
        assert_int_equal(tls_stream_end_point(pair.client.stream, &bytes[2]), ERR_NONE);
        assert_int_equal(tls_stream_end_point(pair.server.stream, &bytes[3]), ERR_NONE);
        assert_bytes(&bytes[2], &bytes[3]);
        assert_int_equal(bytes[2].len, cases[i].len);
        assert_int_equal(tls_stream_own_certificate(pair.client.stream, &bytes[4]), ERR_NOT_FOUND);
        assert_int_equal(tls_stream_peer_certificate(pair.server.stream, &bytes[4]), ERR_NOT_FOUND);
        unsigned char *der = NULL;
        int len = i2d_X509(shown.certificate, &der);
        assert_true(slice_equals(buf_view(&bytes[0]), slice_of(der, (size_t)len)));
        OPENSSL_free(der);
        for (size_t j = 0; j < COUNT_OF(bytes); j++) {
            buf_release(&bytes[j]);
        }
        tls_pair_end(&pair);
        tls_server_unref(server);
        tls_client_unref(client);
        tls_issuer_free(&shown);
    }
}

static void a_signature_without_a_digest_has_no_binding(void **state)
{
    (void)state;
    struct tls_issuer shown;
    struct tls_pair pair;
    struct buf hash CLEANUP(buf_release);
    buf_init(&hash, 100);
    tls_issuer_make(&shown, (struct tls_subject){.name = "x", .digest = "ED25519"});
    struct tls_server *server = tls_issuer_server(&shown, SLICE_NONE);
    struct tls_client *client = tls_issuer_client(&shown, TLS_VERIFY_CA);
    tls_pair_start(&pair, (struct tls_pair_wish){.server = server, .client = client});
    assert_true(tls_pair_await(&pair));
    assert_int_equal(tls_stream_end_point(pair.client.stream, &hash), ERR_UNSUPPORTED);
    tls_pair_end(&pair);
    tls_server_unref(server);
    tls_client_unref(client);
    tls_issuer_free(&shown);
}

static void the_protocol_that_both_know_is_chosen(void **state)
{
    const struct world *world = *state;
    static const struct {
        struct slice offered;
        struct slice known;
        struct slice chosen;
        const char *words;
    } cases[] = {
        {SLICE_INIT("postgresql"), SLICE_INIT("postgresql"), SLICE_INIT("postgresql"), NULL},
        {SLICE_INIT("h2,http/1.1"), SLICE_INIT("http/1.1"), SLICE_INIT("http/1.1"), NULL},
        {SLICE_INIT(""), SLICE_INIT("h2"), SLICE_INIT(""), NULL},
        {SLICE_INIT("h2"), SLICE_INIT(""), SLICE_INIT(""), NULL},
        {SLICE_INIT("h3"), SLICE_INIT("h2"), SLICE_INIT(""), "no application protocol"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tls_pair pair;
        struct tls_client *client = NULL;
        struct tls_client_settings settings = {.verify = TLS_VERIFY_NONE,
                                               .protocols = cases[i].offered};
        struct tls_server *server = tls_issuer_server(&world->root, cases[i].known);
        assert_int_equal(tls_client_new(&settings, &client, NULL), ERR_NONE);
        tls_pair_start(&pair, (struct tls_pair_wish){
                                  .server = server, .client = client, .host = SLICE("db.test")});
        assert_int_equal(tls_pair_await(&pair), cases[i].words == NULL);
        if (cases[i].words == NULL) {
            assert_true(slice_equals(stream_protocol(pair.client.stream), cases[i].chosen));
            assert_true(slice_equals(stream_protocol(pair.server.stream), cases[i].chosen));
            assert_true(stream_is_encrypted(pair.client.stream));
        } else {
            assert_words(pair.client.error.message, "TLS with 'db.test': refused by the other ");
            assert_words(pair.client.error.message, cases[i].words);
        }
        tls_pair_end(&pair);
        tls_server_unref(server);
        tls_client_unref(client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_is_for_the_hosts_that_stand_in_it),
        cmocka_unit_test(refusals_are_told_in_words),
        cmocka_unit_test(issuers_between_are_checked_and_named),
        cmocka_unit_test(a_server_can_be_trusted_by_its_own_certificate),
        cmocka_unit_test(the_systems_issuers_are_trusted_when_none_are_given),
        cmocka_unit_test(settings_that_are_wrong_are_named),
        cmocka_unit_test(a_host_that_no_certificate_has_is_refused),
        cmocka_unit_test(both_sides_see_the_same_certificate_and_binding),
        cmocka_unit_test(a_signature_without_a_digest_has_no_binding),
        cmocka_unit_test(the_protocol_that_both_know_is_chosen),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("io/tls_client", tests, make_world, free_world);
}
