/* SPDX-License-Identifier: MIT */
/* OpenSSL takes a connection's buffers when it needs them. Left to give them back after each record
 * (SSL_MODE_RELEASE_BUFFERS), it takes and frees two for each message. */
#include "base/limits.h"
#include "io/tls_internal.h"

#include <string.h>

/* Before 3.0.14 OpenSSL freed them also below a record of which it had but the head, or which was
 * not wholly read (CVE-2024-4741): so it is asked first. */
static bool tls_buffers_are_empty(const struct tls_buffers *buffers)
{
    return SSL_has_pending(buffers->ssl) == 0 && strcmp(SSL_rstate_string(buffers->ssl), "RH") == 0;
}

static void tls_buffers_on_time(void *owner)
{
    struct tls_buffers *buffers = owner;
    bool is_quiet = !buffers->were_used && tls_buffers_are_empty(buffers);
    buffers->were_used = false;
    if (is_quiet && SSL_free_buffers(buffers->ssl) == 1) {
        buffers->are_there = false;
        return;
    }
    timer_start(buffers->timer.loop, &buffers->timer, LIMIT_TLS_QUIET_MS);
}

void tls_buffers_init(struct tls_buffers *buffers, SSL *ssl)
{
    *buffers = (struct tls_buffers){.ssl = ssl};
    timer_init(&buffers->timer, tls_buffers_on_time, buffers);
}

void tls_buffers_use(struct tls_buffers *buffers, struct loop *loop)
{
    buffers->were_used = true;
    if (!buffers->are_there) {
        buffers->are_there = true;
        timer_start(loop, &buffers->timer, LIMIT_TLS_QUIET_MS);
    }
}

void tls_buffers_stop(struct tls_buffers *buffers)
{
    timer_stop(&buffers->timer);
    buffers->are_there = false;
}
