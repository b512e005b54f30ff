/* SPDX-License-Identifier: MIT */
/* The headers of proxies, the name in Host, and the addresses, networks, origins and names of
 * settings. The first byte says which header it is and where it is split. Held: libc reads the same
 * addresses, what is written is read back, a list may be split into headers at any comma, and
 * nothing that stands left of an untrusted hop makes a difference. */
#include "fuzz.h"

#include "base/must.h"
#include "wire/forwarded.h"
#include "wire/host_list.h"
#include "wire/origin.h"

#include <arpa/inet.h>

#define TRUSTED       "10.0.0.0/8,2001:db8::/32,127.0.0.1"
#define STANDARD      0x80
#define TEXT_SIZE_MAX 128

static void check_address(struct slice input)
{
    struct address address;
    struct address again;
    char text[ADDRESS_TEXT_SIZE];
    char libc_text[TEXT_SIZE_MAX];
    unsigned char bytes[ADDRESS_SIZE];
    bool is_address = address_parse(input, &address);
    if (input.len < sizeof(libc_text) && slice_find_byte(input, '\0') == input.len) {
        (void)snprintf(libc_text, sizeof(libc_text), "%.*s", SLICE_ARG(input));
        must(is_address == (inet_pton(AF_INET, libc_text, bytes) == 1 ||
                            inet_pton(AF_INET6, libc_text, bytes) == 1));
    }
    if (is_address) {
        struct slice written = address_format(&address, text);
        must(written.len < sizeof(text) && text[written.len] == '\0');
        must(address_parse(written, &again) && address_equals(&address, &again));
    }
}

static void check_settings(struct slice input)
{
    struct network_list networks;
    struct origin_list origins;
    struct error error;
    if (network_list_parse(input, &networks, &error) == ERR_NONE) {
        must(networks.count <= LIMIT_NETWORKS);
        for (size_t i = 0; i < networks.count; i++) {
            must(networks.networks[i].prefix_len <= ADDRESS_SIZE * 8);
            must(network_list_has(&networks, &networks.networks[i].address));
        }
    }
    if (origin_list_parse(input, &origins, &error) == ERR_NONE) {
        must(origins.count <= LIMIT_ORIGINS && !origin_list_has(&origins, SLICE("*")));
        for (size_t i = 0; i < origins.count; i++) {
            must(origin_list_has(&origins, origins.origins[i]));
        }
    }
}

/* What is asked of as this machine alone never begins with a letter but that of localhost. */
static void check_hosts(struct slice input)
{
    struct host_list here = {.is_checked = true};
    struct host_list list;
    host_list_set_listen(&here, SLICE("127.0.0.1"));
    if (host_list_has(&here, input)) {
        must(input.at[0] == '1' || input.at[0] == '[' ||
             slice_equals_nocase(slice_sub(input, 0, 9), SLICE("localhost")));
    }
    if (host_list_parse(input, &list, NULL) != ERR_NONE) {
        return;
    }
    must(list.count <= LIMIT_HOSTS);
    for (size_t i = 0; i < list.count; i++) {
        bool is_ipv6 = slice_find_byte(list.names[i], ':') < list.names[i].len;
        must(is_ipv6 || host_list_has(&list, list.names[i]));
    }
}

static void check_same(const struct forwarded *a, const struct forwarded *b)
{
    must(address_equals(&a->client, &b->client));
    must(a->is_cut == b->is_cut && a->is_https == b->is_https);
}

static void check_header(struct slice name, struct slice value, size_t split)
{
    struct network_list trusted;
    struct address peer;
    struct http_header headers[] = {{name, value}, {name, SLICE("for=192.0.2.1")}};
    must(network_list_parse(SLICE(TRUSTED), &trusted, NULL) == ERR_NONE);
    must(address_parse(SLICE("127.0.0.1"), &peer));
    struct forwarded whole = forwarded_read(headers, 1, &trusted, &peer);
    must(whole.is_cut ? network_list_has(&trusted, &whole.client) : true);

    struct slice rest = SLICE_NONE;
    struct slice after = slice_from(value, split);
    struct slice cut = slice_cut(after, ',', &rest);
    if (rest.at != NULL && slice_find_byte(value, '"') == value.len) {
        headers[0].value = slice_sub(value, 0, value.len - after.len + cut.len);
        headers[1].value = rest;
        struct forwarded parts = forwarded_read(headers, 2, &trusted, &peer);
        check_same(&whole, &parts);
    }

    bool is_standard = slice_equals(name, SLICE("forwarded"));
    headers[0].value = value;
    headers[1].value = is_standard ? SLICE("for=192.0.2.1") : SLICE("192.0.2.1");
    struct forwarded client = forwarded_read(headers, 2, &trusted, &peer);
    struct forwarded alone = forwarded_read(headers + 1, 1, &trusted, &peer);
    check_same(&client, &alone);
    must(!client.is_cut && !network_list_has(&trusted, &client.client));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct slice input = slice_of(bytes + 1, size - 1);
    bool is_standard = (bytes[0] & STANDARD) != 0;
    check_address(input);
    check_settings(input);
    check_hosts(input);
    check_header(is_standard ? SLICE("forwarded") : SLICE("x-forwarded-for"), input,
                 bytes[0] & (STANDARD - 1u));
    return 0;
}
