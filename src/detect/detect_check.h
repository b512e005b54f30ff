/* SPDX-License-Identifier: MIT */
/* The rules and checksums of numbers, over digits as values 0 to 9. Each knows its own length but
 * luhn's and the two of ISO 7064. For the files of this folder only. */
#ifndef GH_DETECT_DETECT_CHECK_H
#define GH_DETECT_DETECT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef bool detect_check_fn(const uint8_t *digits);

bool check_luhn(const uint8_t *digits, size_t count);
/* Luhn, and the ranges that issuers of cards have. */
bool check_card(const uint8_t *digits, size_t count);
bool check_date(unsigned year, unsigned month, unsigned day);

bool check_us_ssn(const uint8_t *digits);
bool check_us_itin(const uint8_t *digits);
bool check_aba_routing(const uint8_t *digits);
bool check_ca_sin(const uint8_t *digits);
bool check_uk_nhs(const uint8_t *digits);
bool check_au_tfn(const uint8_t *digits);
bool check_au_abn(const uint8_t *digits);
bool check_au_acn(const uint8_t *digits);
bool check_au_medicare(const uint8_t *digits);
bool check_in_aadhaar(const uint8_t *digits);
bool check_it_vat_code(const uint8_t *digits);
bool check_br_cpf(const uint8_t *digits);
bool check_br_cnpj(const uint8_t *digits);
bool check_br_cnh(const uint8_t *digits);
bool check_br_pis(const uint8_t *digits);
bool check_pl_pesel(const uint8_t *digits);
bool check_kr_rrn(const uint8_t *digits);
bool check_th_tnin(const uint8_t *digits);
bool check_de_tax_id(const uint8_t *digits);
bool check_fr_nir(const uint8_t *digits);
bool check_nl_bsn(const uint8_t *digits);
bool check_se_personnummer(const uint8_t *digits);      /* 10 digits */
bool check_se_personnummer_long(const uint8_t *digits); /* 12 digits */
bool check_nanp(const uint8_t *digits);                 /* a North American telephone number */

#endif
