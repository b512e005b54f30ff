/* SPDX-License-Identifier: MIT */
/* What requests and upgraded connections share of libcurl. */
#ifndef GH_CLIENT_CLIENT_INTERNAL_H
#define GH_CLIENT_CLIENT_INTERNAL_H

#include "client/client.h"

#include <curl/curl.h>

/* Address, certificates, proxy, times; 'cause' has CURL_ERROR_SIZE bytes and lasts as long. */
void client_curl_set(CURL *curl, const struct client *client, const char *url, char *cause);
/* ERR_UNAVAILABLE, with the host and what to do. */
enum err client_curl_fail(const struct client *client, CURLcode code, const char *cause,
                          struct error *reterr) MUST_USE;

#endif
