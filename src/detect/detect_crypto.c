/* SPDX-License-Identifier: MIT */
/* Addresses of wallets: Bitcoin's two forms with their checksums (base58 with SHA-256, BIP 173 and
 * 350), Ethereum's by its form alone. */
#include "detect/detect_internal.h"

#include <sodium/crypto_hash_sha256.h>
#include <string.h>

enum {
    BASE58_BYTES = 25,
};

static bool check_base58(const char *text, size_t len)
{
    static const char digits[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    uint8_t bytes[BASE58_BYTES] = {0};
    for (size_t i = 0; i < len; i++) {
        const char *digit = memchr(digits, text[i], sizeof(digits) - 1);
        if (digit == NULL) {
            return false;
        }
        unsigned carry = (unsigned)(digit - digits);
        for (size_t j = BASE58_BYTES; j > 0; j--) {
            carry += bytes[j - 1] * 58U;
            bytes[j - 1] = (uint8_t)carry;
            carry >>= 8;
        }
        if (carry != 0) {
            return false;
        }
    }
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, bytes, BASE58_BYTES - 4);
    crypto_hash_sha256(hash, hash, sizeof(hash));
    return memcmp(hash, bytes + BASE58_BYTES - 4, 4) == 0;
}

static uint32_t bech32_step(uint32_t sum, uint32_t value)
{
    static const uint32_t terms[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
    uint32_t top = sum >> 25;
    sum = (sum & 0x1ffffff) << 5 ^ value;
    for (unsigned i = 0; i < 5; i++) {
        sum ^= (top >> i & 1) != 0 ? terms[i] : 0;
    }
    return sum;
}

/* "bc1" and characters of five bits each. */
static bool check_bech32(const char *text, size_t len)
{
    static const char digits[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    uint32_t sum = 1;
    sum = bech32_step(sum, 'b' >> 5);
    sum = bech32_step(sum, 'c' >> 5);
    sum = bech32_step(sum, 0);
    sum = bech32_step(sum, 'b' & 31);
    sum = bech32_step(sum, 'c' & 31);
    for (size_t i = 3; i < len; i++) {
        const char *digit = memchr(digits, text[i], sizeof(digits) - 1);
        if (digit == NULL) {
            return false;
        }
        sum = bech32_step(sum, (uint32_t)(digit - digits));
    }
    return sum == 1 || sum == 0x2bc830a3;
}

static bool is_all_hex(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!is_hex(text[i])) {
            return false;
        }
    }
    return true;
}

void detect_find_crypto(struct detect_scan *scan, size_t at, size_t end)
{
    const char *text = scan->text.at + at;
    size_t len = end - at;
    if (!is_wanted(scan, DETECT_CRYPTO, 100) || !detect_is_start(scan, at) ||
        !detect_is_end(scan, end)) {
        return;
    }
    if ((text[0] == '1' || text[0] == '3') && len <= 35 && check_base58(text, len)) {
        detect_offer(scan, DETECT_CRYPTO, at, end, 100);
    } else if (memcmp(text, "bc1", 3) == 0 && check_bech32(text, len)) {
        detect_offer(scan, DETECT_CRYPTO, at, end, 100);
    } else if (len == 42 && memcmp(text, "0x", 2) == 0 && is_all_hex(text + 2, 40)) {
        detect_offer(scan, DETECT_CRYPTO, at, end, 80);
    }
}
