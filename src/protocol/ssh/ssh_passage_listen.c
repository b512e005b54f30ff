/* SPDX-License-Identifier: MIT */
/* Forwards back: what a client asks to be listened for at the server, what is granted, and which
 * connections a server may therefore open to the client. Answers come in the order of requests,
 * those of the gateway among them. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_passage.h"

#include <inttypes.h>
#include <stdio.h>

#define TEXT_SIZE 400

static bool listen_is(const struct sshd_listening *one, const struct sshwire_forward *forward)
{
    return one->port == forward->port &&
           slice_equals(slice_of_text(one->address), forward->address);
}

static struct sshd_listening *listen_find(struct sshd_passage *self,
                                          const struct sshwire_forward *forward)
{
    for (size_t i = 0; i < self->listening_count; i++) {
        if (listen_is(&self->listening[i], forward)) {
            return &self->listening[i];
        }
    }
    return NULL;
}

bool sshd_is_listened(struct sshd_passage *self, const struct sshwire_tunnel *tunnel)
{
    const struct sshwire_forward forward = {.address = tunnel->host, .port = tunnel->port};
    return listen_find(self, &forward) != NULL;
}

static void listen_record(struct sshd_passage *self, enum sshd_entry_type type, const char *words,
                          const struct sshd_listening *one)
{
    char text[TEXT_SIZE];
    (void)snprintf(text, sizeof(text), "%s %s:%" PRIu32 " at the server", words, one->address,
                   one->port);
    const struct sshd_entry entry = {
        .type = type, .item = ++self->items, .text = slice_of_text(text)};
    sshd_record(self, type == SSHD_ENTRY_REFUSED ? RECORD_FROM_GATEWAY : RECORD_FROM_CLIENT,
                &entry);
    if (type == SSHD_ENTRY_TUNNEL) {
        const struct sshd_entry done = {
            .type = SSHD_ENTRY_DONE, .item = entry.item, .text = SLICE("listening")};
        self->counts.statements++;
        sshd_record(self, RECORD_FROM_TARGET, &done);
    }
}

/* Why it may not be asked for; NULL: it may. */
static const char *listen_refusal(struct sshd_passage *self)
{
    if (sshd_stops_input(self) || sshd_looks_at_output(self) || sshd_is_read_only(self)) {
        return "a tunnel passes the connection's rules by: not from";
    }
    return self->listening_count >= SSHD_LISTENING_MAX
               ? "there are too many forwards back: not from"
               : NULL;
}

/* The gateway's own answers, as far as it is their turn. */
static enum err listen_answer(struct sshd_passage *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && self->asked_count > 0 && self->asked[0].is_refused) {
        const struct sshwire_message no = {.type = SSHWIRE_GLOBAL_FAILURE};
        err = sshd_say(self, PUMP_CLIENT, &no);
        self->asked_count--;
        memmove(&self->asked[0], &self->asked[1], self->asked_count * sizeof(self->asked[0]));
    }
    return err;
}

enum err sshd_listen_ask(struct sshd_passage *self, const struct sshwire_message *message,
                         struct slice frame)
{
    struct sshwire_forward forward;
    bool is_listen = slice_equals(message->name, SLICE("tcpip-forward"));
    if (self->asked == NULL) {
        self->asked = memory_new_array(SSHD_ASKED_MAX, sizeof(*self->asked));
        self->listening = memory_new_array(SSHD_LISTENING_MAX, sizeof(*self->listening));
    }
    if (!message->wants_reply ||
        !(is_listen || slice_equals(message->name, SLICE("cancel-tcpip-forward"))) ||
        sshwire_forward_read(message->body, &forward) != ERR_NONE ||
        forward.address.len >= sizeof(self->asked[0].address) ||
        self->asked_count == SSHD_ASKED_MAX) {
        return ERR_INPUT; /* the front says nothing else */
    }
    struct sshd_listening *one = &self->asked[self->asked_count++];
    *one = (struct sshd_listening){.port = forward.port, .is_cancel = !is_listen};
    (void)snprintf(one->address, sizeof(one->address), "%.*s", SLICE_ARG(forward.address));
    const char *refusal = is_listen ? listen_refusal(self) : NULL;
    if (refusal != NULL) {
        one->is_refused = true;
        listen_record(self, SSHD_ENTRY_REFUSED, refusal, one);
        return listen_answer(self);
    }
    return buf_append(&self->out[PUMP_CLIENT], frame);
}

enum err sshd_listen_answered(struct sshd_passage *self, bool is_success, struct slice frame)
{
    if (self->asked_count == 0 || self->asked[0].is_refused) {
        return ERR_INPUT;
    }
    struct sshd_listening one = self->asked[0];
    const struct sshwire_forward forward = {.address = slice_of_text(one.address),
                                            .port = one.port};
    struct sshd_listening *kept = listen_find(self, &forward);
    self->asked_count--;
    memmove(&self->asked[0], &self->asked[1], self->asked_count * sizeof(self->asked[0]));
    if (!is_success && !one.is_cancel) {
        listen_record(self, SSHD_ENTRY_REFUSED, "neither connection nor server forwards back from",
                      &one);
    } else if (is_success && one.is_cancel && kept != NULL) {
        *kept = self->listening[--self->listening_count];
    } else if (is_success && !one.is_cancel && kept == NULL &&
               self->listening_count < SSHD_LISTENING_MAX) {
        self->listening[self->listening_count++] = one;
        listen_record(self, SSHD_ENTRY_TUNNEL, "forward back from", &one);
    }
    enum err err = buf_append(&self->out[PUMP_TARGET], frame);
    return err == ERR_NONE ? listen_answer(self) : err;
}
