/* SPDX-License-Identifier: MIT */
/* Numbers as types write them: with a sign, a fraction, an exponent, a currency. */
#include "policy/mask_internal.h"

#define NUMBER_DIGITS_MAX   64 /* of what is looked for; what has more is looked at as it stands */
#define MONEY_FRACTION_SIZE 2

static bool number_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static size_t number_skip_digits(struct slice text, size_t at)
{
    while (at < text.len && number_is_digit(text.at[at])) {
        at++;
    }
    return at;
}

/* "e+15": how many places the point goes to the right; what is smaller has no digits before it. */
static bool number_exponent(struct slice text, size_t *ret_places)
{
    size_t at = 1;
    if (text.len == 0) {
        *ret_places = 0;
        return true;
    }
    at += at < text.len && text.at[at] == '+';
    size_t places = 0;
    for (; at < text.len && number_is_digit(text.at[at]) && places < NUMBER_DIGITS_MAX; at++) {
        places = places * 10 + (size_t)(text.at[at] - '0');
    }
    *ret_places = places;
    return (text.at[0] | 0x20) == 'e' && text.len > 1 && at == text.len;
}

/* "4.111111111111111e+15", "4111111111111111.00" */
static bool number_decimal(struct slice text, struct buf *buf)
{
    size_t point = number_skip_digits(text, 0);
    size_t end =
        point < text.len && text.at[point] == '.' ? number_skip_digits(text, point + 1) : point;
    size_t places = 0;
    if (point == 0 || !number_exponent(slice_from(text, end), &places) ||
        buf_append(buf, slice_sub(text, 0, point)) != ERR_NONE) {
        return false;
    }
    struct slice fraction = end > point ? slice_sub(text, point + 1, end - point - 1) : SLICE("");
    struct slice moved = slice_sub(fraction, 0, places);
    if (buf_append(buf, moved) != ERR_NONE) {
        return false;
    }
    struct slice left = slice_from(fraction, moved.len);
    for (size_t i = 0; i < left.len; i++) {
        if (left.at[i] != '0') {
            return false; /* it has a part that is no name's */
        }
    }
    for (size_t i = moved.len; i < places; i++) {
        if (buf_append(buf, SLICE("0")) != ERR_NONE) {
            return false;
        }
    }
    return true;
}

/* "$4,111,111,111,111,111.00": digits, and the last two are a fraction where a sign is before. */
static bool number_money(struct slice text, struct buf *buf)
{
    size_t sign = 0;
    size_t digits = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool is_digit = number_is_digit(text.at[i]);
        sign = is_digit ? sign : buf->len;
        digits += is_digit;
        if (is_digit && buf_append(buf, slice_sub(text, i, 1)) != ERR_NONE) {
            return false;
        }
    }
    bool has_fraction = sign > 0 && buf->len == sign + MONEY_FRACTION_SIZE;
    buf_truncate(buf, buf->len - (has_fraction ? MONEY_FRACTION_SIZE : 0));
    return digits > 0;
}

/* What else than digits, a sign, one point and an exponent is in it. */
static bool number_is_money(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!number_is_digit(text.at[i]) && strchr("-+.eE", text.at[i]) == NULL) {
            return true;
        }
    }
    return false;
}

bool mask_number_plain(struct slice text, struct buf *buf, struct slice *ret_number)
{
    buf_truncate(buf, 0);
    if (text.len > NUMBER_DIGITS_MAX) {
        return false;
    }
    bool is_decimal = number_decimal(text, buf);
    if (!is_decimal) {
        buf_truncate(buf, 0);
    }
    if (!is_decimal && (!number_is_money(text) || !number_money(text, buf))) {
        return false;
    }
    *ret_number = buf->len > 0 ? buf_view(buf) : SLICE("");
    return ret_number->len > 0 && !slice_equals(*ret_number, text);
}
