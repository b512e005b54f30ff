/* SPDX-License-Identifier: MIT */
/* The handlers that the table in routes.c names, by noun. */
#ifndef GH_API_HANDLERS_H
#define GH_API_HANDLERS_H

#include "http/call.h"

/* health.c */
enum err health_get(struct http_call *call, struct error *reterr);

/* server_info.c */
enum err server_info_get_public(struct http_call *call, struct error *reterr);

/* metrics.c */
enum err metrics_get(struct http_call *call, struct error *reterr);

/* log_levels.c */
enum err log_levels_get(struct http_call *call, struct error *reterr);
enum err log_levels_put(struct http_call *call, struct error *reterr);

/* organizations.c */
enum err organizations_list(struct http_call *call, struct error *reterr);
enum err organizations_create(struct http_call *call, struct error *reterr);

#endif
