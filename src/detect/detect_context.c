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
/* Behind the word of a secret: what it says is about that secret, "password_encryption". */
#define BIT_ABOUT   (UINT64_C(1) << 63)
#define BITS_SECRET (BIT(PASSWORD) | BIT(AWS_KEY) | BIT(AZURE_KEY) | BIT(GCP_KEY))

struct word {
    struct slice text;
    uint64_t bits;
};

/* In the order of their letters: words are looked up by halving. */
static const struct word words[] = {
    {SLICE_INIT("aadhaar"), BIT(IN_AADHAAR)},
    {SLICE_INIT("aadhar"), BIT(IN_AADHAAR)},
    {SLICE_INIT("aba"), BIT(ABA_ROUTING)},
    {SLICE_INIT("abn"), BIT(AU_ABN)},
    {SLICE_INIT("access"), BIT(AWS_KEY)},
    {SLICE_INIT("account"), BIT(US_BANK_NUMBER)},
    {SLICE_INIT("acct"), BIT(US_BANK_NUMBER)},
    {SLICE_INIT("acn"), BIT(AU_ACN)},
    {SLICE_INIT("age"), BIT_ABOUT},
    {SLICE_INIT("algo"), BIT_ABOUT},
    {SLICE_INIT("algorithm"), BIT_ABOUT},
    {SLICE_INIT("aws"), BIT(AWS_KEY)},
    {SLICE_INIT("azure"), BIT(AZURE_KEY)},
    {SLICE_INIT("bank"), BIT(US_BANK_NUMBER) | BIT(ABA_ROUTING) | BIT(IBAN_CODE)},
    {SLICE_INIT("birth"), BITS_BIRTH},
    {SLICE_INIT("birthdate"), BITS_BIRTH},
    {SLICE_INIT("birthday"), BITS_BIRTH},
    {SLICE_INIT("bitcoin"), BIT(CRYPTO)},
    {SLICE_INIT("born"), BITS_BIRTH},
    {SLICE_INIT("bsn"), BIT(NL_BSN)},
    {SLICE_INIT("btc"), BIT(CRYPTO)},
    {SLICE_INIT("burgerservicenummer"), BIT(NL_BSN)},
    {SLICE_INIT("call"), BITS_PHONE},
    {SLICE_INIT("card"), BIT(CREDIT_CARD)},
    {SLICE_INIT("carta"), BIT(CREDIT_CARD)},
    {SLICE_INIT("cc"), BIT(CREDIT_CARD)},
    {SLICE_INIT("cell"), BITS_PHONE},
    {SLICE_INIT("cellphone"), BITS_PHONE},
    {SLICE_INIT("cellulare"), BITS_PHONE},
    {SLICE_INIT("celular"), BITS_PHONE},
    {SLICE_INIT("changed"), BIT_ABOUT},
    {SLICE_INIT("cie"), BIT(IT_IDENTITY_CARD)},
    {SLICE_INIT("cnh"), BIT(BR_CNH)},
    {SLICE_INIT("cnpj"), BIT(BR_CNPJ)},
    {SLICE_INIT("codicefiscale"), BIT(IT_FISCAL_CODE)},
    {SLICE_INIT("contrasena"), BITS_SECRET},
    {SLICE_INIT("correo"), BIT(EMAIL_ADDRESS)},
    {SLICE_INIT("count"), BIT_ABOUT},
    {SLICE_INIT("courriel"), BIT(EMAIL_ADDRESS)},
    {SLICE_INIT("cpf"), BIT(BR_CPF)},
    {SLICE_INIT("credential"), BITS_SECRET},
    {SLICE_INIT("credit"), BIT(CREDIT_CARD)},
    {SLICE_INIT("dateofbirth"), BITS_BIRTH},
    {SLICE_INIT("dea"), BIT(MEDICAL_LICENSE)},
    {SLICE_INIT("debit"), BIT(CREDIT_CARD)},
    {SLICE_INIT("dni"), BIT(ES_NIF) | BIT(ES_NIE)},
    {SLICE_INIT("dob"), BITS_BIRTH},
    {SLICE_INIT("driver"), BITS_DRIVE},
    {SLICE_INIT("drivers"), BITS_DRIVE},
    {SLICE_INIT("driving"), BITS_DRIVE},
    {SLICE_INIT("electoral"), BIT(IN_VOTER)},
    {SLICE_INIT("email"), BIT(EMAIL_ADDRESS)},
    {SLICE_INIT("emails"), BIT(EMAIL_ADDRESS)},
    {SLICE_INIT("encryption"), BIT_ABOUT},
    {SLICE_INIT("epic"), BIT(IN_VOTER)},
    {SLICE_INIT("expired"), BIT_ABOUT},
    {SLICE_INIT("expires"), BIT_ABOUT},
    {SLICE_INIT("expiry"), BIT_ABOUT},
    {SLICE_INIT("fax"), BITS_PHONE},
    {SLICE_INIT("fin"), BIT(SG_FIN)},
    {SLICE_INIT("fiscal"), BIT(IT_FISCAL_CODE) | BIT(ES_NIF) | BIT(FR_NIR)},
    {SLICE_INIT("fiscale"), BIT(IT_FISCAL_CODE)},
    {SLICE_INIT("fodelsedatum"), BITS_BIRTH},
    {SLICE_INIT("fuhrerschein"), BITS_DRIVE},
    {SLICE_INIT("geboortedatum"), BITS_BIRTH},
    {SLICE_INIT("geboren"), BITS_BIRTH},
    {SLICE_INIT("geburtsdatum"), BITS_BIRTH},
    {SLICE_INIT("geburtstag"), BITS_BIRTH},
    {SLICE_INIT("gstin"), BIT(IN_GSTIN)},
    {SLICE_INIT("habilitacao"), BIT(BR_CNH)},
    {SLICE_INIT("handy"), BITS_PHONE},
    {SLICE_INIT("handynummer"), BITS_PHONE},
    {SLICE_INIT("henkilotunnus"), BIT(FI_PERSONAL_IDENTITY_CODE)},
    {SLICE_INIT("hetu"), BIT(FI_PERSONAL_IDENTITY_CODE)},
    {SLICE_INIT("iban"), BIT(IBAN_CODE)},
    {SLICE_INIT("identifikationsnummer"), BIT(DE_TAX_ID)},
    {SLICE_INIT("identity"), BITS_PERSON},
    {SLICE_INIT("idnr"), BIT(DE_TAX_ID)},
    {SLICE_INIT("insee"), BIT(FR_NIR)},
    {SLICE_INIT("insurance"), BIT(CA_SIN) | BIT(UK_NINO)},
    {SLICE_INIT("ip"), BIT(IP_ADDRESS)},
    {SLICE_INIT("itin"), BIT(US_ITIN)},
    {SLICE_INIT("iva"), BIT(IT_VAT_CODE)},
    {SLICE_INIT("kennwort"), BITS_SECRET},
    {SLICE_INIT("key"), BIT(AZURE_KEY) | BIT(GCP_KEY)},
    {SLICE_INIT("kreditkarte"), BIT(CREDIT_CARD)},
    {SLICE_INIT("kreditkort"), BIT(CREDIT_CARD)},
    {SLICE_INIT("length"), BIT_ABOUT},
    {SLICE_INIT("licence"), BITS_DRIVE | BIT(MEDICAL_LICENSE)},
    {SLICE_INIT("license"), BITS_DRIVE | BIT(MEDICAL_LICENSE)},
    {SLICE_INIT("mail"), BIT(EMAIL_ADDRESS)},
    {SLICE_INIT("mastercard"), BIT(CREDIT_CARD)},
    {SLICE_INIT("medical"), BIT(MEDICAL_LICENSE)},
    {SLICE_INIT("medicare"), BIT(AU_MEDICARE)},
    {SLICE_INIT("method"), BIT_ABOUT},
    {SLICE_INIT("mobil"), BITS_PHONE},
    {SLICE_INIT("mobile"), BITS_PHONE},
    {SLICE_INIT("mobilnummer"), BITS_PHONE},
    {SLICE_INIT("movil"), BITS_PHONE},
    {SLICE_INIT("msisdn"), BITS_PHONE},
    {SLICE_INIT("nacimiento"), BITS_BIRTH},
    {SLICE_INIT("naissance"), BITS_BIRTH},
    {SLICE_INIT("nascimento"), BITS_BIRTH},
    {SLICE_INIT("nascita"), BITS_BIRTH},
    {SLICE_INIT("national"), BITS_PERSON},
    {SLICE_INIT("nhs"), BIT(UK_NHS)},
    {SLICE_INIT("nie"), BIT(ES_NIE)},
    {SLICE_INIT("nif"), BIT(ES_NIF)},
    {SLICE_INIT("nino"), BIT(UK_NINO)},
    {SLICE_INIT("nir"), BIT(FR_NIR)},
    {SLICE_INIT("nis"), BIT(BR_PIS)},
    {SLICE_INIT("nric"), BIT(SG_FIN)},
    {SLICE_INIT("pan"), BIT(CREDIT_CARD) | BIT(IN_PAN)},
    {SLICE_INIT("pasep"), BIT(BR_PIS)},
    {SLICE_INIT("passaporto"), BITS_PASS},
    {SLICE_INIT("passord"), BITS_SECRET},
    {SLICE_INIT("passphrase"), BITS_SECRET},
    {SLICE_INIT("passport"), BITS_PASS},
    {SLICE_INIT("passwd"), BITS_SECRET},
    {SLICE_INIT("password"), BITS_SECRET},
    {SLICE_INIT("passwort"), BITS_SECRET},
    {SLICE_INIT("patente"), BIT(IT_DRIVER_LICENSE)},
    {SLICE_INIT("personnummer"), BIT(SE_PERSONNUMMER)},
    {SLICE_INIT("pesel"), BIT(PL_PESEL)},
    {SLICE_INIT("phone"), BITS_PHONE},
    {SLICE_INIT("phoneno"), BITS_PHONE},
    {SLICE_INIT("phonenumber"), BITS_PHONE},
    {SLICE_INIT("phones"), BITS_PHONE},
    {SLICE_INIT("pis"), BIT(BR_PIS)},
    {SLICE_INIT("piva"), BIT(IT_VAT_CODE)},
    {SLICE_INIT("policy"), BIT_ABOUT},
    {SLICE_INIT("portable"), BITS_PHONE},
    {SLICE_INIT("puhelin"), BITS_PHONE},
    {SLICE_INIT("pwd"), BITS_SECRET},
    {SLICE_INIT("registration"), BIT(IN_VEHICLE_REGISTRATION)},
    {SLICE_INIT("required"), BIT_ABOUT},
    {SLICE_INIT("resident"), BIT(KR_RRN) | BIT(SG_FIN)},
    {SLICE_INIT("rg"), BIT(BR_RG)},
    {SLICE_INIT("routing"), BIT(ABA_ROUTING)},
    {SLICE_INIT("rrn"), BIT(KR_RRN)},
    {SLICE_INIT("rtn"), BIT(ABA_ROUTING)},
    {SLICE_INIT("rufnummer"), BITS_PHONE},
    {SLICE_INIT("secret"), BITS_SECRET},
    {SLICE_INIT("secu"), BIT(FR_NIR)},
    {SLICE_INIT("security"), BIT(US_SSN)},
    {SLICE_INIT("senha"), BITS_SECRET},
    {SLICE_INIT("sig"), BIT(AZURE_KEY)},
    {SLICE_INIT("sin"), BIT(CA_SIN)},
    {SLICE_INIT("sms"), BITS_PHONE},
    {SLICE_INIT("social"), BIT(US_SSN) | BIT(FR_NIR)},
    {SLICE_INIT("ssn"), BIT(US_SSN)},
    {SLICE_INIT("steuer"), BIT(DE_TAX_ID)},
    {SLICE_INIT("steueridentifikationsnr"), BIT(DE_TAX_ID)},
    {SLICE_INIT("steuernummer"), BIT(DE_TAX_ID)},
    {SLICE_INIT("strength"), BIT_ABOUT},
    {SLICE_INIT("swish"), BITS_PHONE},
    {SLICE_INIT("tarjeta"), BIT(CREDIT_CARD)},
    {SLICE_INIT("tax"), BITS_TAX},
    {SLICE_INIT("tel"), BITS_PHONE},
    {SLICE_INIT("telefon"), BITS_PHONE},
    {SLICE_INIT("telefone"), BITS_PHONE},
    {SLICE_INIT("telefonnummer"), BITS_PHONE},
    {SLICE_INIT("telefono"), BITS_PHONE},
    {SLICE_INIT("telefoon"), BITS_PHONE},
    {SLICE_INIT("telephone"), BITS_PHONE},
    {SLICE_INIT("tfn"), BIT(AU_TFN)},
    {SLICE_INIT("thai"), BIT(TH_TNIN)},
    {SLICE_INIT("tin"), BITS_TAX},
    {SLICE_INIT("tnin"), BIT(TH_TNIN)},
    {SLICE_INIT("uen"), BIT(SG_UEN)},
    {SLICE_INIT("uidai"), BIT(IN_AADHAAR)},
    {SLICE_INIT("updated"), BIT_ABOUT},
    {SLICE_INIT("vat"), BIT(IT_VAT_CODE)},
    {SLICE_INIT("vehicle"), BIT(IN_VEHICLE_REGISTRATION)},
    {SLICE_INIT("visa"), BIT(CREDIT_CARD)},
    {SLICE_INIT("voter"), BIT(IN_VOTER)},
    {SLICE_INIT("wachtwoord"), BITS_SECRET},
    {SLICE_INIT("wallet"), BIT(CRYPTO)},
    {SLICE_INIT("whatsapp"), BITS_PHONE},
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
        const char *word = words[middle].text.at;
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
        struct slice word = words[i].text;
        if (word.len < STEM_SIZE || word.len >= len) {
            continue;
        }
        const char *end = text + len - word.len;
        if ((text[0] == word.at[0] && memcmp(text, word.at, word.len) == 0) ||
            (end[0] == word.at[0] && memcmp(end, word.at, word.len) == 0)) {
            bits |= words[i].bits;
        }
    }
    return bits;
}

/* Splits at what is no letter, and where case says that a word begins: userSsn, IBANCode. */
static uint64_t bits_of_words(struct slice name, bool with_stems)
{
    uint64_t bits = 0, last = 0;
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
                last = found != 0 || !with_stems ? found : bits_of_stems(word, len);
                bits |= last;
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
    bits &= (last & BIT_ABOUT) != 0 ? ~BITS_SECRET : UINT64_MAX;
    return bits & ~BIT_ABOUT;
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

/* What stands between quotes before the colon, '=' or "=>" that ends at 'at'; empty when that is no
 * key. */
static struct slice key_before(const struct detect_scan *scan, size_t at, size_t low)
{
    at -= at > low + 1 && byte_before(scan, at, 1) == '>' && byte_before(scan, at, 2) == '=';
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
