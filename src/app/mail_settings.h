/* SPDX-License-Identifier: MIT */
/* The mail server of the settings: what they must be together, and the password's file. */
#ifndef GH_APP_MAIL_SETTINGS_H
#define GH_APP_MAIL_SETTINGS_H

#include "app/settings.h"
#include "notify/mail.h"

/* Reads the file of the password: before the sandbox. Without --smtp-host there is no server, and
 * the other settings of one are refused. */
enum err mail_settings_read_in(struct arena *arena, const struct settings *settings,
                               struct mail_server *ret_server, struct error *reterr) MUST_USE;

#endif
