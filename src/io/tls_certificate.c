/* SPDX-License-Identifier: MIT */
#include "base/must.h"
#include "base/text.h"
#include "io/tls_internal.h"
#include "io/tls_stream.h"

#include <arpa/inet.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#define TLS_NAMES_TOLD 3

void tls_certificate_date(const ASN1_TIME *time, char *ret_date)
{
    struct tm when = {.tm_mday = 1};
    (void)ASN1_TIME_to_tm(time, &when);
    (void)strftime(ret_date, TLS_DATE_SIZE, "%Y-%m-%d", &when);
}

/* Words about a certificate that is refused ---------------------------------------------------- */

static void write_string(struct writer *writer, const ASN1_STRING *string)
{
    unsigned char *text = NULL;
    int len = ASN1_STRING_to_UTF8(&text, string);
    if (len > 0) {
        text_escape(writer, slice_of(text, (size_t)len));
    }
    OPENSSL_free(text);
}

/* What people call it: the common name, else another name that stands there. */
static void write_name(struct writer *writer, const X509_NAME *name)
{
    static const int kinds[] = {NID_commonName, NID_organizationalUnitName, NID_organizationName};
    int index = -1;
    for (size_t i = 0; i < COUNT_OF(kinds) && index < 0; i++) {
        index = X509_NAME_get_index_by_NID(name, kinds[i], -1);
    }
    writer_bytes(writer, SLICE("'"));
    if (index >= 0) {
        write_string(writer, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)));
    }
    writer_bytes(writer, SLICE("'"));
}

static void write_address(struct writer *writer, const ASN1_OCTET_STRING *address)
{
    char text[INET6_ADDRSTRLEN] = "?";
    int len = ASN1_STRING_length(address);
    if (len == 4 || len == 16) {
        (void)inet_ntop(len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), text,
                        sizeof(text));
    }
    writer_format(writer, "'%s'", text);
}

static bool write_subject(struct writer *writer, const GENERAL_NAME *name)
{
    if (name->type == GEN_IPADD) {
        write_address(writer, name->d.iPAddress);
    } else if (name->type == GEN_DNS) {
        writer_bytes(writer, SLICE("'"));
        write_string(writer, name->d.dNSName);
        writer_bytes(writer, SLICE("'"));
    }
    return name->type == GEN_IPADD || name->type == GEN_DNS;
}

/* The hosts that it is for. */
static void write_subjects(struct writer *writer, const X509 *certificate)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int count = names == NULL ? 0 : sk_GENERAL_NAME_num(names);
    int told = 0;
    int next = 0;
    while (next < count && told < TLS_NAMES_TOLD) {
        size_t len = writer->buf->len;
        writer_bytes(writer, told == 0 ? SLICE("") : SLICE(", "));
        if (write_subject(writer, sk_GENERAL_NAME_value(names, next++))) {
            told++;
        } else {
            buf_truncate(writer->buf, len);
        }
    }
    if (told == 0) {
        write_name(writer, X509_get_subject_name(certificate));
    }
    writer_bytes(writer, next < count ? SLICE(" and others") : SLICE(""));
    GENERAL_NAMES_free(names);
}

static void write_whose(struct writer *writer, const X509 *certificate, int depth)
{
    if (depth == 0) {
        writer_bytes(writer, SLICE("its certificate "));
        return;
    }
    writer_bytes(writer, SLICE("the certificate of its issuer "));
    write_name(writer, X509_get_subject_name(certificate));
    writer_bytes(writer, SLICE(" "));
}

static void write_cause(struct writer *writer, const X509 *certificate, int error)
{
    char date[TLS_DATE_SIZE];
    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        tls_certificate_date(X509_get0_notAfter(certificate), date);
        writer_format(writer, "expired on %s", date);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        tls_certificate_date(X509_get0_notBefore(certificate), date);
        writer_format(writer, "is not valid before %s", date);
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        writer_bytes(writer, SLICE("is for another host: "));
        write_subjects(writer, certificate);
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        writer_bytes(writer, SLICE("was issued by itself and is not trusted"));
        break;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        writer_bytes(writer, SLICE("is not trusted"));
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        writer_bytes(writer, SLICE("was issued by "));
        write_name(writer, X509_get_issuer_name(certificate));
        writer_bytes(writer, SLICE(", which is not trusted"));
        break;
    default:
        writer_format(writer, "is refused: %s", X509_verify_cert_error_string(error));
        break;
    }
}

int tls_certificate_on_step(int is_good, X509_STORE_CTX *step)
{
    if (is_good == 1) {
        return 1;
    }
    SSL *ssl = X509_STORE_CTX_get_ex_data(step, SSL_get_ex_data_X509_STORE_CTX_idx());
    const X509 *certificate = X509_STORE_CTX_get_current_cert(step);
    struct buf words CLEANUP(buf_release);
    buf_init(&words, ERROR_MESSAGE_SIZE);
    struct writer writer = writer_to(&words);
    if (certificate != NULL) {
        write_whose(&writer, certificate, X509_STORE_CTX_get_error_depth(step));
        write_cause(&writer, certificate, X509_STORE_CTX_get_error(step));
    }
    if (words.len > 0) {
        tls_stream_note(SSL_get_app_data(ssl), buf_view(&words));
    }
    return 0;
}

/* Reading certificates ------------------------------------------------------------------------- */

static enum err append_der(const X509 *certificate, struct buf *der)
{
    unsigned char *bytes = NULL;
    int len = certificate == NULL ? 0 : i2d_X509(certificate, &bytes);
    if (len <= 0) {
        return ERR_NOT_FOUND;
    }
    enum err err = buf_append(der, slice_of(bytes, (size_t)len));
    OPENSSL_free(bytes);
    return err;
}

enum err tls_stream_peer_certificate(const struct stream *stream, struct buf *der)
{
    return append_der(SSL_get0_peer_certificate(tls_stream_ssl(stream)), der);
}

enum err tls_server_certificate(const struct tls_server *server, struct buf *der)
{
    return append_der(SSL_CTX_get0_certificate(server->context.ssl), der);
}

enum err tls_stream_own_certificate(const struct stream *stream, struct buf *der)
{
    return append_der(SSL_get_certificate(tls_stream_ssl(stream)), der);
}

enum err tls_stream_end_point(const struct stream *stream, struct buf *hash)
{
    SSL *ssl = tls_stream_ssl(stream);
    X509 *certificate =
        SSL_is_server(ssl) == 1 ? SSL_get_certificate(ssl) : SSL_get0_peer_certificate(ssl);
    int kind = NID_undef;
    if (certificate == NULL) {
        return ERR_NOT_FOUND;
    }
    if (X509_get_signature_info(certificate, &kind, NULL, NULL, NULL) != 1) {
        ERR_clear_error();
    }
    const EVP_MD *digest =
        kind == NID_md5 || kind == NID_sha1 ? EVP_sha256() : EVP_get_digestbynid(kind);
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (digest == NULL || X509_digest(certificate, digest, bytes, &len) != 1) {
        ERR_clear_error();
        return ERR_UNSUPPORTED;
    }
    return buf_append(hash, slice_of(bytes, len));
}

struct slice tls_stream_server_name(const struct stream *stream)
{
    const char *name = SSL_get_servername(tls_stream_ssl(stream), TLSEXT_NAMETYPE_host_name);
    return slice_of_text(name == NULL ? "" : name);
}
