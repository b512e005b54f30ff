/* SPDX-License-Identifier: MIT */
#include "wire/ssh_certificate.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/reader.h"
#include "base/text.h"
#include "base/writer.h"

struct certificate_form {
    const char *type;
    const char *key_type;
    size_t fields; /* that the key has behind its type */
};

static const struct certificate_form certificate_forms[] = {
    {"ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519", 1},
    {"ecdsa-sha2-nistp256-cert-v01@openssh.com", "ecdsa-sha2-nistp256", 2},
    {"ecdsa-sha2-nistp384-cert-v01@openssh.com", "ecdsa-sha2-nistp384", 2},
    {"ecdsa-sha2-nistp521-cert-v01@openssh.com", "ecdsa-sha2-nistp521", 2},
    {"ssh-rsa-cert-v01@openssh.com", "ssh-rsa", 2},
    {"sk-ssh-ed25519-cert-v01@openssh.com", "sk-ssh-ed25519@openssh.com", 2},
    {"sk-ecdsa-sha2-nistp256-cert-v01@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", 3},
};

static struct slice certificate_field(struct reader *reader)
{
    size_t size = reader_u32(reader);
    return reader_view(reader, size);
}

static const struct certificate_form *certificate_form_of(struct slice type)
{
    for (size_t i = 0; i < COUNT_OF(certificate_forms); i++) {
        if (slice_equals(type, slice_of_text(certificate_forms[i].type))) {
            return &certificate_forms[i];
        }
    }
    return NULL;
}

bool sshwire_certificate_is(struct slice blob)
{
    struct reader reader = reader_of(blob);
    return certificate_form_of(certificate_field(&reader)) != NULL;
}

/* Lists --------------------------------------------------------------------------------------- */

struct slice sshwire_list_next(struct slice *list)
{
    struct reader reader = reader_of(*list);
    struct slice text = certificate_field(&reader);
    *list = reader.failed ? SLICE("") : reader_view_rest(&reader);
    return text;
}

struct slice sshwire_list_find(struct slice list, struct slice name)
{
    while (list.len > 0) {
        struct slice own = sshwire_list_next(&list);
        struct slice value = sshwire_list_next(&list);
        if (slice_equals(own, name)) {
            return value;
        }
    }
    return SLICE_NONE;
}

struct slice sshwire_option_text(struct slice value)
{
    struct reader reader = reader_of(value);
    struct slice text = certificate_field(&reader);
    return reader_done(&reader) == ERR_NONE ? text : SLICE_NONE;
}

/* Whole texts, or pairs of them whose names come once. */
static bool certificate_list_is_right(struct slice list, bool has_values)
{
    struct reader reader = reader_of(list);
    size_t count = 0;
    while (reader_left(&reader) > 0 && !reader.failed) {
        struct slice before = slice_sub(list, 0, reader.index);
        struct slice name = certificate_field(&reader);
        struct slice value = has_values ? certificate_field(&reader) : SLICE("");
        bool is_right = name.len > 0 && text_is_utf8(name) &&
                        !(has_values && sshwire_list_find(before, name).at != NULL);
        (void)value;
        if (!is_right || ++count > LIMIT_SSH_CERTIFICATE_NAMES) {
            return false;
        }
    }
    return reader_done(&reader) == ERR_NONE;
}

/* Reading ------------------------------------------------------------------------------------- */

/* As it stands alone. */
static struct slice certificate_read_key_in(struct arena *arena,
                                            const struct certificate_form *form,
                                            struct reader *reader)
{
    size_t start = reader->index;
    struct buf blob;
    buf_init(&blob, LIMIT_SSH_CERTIFICATE_SIZE * 2);
    for (size_t i = 0; i < form->fields; i++) {
        (void)certificate_field(reader);
    }
    struct slice fields = slice_sub(reader->input, start, reader->index - start);
    enum err err = sshwire_field_write(&blob, slice_of_text(form->key_type));
    err = err == ERR_NONE ? buf_append(&blob, fields) : err;
    struct slice key = err == ERR_NONE ? arena_copy(arena, buf_view(&blob)) : SLICE("");
    buf_release(&blob);
    return key;
}

static enum err certificate_check(const struct sshwire_certificate *certificate,
                                  struct error *reterr)
{
    struct sshwire_key key;
    enum err err = sshwire_key_read(certificate->key, &key, reterr);
    if (err == ERR_NONE) {
        err = sshwire_key_read(certificate->signer, &key, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (!text_is_utf8(certificate->id) ||
        !certificate_list_is_right(certificate->principals, false) ||
        !certificate_list_is_right(certificate->options, true) ||
        !certificate_list_is_right(certificate->extensions, true)) {
        return fail(reterr, ERR_INPUT, "a list in the certificate is not one");
    }
    return ERR_NONE;
}

enum err sshwire_certificate_read_in(struct arena *arena, struct slice blob,
                                     struct sshwire_certificate *ret_certificate,
                                     struct error *reterr)
{
    struct sshwire_certificate certificate = {.role = 0};
    struct reader reader = reader_of(blob);
    certificate.type = certificate_field(&reader);
    const struct certificate_form *form = certificate_form_of(certificate.type);
    if (form == NULL || blob.len > LIMIT_SSH_CERTIFICATE_SIZE) {
        return fail(reterr, ERR_INPUT, "this is no certificate of a kind that is known");
    }
    certificate.nonce = certificate_field(&reader);
    certificate.key = certificate_read_key_in(arena, form, &reader);
    certificate.serial = reader_u64(&reader);
    certificate.role = reader_u32(&reader);
    certificate.id = certificate_field(&reader);
    certificate.principals = certificate_field(&reader);
    certificate.valid_after = reader_u64(&reader);
    certificate.valid_before = reader_u64(&reader);
    certificate.options = certificate_field(&reader);
    certificate.extensions = certificate_field(&reader);
    (void)certificate_field(&reader); /* kept for later, and ignored, by its specification */
    certificate.signer = certificate_field(&reader);
    certificate.signed_part = slice_sub(blob, 0, reader.index);
    certificate.signature = certificate_field(&reader);
    if (reader_done(&reader) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "the certificate is not whole");
    }
    enum err err = certificate_check(&certificate, reterr);
    if (err == ERR_NONE) {
        *ret_certificate = certificate;
    }
    return err;
}

/* Writing ------------------------------------------------------------------------------------- */

static void certificate_put(struct writer *writer, struct slice text)
{
    writer_u32(writer, (uint32_t)text.len);
    writer_bytes(writer, text);
}

enum err sshwire_field_write(struct buf *buf, struct slice text)
{
    struct writer writer = writer_to(buf);
    certificate_put(&writer, text);
    return writer_done(&writer);
}

enum err sshwire_certificate_write(const struct sshwire_certificate *certificate, struct buf *buf)
{
    const struct certificate_form *form = NULL;
    struct slice fields = certificate->key;
    struct slice type = sshwire_list_next(&fields);
    for (size_t i = 0; i < COUNT_OF(certificate_forms); i++) {
        form = slice_equals(type, slice_of_text(certificate_forms[i].key_type))
                   ? &certificate_forms[i]
                   : form;
    }
    if (form == NULL) {
        return ERR_INPUT;
    }
    struct writer writer = writer_to(buf);
    certificate_put(&writer, slice_of_text(form->type));
    certificate_put(&writer, certificate->nonce);
    writer_bytes(&writer, fields);
    writer_u64(&writer, certificate->serial);
    writer_u32(&writer, certificate->role);
    certificate_put(&writer, certificate->id);
    certificate_put(&writer, certificate->principals);
    writer_u64(&writer, certificate->valid_after);
    writer_u64(&writer, certificate->valid_before);
    certificate_put(&writer, certificate->options);
    certificate_put(&writer, certificate->extensions);
    certificate_put(&writer, SLICE(""));
    certificate_put(&writer, certificate->signer);
    return writer_done(&writer);
}
