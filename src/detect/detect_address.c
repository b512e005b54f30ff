/* SPDX-License-Identifier: MIT */
/* Addresses: e-mail, URLs and the credentials in them, IPv6 and MAC. */
#include "detect/detect_internal.h"

#include "base/limits.h"

#include <string.h>

enum {
    LOCAL_SIZE_MAX = 64,
    DOMAIN_SIZE_MAX = 253,
    LABEL_SIZE_MAX = 63,
    REACH_SIZE_MAX = DOMAIN_SIZE_MAX + LABEL_SIZE_MAX + 2, /* of what is read for a domain */
    JOINED_DIGITS_MIN = 4,
    SCORE_EMAIL = 85,
    SCORE_EMAIL_IN_CONTEXT = 95,
};

/* Of UTF-8: what begins or goes on with a letter of Latin, Greek or Cyrillic; not punctuation and
 * not the scripts that are written without spaces. */
static size_t letter_back(const struct detect_scan *scan, size_t at)
{
    unsigned char last = (unsigned char)byte_before(scan, at, 1);
    unsigned char lead = (unsigned char)byte_before(scan, at, 2);
    return last >= 0x80 && last < 0xc0 && lead >= 0xc3 && lead <= 0xd1 ? 2 : 0;
}

static bool is_local(char byte)
{
    return detect_value[(unsigned char)byte] <= 38;
}

/* Where the bytes begin that may stand before an '@' at 'at'. */
static size_t start_of_local(const struct detect_scan *scan, size_t at, size_t low)
{
    size_t start = at;
    while (start > low && at - start < LOCAL_SIZE_MAX) {
        size_t size = is_local(byte_before(scan, start, 1)) ? 1 : letter_back(scan, start);
        if (size == 0 || size > start - low) {
            break;
        }
        start -= size;
    }
    return start;
}

/* Quotes and the like before it are no part of an address. */
static size_t skip_quotes(const struct detect_scan *scan, size_t start, size_t at)
{
    while (start < at && !is_word(byte_at(scan, start)) && (byte_at(scan, start) & 0x80) == 0 &&
           byte_at(scan, start) != '_') {
        start++;
    }
    return start;
}

/* Endings of files: pictures for twice as many pixels have an '@' in their name, services of
 * systemd too. */
static bool is_file_ending(struct slice label)
{
    /* by their size, one after the other */
    static const char *const endings[] = {"",
                                          "",
                                          "jstsgzpo",
                                          "pngjpggifsvgicocssmjstxtpdfcsvxmlymllogtgzjarbmpmp4map",
                                          "jpegwebpjsonhtmlyamltiffdocxxlsx",
                                          "timer",
                                          "socketheader",
                                          "service"};
    static const char last[] = "gfostvlzrp4nxeGFOSTVLZRPNXE"; /* of all, for a quick no */
    if (label.len >= sizeof(endings) / sizeof(endings[0]) || label.len == 0 ||
        !is_one_of(label.at[label.len - 1], last)) {
        return false;
    }
    for (const char *ending = endings[label.len]; *ending != '\0'; ending += label.len) {
        size_t same = 0;
        while (same < label.len && (label.at[same] | 0x20) == (ending[same] | 0x20)) {
            same++;
        }
        if (same == label.len) {
            return true;
        }
    }
    return false;
}

static bool is_label_byte(char byte)
{
    return detect_value[(unsigned char)byte] <= 36 || (byte & 0x80) != 0;
}

/* Where the name of a host with at least one dot ends; 0 when there is none. 'ret_last' is its last
 * label. */
static size_t end_of_domain(const struct detect_scan *scan, size_t at, struct slice *ret_last)
{
    size_t end = at, label = at, dots = 0;
    while (end - at <= DOMAIN_SIZE_MAX) {
        while (end - label <= LABEL_SIZE_MAX && is_label_byte(byte_at(scan, end))) {
            end++;
        }
        if (end == label || end - label > LABEL_SIZE_MAX || byte_at(scan, label) == '-') {
            return 0;
        }
        if (byte_at(scan, end) != '.' || !is_label_byte(byte_at(scan, end + 1)) ||
            byte_at(scan, end + 1) == '-') {
            break;
        }
        dots++;
        label = ++end;
    }
    while (end > label && byte_before(scan, end, 1) == '-') {
        end--;
    }
    *ret_last = slice_sub(scan->text, label, end - label);
    return dots > 0 ? end : 0;
}

/* Not a number: a version, or an address. */
static bool is_top_level(struct slice label)
{
    if (label.len < 2) {
        return false;
    }
    if (label.len > 4 && (label.at[0] | 0x20) == 'x' && (label.at[1] | 0x20) == 'n' &&
        label.at[2] == '-') {
        return true;
    }
    for (size_t i = 0; i < label.len; i++) {
        if (!is_letter(label.at[i]) && (label.at[i] & 0x80) == 0) {
            return false;
        }
    }
    return true;
}

/* A number may be written right behind an address, "a@example.com4111…": the last label of a domain
 * that ends with one is taken for what stands before it, and all of it for the address. */
static struct slice label_before_number(struct slice last)
{
    size_t letters = 0, digits = 0;
    while (letters < last.len && is_letter(last.at[letters])) {
        letters++;
    }
    for (size_t i = letters; i < last.len; i++) {
        digits += is_digit(last.at[i]);
    }
    bool is_joined = letters >= 2 && digits >= JOINED_DIGITS_MIN;
    return slice_sub(last, 0, is_joined ? letters : last.len);
}

/* git@host:path is no address, unless the path begins with one. */
static bool is_remote(const struct detect_scan *scan, size_t start, size_t end)
{
    if (byte_at(scan, end) != ':' || !is_word(byte_at(scan, end + 1)) || end - start <= 4 ||
        memcmp(scan->text.at + start, "git@", 4) != 0) {
        return false;
    }
    size_t next = end + 1;
    while (next - end <= LOCAL_SIZE_MAX &&
           (is_local(byte_at(scan, next)) || (byte_at(scan, next) & 0x80) != 0)) {
        next++;
    }
    return byte_at(scan, next) != '@';
}

/* Whether that domain is one of an address. */
static bool is_mail_domain(const struct detect_scan *scan, size_t at, size_t end, struct slice last)
{
    bool is_version = is_digit(byte_at(scan, at + 1)) &&
                      (byte_at(scan, at + 2) == '.' || byte_at(scan, at + 2) == 'x');
    return end != 0 && is_top_level(last) && !is_version && !is_file_ending(last);
}

/* Where the rest of the text begins for an address: not within what was found before and is not
 * going to be beaten by it. */
static size_t start_of_rest(const struct detect_scan *scan, size_t at)
{
    const struct detect_finding *pending = &scan->pending;
    size_t end = pending->offset + pending->len;
    bool stays = pending->len > 0 && end <= at && pending->score >= SCORE_EMAIL;
    return stays ? end : scan->floor;
}

/* The '@' of a domain that may go on up to 'at', or SIZE_MAX. */
static size_t sign_before(const struct detect_scan *scan, size_t at, size_t low)
{
    size_t start = at;
    while (start > low && at - start < REACH_SIZE_MAX &&
           (is_label_byte(byte_before(scan, start, 1)) || byte_before(scan, start, 1) == '.')) {
        start--;
    }
    return start > low && byte_before(scan, start, 1) == '@' ? start - 1 : SIZE_MAX;
}

/* Where an address is, and what may go on before it. */
struct local {
    size_t begin;
    size_t start; /* behind quotes */
};

static struct local local_before(const struct detect_scan *scan, size_t at, size_t low)
{
    size_t begin = start_of_local(scan, at, low);
    return (struct local){.begin = begin, .start = skip_quotes(scan, begin, at)};
}

/* Addresses that run into each other are one, or what is left of the one when the other is gone
 * might be another: "a@b.com.c@d.com". Where all of them begin that end with the one at 'at', which
 * is 'at' when there is none; SIZE_MAX, in the pending one, and nothing stands between the two. */
static size_t start_of_joined(const struct detect_scan *scan, size_t at, size_t low,
                              struct local local)
{
    size_t start = at, sign = at;
    while (local.start < sign) {
        start = local.start;
        sign = local.begin == low ? SIZE_MAX : sign_before(scan, local.begin, low);
        if (sign == SIZE_MAX) {
            return start;
        }
        local = local_before(scan, sign, low);
    }
    bool goes_on =
        local.begin == low && scan->pending.len > 0 && scan->pending.type == DETECT_EMAIL_ADDRESS;
    return goes_on ? SIZE_MAX : start;
}

/* "https://user@host": no more than who asks. */
static bool is_user_of_url(const struct detect_scan *scan, size_t start, size_t at)
{
    return byte_before(scan, start, 1) == '/' && byte_before(scan, start, 2) == '/' &&
           memchr(scan->text.at + start, '@', at - start) == NULL;
}

void detect_find_email(struct detect_scan *scan, size_t at)
{
    struct slice last = SLICE_NONE;
    if (!is_wanted(scan, DETECT_EMAIL_ADDRESS, SCORE_EMAIL_IN_CONTEXT)) {
        return;
    }
    size_t end = end_of_domain(scan, at + 1, &last);
    if (!is_mail_domain(scan, at, end, label_before_number(last)) ||
        is_beaten(scan, at, SCORE_EMAIL)) {
        return;
    }
    size_t low = start_of_rest(scan, at);
    struct local local = local_before(scan, at, low);
    if (is_remote(scan, local.start, end)) {
        return;
    }
    unsigned score = SCORE_EMAIL;
    if (!is_wanted(scan, DETECT_EMAIL_ADDRESS, score)) {
        if (!detect_has_context(scan, DETECT_EMAIL_ADDRESS, local.start)) {
            return;
        }
        score = SCORE_EMAIL_IN_CONTEXT;
    }
    size_t start = start_of_joined(scan, at, low, local);
    if (start == SIZE_MAX) {
        scan->pending.len = end - scan->pending.offset;
    } else if (start < at && byte_before(scan, at, 1) != '.' && !is_user_of_url(scan, start, at)) {
        detect_offer(scan, DETECT_EMAIL_ADDRESS, start, end, score);
    }
}

static bool is_url_byte(char byte)
{
    return (unsigned char)byte > ' ' && byte != '"' && byte != '<' && byte != '>' && byte != '\\' &&
           byte != '`' && byte != '{' && byte != '}' && byte != '|' && byte != '^' && byte != 0x7f;
}

static size_t end_of_url(const struct detect_scan *scan, size_t start, size_t low)
{
    size_t end = low;
    while (end - start < LIMIT_DETECT_URL_SIZE && is_url_byte(byte_at(scan, end))) {
        end++;
    }
    while (end > low && strchr(".,;:!?'\")]", byte_before(scan, end, 1)) != NULL) {
        end--;
    }
    return end;
}

/* Without a scheme: www.example.com/path */
void detect_find_www(struct detect_scan *scan, size_t at)
{
    struct slice last = SLICE_NONE;
    if (byte_at(scan, at + 3) != '.' || !is_wanted(scan, DETECT_URL, 65) ||
        is_beaten(scan, at, 65) || !detect_is_start(scan, at)) {
        return;
    }
    size_t end = end_of_domain(scan, at, &last);
    if (end == 0 || last.at == scan->text.at + at + 4 || !is_top_level(last)) {
        return;
    }
    if (byte_at(scan, end) == '/' || byte_at(scan, end) == '?' || byte_at(scan, end) == '#' ||
        (byte_at(scan, end) == ':' && is_digit(byte_at(scan, end + 1)))) {
        end = end_of_url(scan, at, end);
    }
    detect_offer(scan, DETECT_URL, at, end, 65);
}

/* "user:password@" before the host: the part of it that is a secret, both of them. */
static void find_credentials(struct detect_scan *scan, size_t at)
{
    size_t end = at, colon = 0, sign = 0;
    while (end - at < LIMIT_DETECT_VALUE_SIZE && is_url_byte(byte_at(scan, end)) &&
           byte_at(scan, end) != '/' && byte_at(scan, end) != '?' && byte_at(scan, end) != '#') {
        if (byte_at(scan, end) == ':' && colon == 0) {
            colon = end;
        }
        sign = byte_at(scan, end) == '@' ? end : sign;
        end++;
    }
    if (colon != 0 && sign > colon + 1) {
        detect_offer(scan, DETECT_URL_WITH_CREDENTIALS, at, sign, 95);
    }
}

void detect_find_url(struct detect_scan *scan, size_t at)
{
    size_t start = at, end = at + 3;
    if (byte_at(scan, at + 2) != '/') {
        return;
    }
    if (at < scan->pending.offset + scan->pending.len && scan->pending.type == DETECT_URL &&
        scan->pending.len > 0) {
        return; /* one within another is no other; and this keeps the time linear */
    }
    while (at - start < 16 && start > 0 &&
           (is_word(byte_before(scan, start, 1)) || byte_before(scan, start, 1) == '+')) {
        start--;
    }
    if (start == at || !is_letter(byte_at(scan, start))) {
        return;
    }
    if (is_wanted(scan, DETECT_URL, 65)) {
        end = end_of_url(scan, start, at + 3);
        if (end > at + 3) {
            detect_offer(scan, DETECT_URL, start, end, 65);
        }
    }
    if (is_wanted(scan, DETECT_URL_WITH_CREDENTIALS, 95)) {
        find_credentials(scan, at + 3);
    }
}

/* Six pairs of hex digits with the same sign between them. */
static size_t end_of_mac(const struct detect_scan *scan, size_t at)
{
    char sign = byte_at(scan, at + 2);
    for (size_t i = 0; i < 6; i++, at += 3) {
        if (!is_hex(byte_at(scan, at)) || !is_hex(byte_at(scan, at + 1)) ||
            (i < 5 && (byte_at(scan, at + 2) != sign || (sign != ':' && sign != '-')))) {
            return 0;
        }
    }
    char next = byte_at(scan, at - 1);
    return next == sign || !detect_is_end(scan, at - 1) ? 0 : at - 1;
}

void detect_find_mac_dashed(struct detect_scan *scan, size_t at)
{
    size_t end = byte_at(scan, at + 2) == '-' ? end_of_mac(scan, at) : 0;
    if (end != 0 && detect_is_start(scan, at)) {
        detect_offer(scan, DETECT_MAC_ADDRESS, at, end, 80);
    }
}

/* Groups of up to four hex digits; where the address ends, 0 when it is none. */
static size_t end_of_ipv6(const struct detect_scan *scan, size_t at)
{
    size_t groups = 0, digits = 0, gaps = 0, start = at;
    for (;; at++) {
        char byte = byte_at(scan, at);
        if (is_hex(byte)) {
            digits++;
            if (digits > 4) {
                return 0;
            }
            continue;
        }
        if (digits > 0) {
            groups++;
        }
        if (byte != ':' || groups > 8) {
            break;
        }
        if (byte_at(scan, at + 1) == ':') {
            gaps++;
            at++;
        } else if (digits == 0 || !is_hex(byte_at(scan, at + 1))) {
            break;
        }
        digits = 0;
    }
    if (byte_at(scan, at) == '.' && digits > 0 && is_digit(byte_at(scan, at + 1))) {
        for (size_t dots = 0;
             is_digit(byte_at(scan, at)) || (byte_at(scan, at) == '.' && dots++ < 3);) {
            at++; /* ::ffff:10.0.0.1 */
        }
        groups++;
    }
    bool is_whole = gaps == 0 ? groups == 8 : gaps == 1 && groups >= 1 && groups <= 7;
    return is_whole && at - start >= 3 ? at : 0;
}

/* Whether "::" follows within the next groups, or at least three more colons do: not so in a time.
 */
static bool has_colons(const struct detect_scan *scan, size_t at)
{
    size_t colons = 0;
    for (size_t end = at + 6; at < end; at++) {
        char byte = byte_at(scan, at);
        if (byte == ':') {
            colons++;
            if (colons == 4 || byte_at(scan, at + 1) == ':') {
                return true;
            }
            end = at + 6;
        } else if (!is_hex(byte)) {
            return false;
        }
    }
    return false;
}

/* At any colon of it; the first group stands before the first. */
void detect_find_hex_pairs(struct detect_scan *scan, size_t at)
{
    size_t start = at, pending_end = scan->pending.offset + scan->pending.len;
    if (scan->pending.len > 0 && at < pending_end &&
        (scan->pending.type == DETECT_IP_ADDRESS || scan->pending.type == DETECT_MAC_ADDRESS ||
         scan->pending.type == DETECT_DATE_TIME)) {
        return;
    }
    if ((byte_before(scan, at, 1) == ':' && byte_at(scan, at + 1) == ':') ||
        !has_colons(scan, at)) {
        return; /* three in a row are in no address */
    }
    while (at - start < 40 && start > 0 &&
           (is_hex(byte_before(scan, start, 1)) || byte_before(scan, start, 1) == ':')) {
        start--;
    }
    if (start < at && byte_at(scan, start) == ':' && byte_at(scan, start + 1) != ':') {
        start++;
    }
    if (!detect_is_start(scan, start) || byte_before(scan, start, 1) == ':') {
        return;
    }
    if (at == start + 2) {
        size_t end = end_of_mac(scan, start);
        if (end != 0) {
            detect_offer(scan, DETECT_MAC_ADDRESS, start, end, 90);
            return;
        }
    }
    size_t end = end_of_ipv6(scan, start);
    if (end == 0 || !detect_is_end(scan, end) || byte_at(scan, end) == ':') {
        return;
    }
    bool has_digit = false;
    for (size_t i = start; i < end; i++) {
        has_digit = has_digit || is_digit(byte_at(scan, i));
    }
    unsigned scores[2] = {has_digit ? 85 : 40, 95};
    detect_offer_in_context(scan, DETECT_IP_ADDRESS, start, end, scores);
}
