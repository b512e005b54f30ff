/* SPDX-License-Identifier: MIT */
#include "protocol/front.h"

#include "base/limits.h"

void front_config_set_tls(struct front_config *config, struct tls_server *tls)
{
    struct buf der CLEANUP(buf_release);
    buf_init(&der, LIMIT_FRONT_CERTIFICATE_SIZE);
    config->tls = tls;
    if (tls_server_certificate(tls, &der) != ERR_NONE ||
        scram_end_point_of(buf_view(&der), &config->end_point, NULL) != ERR_NONE) {
        config->end_point.size = 0;
    }
}
