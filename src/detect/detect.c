/* SPDX-License-Identifier: MIT */
/* The scan: blocks of 64 bytes become bits by class, the bits become places where something could
 * start, and what looks closer at those is in the other files. */
#include "detect/detect_internal.h"

#include "detect/detect_starts.h"

#include <string.h>

#define SCORE_SURE 80 /* enough without a look at the words before */

static const uint16_t starts_of[DETECT_TYPE_COUNT] = {
    [DETECT_EMAIL_ADDRESS] = START_EMAIL,
    [DETECT_URL] = START_URL | START_WWW,
    [DETECT_URL_WITH_CREDENTIALS] = START_URL,
    [DETECT_IP_ADDRESS] = START_HEX_PAIRS | START_NUMBER,
    [DETECT_MAC_ADDRESS] = START_HEX_PAIRS | START_TOKEN,
    [DETECT_IBAN_CODE] = START_IBAN,
    [DETECT_CRYPTO] = START_TOKEN,
    [DETECT_IT_FISCAL_CODE] = START_TOKEN,
    [DETECT_IN_GSTIN] = START_TOKEN,
    [DETECT_MEDICAL_LICENSE] = START_WORD,
    [DETECT_IN_PAN] = START_WORD,
    [DETECT_IN_PASSPORT] = START_WORD,
    [DETECT_IN_VEHICLE_REGISTRATION] = START_WORD,
    [DETECT_IN_VOTER] = START_WORD,
    [DETECT_IT_IDENTITY_CARD] = START_WORD,
    [DETECT_IT_DRIVER_LICENSE] = START_WORD,
    [DETECT_IT_PASSPORT] = START_WORD,
    [DETECT_IT_VAT_CODE] = START_WORD | START_NUMBER,
    [DETECT_ES_NIE] = START_WORD,
    [DETECT_SG_FIN] = START_WORD,
    [DETECT_SG_UEN] = START_WORD,
    [DETECT_US_PASSPORT] = START_WORD | START_NUMBER,
    [DETECT_US_DRIVER_LICENSE] = START_WORD | START_NUMBER,
    [DETECT_ES_NIF] = START_WORD | START_NUMBER,
    [DETECT_UK_NINO] = START_WORD | START_NUMBER,
    [DETECT_FI_PERSONAL_IDENTITY_CODE] = START_WORD | START_NUMBER,
    [DETECT_JWT] = START_TOKEN,
    [DETECT_AWS_KEY] = START_TOKEN | START_ASSIGNED,
    [DETECT_GCP_KEY] = START_TOKEN | START_ASSIGNED,
    [DETECT_AZURE_KEY] = START_TOKEN | START_ASSIGNED,
    [DETECT_GITHUB_TOKEN] = START_TOKEN,
    [DETECT_SLACK_TOKEN] = START_TOKEN,
    [DETECT_STRIPE_KEY] = START_TOKEN,
    [DETECT_PRIVATE_KEY] = START_PEM,
    [DETECT_PASSWORD] = START_ASSIGNED,
};

/* What numbers may be, and are not: in an IP address there are several. */
static bool is_number_type(size_t type)
{
    bool has_digits_alone = starts_of[type] == 0 || type == DETECT_IT_VAT_CODE ||
                            type == DETECT_US_PASSPORT || type == DETECT_US_DRIVER_LICENSE;
    return has_digits_alone && type != DETECT_DATE_TIME;
}

void detect_set_prepare(struct detect_set *set)
{
    set->starts = 0;
    set->shapes = 0;
    for (size_t i = 0; i < DETECT_TYPE_COUNT; i++) {
        if (!set->is_wanted[i]) {
            continue;
        }
        uint64_t starts = starts_of[i] != 0 ? starts_of[i] : START_NUMBER;
        bool is_time = i == DETECT_DATE_TIME || i == DETECT_DATE_OF_BIRTH;
        bool is_hex =
            (starts & (START_NUMBER | START_HEX_PAIRS | START_TOKEN | START_WORD | START_IBAN)) !=
                0 &&
            !is_time;
        set->starts |= starts;
        set->shapes |= DETECT_SHAPE_ANY | (is_number_type(i) ? DETECT_SHAPE_NUMBER : 0U) |
                       (is_time ? DETECT_SHAPE_TIME : 0U) | (is_hex ? DETECT_SHAPE_HEX : 0U);
    }
    set->starts |= set->is_wanted[DETECT_CREDIT_CARD] ? START_GLUED_CARD : 0;
}

bool detect_is_start(const struct detect_scan *scan, size_t at)
{
    char before = byte_before(scan, at, 1);
    if (is_word(before) || before == '_' || before == '@' || before == '%' || before == '\\' ||
        before == '$') {
        return false;
    }
    return !((before == '-' || before == '.' || before == '/') &&
             is_word(byte_before(scan, at, 2)));
}

bool detect_is_end(const struct detect_scan *scan, size_t at)
{
    char next = byte_at(scan, at);
    if (is_word(next) || next == '_' || next == '@' || next == '%') {
        return false;
    }
    return !((next == '-' || next == '.' || next == '/') && is_word(byte_at(scan, at + 1)));
}

bool detect_is_zero_fraction(const struct detect_scan *scan, size_t at)
{
    size_t end = at + 1;
    while (byte_at(scan, end) == '0') {
        end++;
    }
    return byte_at(scan, at) == '.' && end > at + 1 && detect_is_end(scan, end);
}

static bool is_better(const struct detect_finding *one, const struct detect_finding *other)
{
    return one->score != other->score ? one->score > other->score : one->len > other->len;
}

static void write_pending(struct detect_scan *scan)
{
    if (scan->pending.len > 0) {
        scan->findings[scan->count++] = scan->pending;
        scan->floor = scan->pending.offset + scan->pending.len;
        scan->pending.len = 0;
        scan->is_full = scan->count == scan->capacity;
    }
}

void detect_offer(struct detect_scan *scan, enum detect_type type, size_t offset, size_t end,
                  unsigned score)
{
    if (!is_wanted(scan, type, score) || scan->is_full || offset < scan->floor) {
        return;
    }
    struct detect_finding finding = {
        .offset = offset, .len = end - offset, .type = type, .score = (uint8_t)score};
    const struct detect_finding *pending = &scan->pending;
    if (pending->len > 0 && offset >= pending->offset + pending->len) {
        write_pending(scan);
        if (scan->is_full) {
            return; /* found again by who goes on */
        }
    } else if (pending->len > 0 && !is_better(&finding, pending)) {
        return;
    }
    scan->pending = finding;
}

void detect_offer_in_context(struct detect_scan *scan, enum detect_type type, size_t offset,
                             size_t end, unsigned bare_and_context[2])
{
    if (bare_and_context[0] >= SCORE_SURE && is_wanted(scan, type, bare_and_context[0])) {
        detect_offer(scan, type, offset, end, bare_and_context[0]);
        return;
    }
    if (!is_wanted(scan, type, bare_and_context[1]) ||
        is_beaten(scan, offset, bare_and_context[1])) {
        return;
    }
    bool has_context = detect_has_context(scan, type, offset);
    detect_offer(scan, type, offset, end, bare_and_context[has_context]);
}

bool detect_has_context(struct detect_scan *scan, enum detect_type type, size_t at)
{
    uint64_t bit = UINT64_C(1) << type;
    if ((scan->context & bit) != 0) {
        return true;
    }
    if (scan->words_at != at + 1) {
        scan->words_at = at + 1;
        scan->words = detect_words_before(scan, at);
    }
    return (scan->words & bit) != 0;
}

/* A colon is part of a time far more often than of anything that is looked for. */
void detect_look_at_sign(struct detect_scan *scan, size_t at)
{
    uint64_t wanted = scan->set->starts;
    char sign = scan->text.at[at];
    if (sign == '@') {
        if ((wanted & START_EMAIL) != 0) {
            detect_find_email(scan, at);
        }
        return;
    }
    char before = byte_before(scan, at, 1), next = byte_at(scan, at + 1);
    if (sign == ':') {
        if (next == '/' && (wanted & START_URL) != 0) {
            detect_find_url(scan, at);
            return;
        }
        if ((is_hex(before) || next == ':') && (wanted & START_HEX_PAIRS) != 0) {
            detect_find_hex_pairs(scan, at);
        }
    }
    if (!is_digit(before) && (wanted & START_ASSIGNED) != 0) {
        detect_find_assigned(scan, at);
    }
}

/* Nothing that is not a block of PEM could take the place of what is certain. */
static bool is_certain_at(const struct detect_scan *scan, size_t at)
{
    return scan->pending.score == DETECT_SCORE_MAX && scan->pending.len > 0 &&
           at < scan->pending.offset + scan->pending.len;
}

static void look_at_word(struct detect_scan *scan, size_t at)
{
    uint64_t wanted = scan->set->starts;
    if ((wanted & START_GLUED_CARD) != 0 && detect_is_long_run(scan, at) &&
        is_letter(byte_before(scan, at, 1))) {
        detect_find_glued_card(scan, at);
    }
    if ((wanted & START_WORD) != 0 && !scan->is_full) {
        detect_find_word(scan, at);
    }
}

static void look_closer(struct detect_scan *scan, const struct starts *starts, unsigned bit,
                        size_t at)
{
    uint64_t wanted = scan->set->starts, mask = UINT64_C(1) << bit;
    if ((starts->number & mask) != 0 && (wanted & START_NUMBER) != 0 &&
        (!is_group_of_pending(scan, at) || may_begin_card(scan, at))) {
        detect_find_number(scan, at);
    }
    if ((starts->sign & mask) != 0) {
        detect_look_at_sign(scan, at);
        return;
    }
    if ((starts->iban & mask) != 0 && (wanted & START_IBAN) != 0 && !scan->is_full) {
        detect_find_iban(scan, at);
    }
    if ((starts->word & mask) != 0 && !scan->is_full) {
        look_at_word(scan, at);
    }
    if ((starts->token & mask) != 0 && (wanted & START_TOKEN) != 0 && !scan->is_full) {
        detect_find_token(scan, at);
    }
    if ((starts->www & mask) != 0 && (wanted & START_WWW) != 0 && !scan->is_full) {
        detect_find_www(scan, at);
    }
    if ((starts->pem & mask) != 0 && (wanted & START_PEM) != 0 && !scan->is_full) {
        detect_find_pem(scan, at);
    }
}

static void scan_blocks(struct detect_scan *scan, size_t from)
{
    struct slice text = scan->text;
    struct carry carry = carry_of(text, from);
    struct detect_block now, next;
    read_block(text, from, &next);
    for (size_t base = from; base < text.len && !scan->is_full; base += DETECT_BLOCK_SIZE) {
        now = next;
        read_block(text, base + DETECT_BLOCK_SIZE, &next);
        struct starts starts = find_starts(&now, &next, carry, 0);
        uint64_t any = starts.sign | starts.number | starts.iban | starts.word | starts.token |
                       starts.pem | starts.www;
        for (; any != 0 && !scan->is_full; any &= any - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(any);
            if (!is_certain_at(scan, base + bit)) {
                look_closer(scan, &starts, bit, base + bit);
            }
        }
        carry = carry_to_next(&now);
    }
}

/* check-sizes: given parameters (where a scan goes on, and where its findings go, are the caller's)
 */
size_t detect_scan(const struct detect_set *set, uint64_t context, struct slice text, size_t from,
                   struct detect_finding *findings, size_t capacity, size_t *ret_rest)
{
    struct detect_scan scan = {
        .set = set,
        .context = context,
        .text = text,
        .floor = from,
        .findings = findings,
        .capacity = capacity,
        .is_full = capacity == 0,
    };
    if (set->starts != 0 && from < text.len) {
        if (from == 0) {
            detect_find_named(&scan);
        }
        scan_blocks(&scan, from);
    }
    if (!scan.is_full) {
        write_pending(&scan);
        *ret_rest = text.len;
    } else {
        *ret_rest = scan.floor;
    }
    return scan.count;
}
