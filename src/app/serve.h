/* SPDX-License-Identifier: MIT */
/* 'gatehouse serve' and 'gatehouse check': everything is opened in one order, and closed in the
 * other. */
#ifndef GH_APP_SERVE_H
#define GH_APP_SERVE_H

#include "app/settings.h"

/* Runs until SIGTERM or SIGINT; SIGHUP reads the certificate again. */
enum err serve_run(const struct settings *settings, struct error *reterr) MUST_USE;

/* Opens what serve_run would open, says what there is, and closes it again; a store on a server
 * stays as it is. 'folder' is what is called the data folder. */
enum err serve_check(const struct settings *settings, const char *folder,
                     struct error *reterr) MUST_USE;

#endif
