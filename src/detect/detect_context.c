/* SPDX-License-Identifier: MIT */
/* Words that speak of a type, in several languages: in the name of a column, in the key of a JSON
 * object, in the text before a value. One table; a word may speak of many types, since the value's
 * form and checksum decide which of them it is. */
#include "detect/detect_internal.h"

#include "base/limits.h"

#include <string.h>

#define BIT(type)  (UINT64_C(1) << DETECT_##type)
#define WORD_SIZE  24 /* of the longest word of the table, and more */
#define STEM_SIZE  5  /* of what may be a part of a longer word */
#define BITS_PHONE BIT(PHONE_NUMBER)
#define BITS_BIRTH BIT(DATE_OF_BIRTH)
#define BITS_PASS  (BIT(US_PASSPORT) | BIT(IN_PASSPORT) | BIT(IT_PASSPORT))
#define BITS_DRIVE (BIT(US_DRIVER_LICENSE) | BIT(IT_DRIVER_LICENSE) | BIT(BR_CNH))
#define BITS_TAX                                                                                   \
    (BIT(US_ITIN) | BIT(AU_TFN) | BIT(DE_TAX_ID) | BIT(IT_VAT_CODE) | BIT(ES_NIF) | BIT(BR_CPF) |  \
     BIT(IN_PAN) | BIT(IT_FISCAL_CODE))
#define BITS_PERSON                                                                                \
    (BIT(TH_TNIN) | BIT(PL_PESEL) | BIT(KR_RRN) | BIT(FI_PERSONAL_IDENTITY_CODE) |                 \
     BIT(SE_PERSONNUMMER) | BIT(NL_BSN) | BIT(UK_NINO) | BIT(SG_FIN) | BIT(ES_NIF) |               \
     BIT(IN_AADHAAR) | BIT(FR_NIR) | BIT(IT_IDENTITY_CARD) | BIT(BR_RG))
#define BITS_SECRET (BIT(PASSWORD) | BIT(AWS_KEY) | BIT(AZURE_KEY) | BIT(GCP_KEY))

struct word {
    const char *text;
    uint64_t bits;
};

/* In the order of their letters: words are looked up by halving. */
static const struct word words[] = {
    {"aadhaar", BIT(IN_AADHAAR)},
    {"aadhar", BIT(IN_AADHAAR)},
    {"aba", BIT(ABA_ROUTING)},
    {"abn", BIT(AU_ABN)},
    {"access", BIT(AWS_KEY)},
    {"account", BIT(US_BANK_NUMBER)},
    {"acct", BIT(US_BANK_NUMBER)},
    {"acn", BIT(AU_ACN)},
    {"aws", BIT(AWS_KEY)},
    {"azure", BIT(AZURE_KEY)},
    {"bank", BIT(US_BANK_NUMBER) | BIT(ABA_ROUTING) | BIT(IBAN_CODE)},
    {"birth", BITS_BIRTH},
    {"birthdate", BITS_BIRTH},
    {"birthday", BITS_BIRTH},
    {"bitcoin", BIT(CRYPTO)},
    {"born", BITS_BIRTH},
    {"bsn", BIT(NL_BSN)},
    {"btc", BIT(CRYPTO)},
    {"burgerservicenummer", BIT(NL_BSN)},
    {"call", BITS_PHONE},
    {"card", BIT(CREDIT_CARD)},
    {"carta", BIT(CREDIT_CARD)},
    {"cc", BIT(CREDIT_CARD)},
    {"cell", BITS_PHONE},
    {"cellphone", BITS_PHONE},
    {"cellulare", BITS_PHONE},
    {"celular", BITS_PHONE},
    {"cie", BIT(IT_IDENTITY_CARD)},
    {"cnh", BIT(BR_CNH)},
    {"cnpj", BIT(BR_CNPJ)},
    {"codicefiscale", BIT(IT_FISCAL_CODE)},
    {"contrasena", BITS_SECRET},
    {"correo", BIT(EMAIL_ADDRESS)},
    {"courriel", BIT(EMAIL_ADDRESS)},
    {"cpf", BIT(BR_CPF)},
    {"credential", BITS_SECRET},
    {"credit", BIT(CREDIT_CARD)},
    {"dateofbirth", BITS_BIRTH},
    {"dea", BIT(MEDICAL_LICENSE)},
    {"debit", BIT(CREDIT_CARD)},
    {"dni", BIT(ES_NIF) | BIT(ES_NIE)},
    {"dob", BITS_BIRTH},
    {"driver", BITS_DRIVE},
    {"drivers", BITS_DRIVE},
    {"driving", BITS_DRIVE},
    {"electoral", BIT(IN_VOTER)},
    {"email", BIT(EMAIL_ADDRESS)},
    {"emails", BIT(EMAIL_ADDRESS)},
    {"epic", BIT(IN_VOTER)},
    {"fax", BITS_PHONE},
    {"fin", BIT(SG_FIN)},
    {"fiscal", BIT(IT_FISCAL_CODE) | BIT(ES_NIF) | BIT(FR_NIR)},
    {"fiscale", BIT(IT_FISCAL_CODE)},
    {"fodelsedatum", BITS_BIRTH},
    {"fuhrerschein", BITS_DRIVE},
    {"geboortedatum", BITS_BIRTH},
    {"geboren", BITS_BIRTH},
    {"geburtsdatum", BITS_BIRTH},
    {"geburtstag", BITS_BIRTH},
    {"gstin", BIT(IN_GSTIN)},
    {"habilitacao", BIT(BR_CNH)},
    {"handy", BITS_PHONE},
    {"handynummer", BITS_PHONE},
    {"henkilotunnus", BIT(FI_PERSONAL_IDENTITY_CODE)},
    {"hetu", BIT(FI_PERSONAL_IDENTITY_CODE)},
    {"iban", BIT(IBAN_CODE)},
    {"identifikationsnummer", BIT(DE_TAX_ID)},
    {"identity", BITS_PERSON},
    {"idnr", BIT(DE_TAX_ID)},
    {"insee", BIT(FR_NIR)},
    {"insurance", BIT(CA_SIN) | BIT(UK_NINO)},
    {"ip", BIT(IP_ADDRESS)},
    {"itin", BIT(US_ITIN)},
    {"iva", BIT(IT_VAT_CODE)},
    {"kennwort", BITS_SECRET},
    {"key", BIT(AZURE_KEY) | BIT(GCP_KEY)},
    {"kreditkarte", BIT(CREDIT_CARD)},
    {"kreditkort", BIT(CREDIT_CARD)},
    {"licence", BITS_DRIVE | BIT(MEDICAL_LICENSE)},
    {"license", BITS_DRIVE | BIT(MEDICAL_LICENSE)},
    {"mail", BIT(EMAIL_ADDRESS)},
    {"mastercard", BIT(CREDIT_CARD)},
    {"medical", BIT(MEDICAL_LICENSE)},
    {"medicare", BIT(AU_MEDICARE)},
    {"mobil", BITS_PHONE},
    {"mobile", BITS_PHONE},
    {"mobilnummer", BITS_PHONE},
    {"movil", BITS_PHONE},
    {"msisdn", BITS_PHONE},
    {"nacimiento", BITS_BIRTH},
    {"naissance", BITS_BIRTH},
    {"nascimento", BITS_BIRTH},
    {"nascita", BITS_BIRTH},
    {"national", BITS_PERSON},
    {"nhs", BIT(UK_NHS)},
    {"nie", BIT(ES_NIE)},
    {"nif", BIT(ES_NIF)},
    {"nino", BIT(UK_NINO)},
    {"nir", BIT(FR_NIR)},
    {"nis", BIT(BR_PIS)},
    {"nric", BIT(SG_FIN)},
    {"pan", BIT(CREDIT_CARD) | BIT(IN_PAN)},
    {"pasep", BIT(BR_PIS)},
    {"passaporto", BITS_PASS},
    {"passord", BITS_SECRET},
    {"passphrase", BITS_SECRET},
    {"passport", BITS_PASS},
    {"passwd", BITS_SECRET},
    {"password", BITS_SECRET},
    {"passwort", BITS_SECRET},
    {"patente", BIT(IT_DRIVER_LICENSE)},
    {"personnummer", BIT(SE_PERSONNUMMER)},
    {"pesel", BIT(PL_PESEL)},
    {"phone", BITS_PHONE},
    {"phoneno", BITS_PHONE},
    {"phonenumber", BITS_PHONE},
    {"phones", BITS_PHONE},
    {"pis", BIT(BR_PIS)},
    {"piva", BIT(IT_VAT_CODE)},
    {"portable", BITS_PHONE},
    {"puhelin", BITS_PHONE},
    {"pwd", BITS_SECRET},
    {"registration", BIT(IN_VEHICLE_REGISTRATION)},
    {"resident", BIT(KR_RRN) | BIT(SG_FIN)},
    {"rg", BIT(BR_RG)},
    {"routing", BIT(ABA_ROUTING)},
    {"rrn", BIT(KR_RRN)},
    {"rtn", BIT(ABA_ROUTING)},
    {"rufnummer", BITS_PHONE},
    {"secret", BITS_SECRET},
    {"secu", BIT(FR_NIR)},
    {"security", BIT(US_SSN)},
    {"senha", BITS_SECRET},
    {"sig", BIT(AZURE_KEY)},
    {"sin", BIT(CA_SIN)},
    {"sms", BITS_PHONE},
    {"social", BIT(US_SSN) | BIT(FR_NIR)},
    {"ssn", BIT(US_SSN)},
    {"steuer", BIT(DE_TAX_ID)},
    {"steueridentifikationsnr", BIT(DE_TAX_ID)},
    {"steuernummer", BIT(DE_TAX_ID)},
    {"swish", BITS_PHONE},
    {"tarjeta", BIT(CREDIT_CARD)},
    {"tax", BITS_TAX},
    {"tel", BITS_PHONE},
    {"telefon", BITS_PHONE},
    {"telefone", BITS_PHONE},
    {"telefonnummer", BITS_PHONE},
    {"telefono", BITS_PHONE},
    {"telefoon", BITS_PHONE},
    {"telephone", BITS_PHONE},
    {"tfn", BIT(AU_TFN)},
    {"thai", BIT(TH_TNIN)},
    {"tin", BITS_TAX},
    {"tnin", BIT(TH_TNIN)},
    {"uen", BIT(SG_UEN)},
    {"uidai", BIT(IN_AADHAAR)},
    {"vat", BIT(IT_VAT_CODE)},
    {"vehicle", BIT(IN_VEHICLE_REGISTRATION)},
    {"visa", BIT(CREDIT_CARD)},
    {"voter", BIT(IN_VOTER)},
    {"wachtwoord", BITS_SECRET},
    {"wallet", BIT(CRYPTO)},
    {"whatsapp", BITS_PHONE},
};

/* A letter of a word, in lower case: of ASCII, and of accented Latin ones their base letter is not
 * looked for, so "teléfono" is two words; both are in what people write beside the short forms. */
static char lower(char byte)
{
    return (char)(byte | 0x20);
}

static uint64_t bits_of_word(const char *text, size_t len)
{
    size_t low = 0, high = sizeof(words) / sizeof(words[0]);
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *word = words[middle].text;
        size_t i = 0;
        while (i < len && word[i] == text[i]) {
            i++;
        }
        if (i == len && word[i] == '\0') {
            return words[middle].bits;
        }
        if (i == len || (unsigned char)text[i] < (unsigned char)word[i]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return 0;
}

/* Words of the table that the word begins or ends with, as German puts them together. */
static uint64_t bits_of_stems(const char *text, size_t len)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t size = strlen(words[i].text);
        if (size >= STEM_SIZE && size < len &&
            (memcmp(text, words[i].text, size) == 0 ||
             memcmp(text + len - size, words[i].text, size) == 0)) {
            bits |= words[i].bits;
        }
    }
    return bits;
}

/* Splits at what is no letter, and where case says that a word begins: userSsn, IBANCode. */
static uint64_t bits_of_words(struct slice name, bool with_stems)
{
    uint64_t bits = 0;
    char word[WORD_SIZE];
    size_t len = 0;
    for (size_t i = 0; i <= name.len; i++) {
        char byte = i < name.len ? name.at[i] : '\0';
        bool is_inside = is_letter(byte);
        bool begins =
            is_inside && len > 0 && is_upper(byte) &&
            (!is_upper(name.at[i - 1]) ||
             (i + 1 < name.len && is_letter(name.at[i + 1]) && !is_upper(name.at[i + 1])));
        if (!is_inside || begins) {
            if (len > 1 && len <= WORD_SIZE) {
                uint64_t found = bits_of_word(word, len);
                bits |= found != 0 || !with_stems ? found : bits_of_stems(word, len);
            }
            len = 0;
        }
        if (is_inside) {
            if (len < WORD_SIZE) {
                word[len] = lower(byte);
            }
            len++;
        }
    }
    return bits;
}

uint64_t detect_context_of(struct slice name)
{
    return bits_of_words(name, true);
}

uint64_t detect_bits_of_words(struct slice name)
{
    return bits_of_words(name, false);
}

static size_t skip_spaces_back(const struct detect_scan *scan, size_t at)
{
    while (at > 0 && byte_before(scan, at, 1) == ' ') {
        at--;
    }
    return at;
}

/* What stands between quotes before the colon or '=' at 'at' - 1; empty when that is no key. */
static struct slice key_before(const struct detect_scan *scan, size_t at, size_t low)
{
    if (at <= low || (byte_before(scan, at, 1) != ':' && byte_before(scan, at, 1) != '=')) {
        return SLICE_NONE;
    }
    at = skip_spaces_back(scan, at - 1);
    char quote = byte_before(scan, at, 1);
    if (at <= low || (quote != '"' && quote != '\'')) {
        return SLICE_NONE;
    }
    size_t end = --at;
    while (at > low && byte_before(scan, at, 1) != quote) {
        at--;
    }
    return slice_sub(scan->text, at, end - at);
}

/* Where the sentence or the cell begins that a value at 'at' stands in: not before another number,
 * a quote, or what separates fields. */
static size_t start_of_words(const struct detect_scan *scan, size_t at, size_t low)
{
    unsigned digits = 0;
    for (; at > low; at--) {
        char before = byte_before(scan, at, 1);
        digits = is_digit(before) ? digits + 1 : 0;
        if (before == '\n' || before == '\t' || before == ';' || before == '|' || before == '{' ||
            before == '}' || before == '"' || before == '\0' || digits == 4) {
            return at;
        }
    }
    return at;
}

/* The place behind the '[' of an array that an element at 'at' belongs to, when nothing but
 * elements stands between; 0 when there is none. */
static size_t start_of_array(const struct detect_scan *scan, size_t at)
{
    size_t low = at > LIMIT_DETECT_ARRAY_SIZE ? at - LIMIT_DETECT_ARRAY_SIZE : 0;
    if (byte_before(scan, at, 1) != ',') {
        return byte_before(scan, at, 1) == '[' ? at : 0;
    }
    const char *from = scan->text.at + low;
    const char *open = memrchr(from, '[', at - low);
    size_t size = open == NULL ? 0 : at - (size_t)(open - scan->text.at);
    if (size == 0 || memchr(open, ']', size) != NULL || memchr(open, '{', size) != NULL ||
        memchr(open, '\n', size) != NULL) {
        return 0;
    }
    return (size_t)(open - scan->text.at) + 1;
}

uint64_t detect_words_before(const struct detect_scan *scan, size_t at)
{
    size_t low = at > LIMIT_DETECT_CONTEXT_SIZE ? at - LIMIT_DETECT_CONTEXT_SIZE : 0;
    size_t end = at;
    if (end > 0 && (byte_before(scan, end, 1) == '"' || byte_before(scan, end, 1) == '\'')) {
        end--;
    }
    end = skip_spaces_back(scan, end);
    size_t array = start_of_array(scan, end);
    if (array > 0) {
        end = skip_spaces_back(scan, array - 1);
        low = end > LIMIT_DETECT_CONTEXT_SIZE ? end - LIMIT_DETECT_CONTEXT_SIZE : 0;
    }
    struct slice key = key_before(scan, end, low);
    if (key.len > 0) {
        return bits_of_words(key, false);
    }
    size_t start = start_of_words(scan, end, low);
    uint64_t bits = bits_of_words(slice_sub(scan->text, start, end - start), false);
    if (start > low && byte_before(scan, start, 1) == '"') {
        key = key_before(scan, skip_spaces_back(scan, start - 1), low);
        bits |= bits_of_words(key, false);
    }
    return bits;
}
