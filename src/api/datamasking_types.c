/* SPDX-License-Identifier: MIT */
/* The types that are found by themselves, with words for people. */
#include "api/handlers.h"
#include "base/must.h"
#include "detect/detect.h"

static const char *const masking_type_about[DETECT_TYPE_COUNT] = {
    [DETECT_EMAIL_ADDRESS] = "an e-mail address",
    [DETECT_PHONE_NUMBER] = "a phone number, international (E.164) or in a common national form",
    [DETECT_CREDIT_CARD] = "the number of a payment card (Luhn)",
    [DETECT_CRYPTO] = "an address of a cryptocurrency",
    [DETECT_IP_ADDRESS] = "an IPv4 or IPv6 address",
    [DETECT_MAC_ADDRESS] = "the address of a network card",
    [DETECT_URL] = "a URL",
    [DETECT_URL_WITH_CREDENTIALS] = "a URL with a password in it",
    [DETECT_DATE_TIME] = "a date, or a time",
    [DETECT_DATE_OF_BIRTH] = "a date that its surroundings call a date of birth",
    [DETECT_IBAN_CODE] = "an international bank account number (mod 97)",
    [DETECT_ABA_ROUTING] = "the routing number of a bank in the USA",
    [DETECT_US_BANK_NUMBER] = "USA: the number of a bank account",
    [DETECT_US_SSN] = "USA: a social security number",
    [DETECT_US_ITIN] = "USA: an individual taxpayer number",
    [DETECT_US_PASSPORT] = "USA: the number of a passport",
    [DETECT_US_DRIVER_LICENSE] = "USA: the number of a driving licence",
    [DETECT_MEDICAL_LICENSE] = "USA: the number of a medical licence (DEA)",
    [DETECT_CA_SIN] = "Canada: a social insurance number",
    [DETECT_UK_NHS] = "United Kingdom: an NHS number",
    [DETECT_UK_NINO] = "United Kingdom: a national insurance number",
    [DETECT_AU_TFN] = "Australia: a tax file number",
    [DETECT_AU_ABN] = "Australia: a business number",
    [DETECT_AU_ACN] = "Australia: a company number",
    [DETECT_AU_MEDICARE] = "Australia: a Medicare number",
    [DETECT_IN_AADHAAR] = "India: an Aadhaar number",
    [DETECT_IN_PAN] = "India: a permanent account number",
    [DETECT_IN_PASSPORT] = "India: the number of a passport",
    [DETECT_IN_VEHICLE_REGISTRATION] = "India: the registration of a vehicle",
    [DETECT_IN_VOTER] = "India: the number of a voter's card",
    [DETECT_IN_GSTIN] = "India: a goods and services tax number",
    [DETECT_IT_FISCAL_CODE] = "Italy: a fiscal code",
    [DETECT_IT_VAT_CODE] = "Italy: a VAT number",
    [DETECT_IT_IDENTITY_CARD] = "Italy: the number of an identity card",
    [DETECT_IT_DRIVER_LICENSE] = "Italy: the number of a driving licence",
    [DETECT_IT_PASSPORT] = "Italy: the number of a passport",
    [DETECT_ES_NIF] = "Spain: a tax number of a citizen (NIF)",
    [DETECT_ES_NIE] = "Spain: the number of a foreigner (NIE)",
    [DETECT_SG_FIN] = "Singapore: an identity number (NRIC, FIN)",
    [DETECT_SG_UEN] = "Singapore: the number of a company (UEN)",
    [DETECT_BR_CPF] = "Brazil: the tax number of a person (CPF)",
    [DETECT_BR_CNPJ] = "Brazil: the number of a company (CNPJ)",
    [DETECT_BR_RG] = "Brazil: the number of an identity card (RG)",
    [DETECT_BR_CNH] = "Brazil: the number of a driving licence (CNH)",
    [DETECT_BR_PIS] = "Brazil: a social number (PIS, PASEP)",
    [DETECT_PL_PESEL] = "Poland: a PESEL number",
    [DETECT_KR_RRN] = "Korea: a resident registration number",
    [DETECT_FI_PERSONAL_IDENTITY_CODE] = "Finland: a personal identity code",
    [DETECT_TH_TNIN] = "Thailand: a national identity number",
    [DETECT_DE_TAX_ID] = "Germany: a tax identification number",
    [DETECT_FR_NIR] = "France: a social security number (NIR)",
    [DETECT_NL_BSN] = "Netherlands: a citizen service number (BSN)",
    [DETECT_SE_PERSONNUMMER] = "Sweden: a personal identity number",
    [DETECT_JWT] = "a JSON web token",
    [DETECT_AWS_KEY] = "an access key of AWS",
    [DETECT_GCP_KEY] = "an API key of Google Cloud",
    [DETECT_AZURE_KEY] = "an account key of Azure",
    [DETECT_GITHUB_TOKEN] = "a token of GitHub",
    [DETECT_SLACK_TOKEN] = "a token of Slack",
    [DETECT_STRIPE_KEY] = "an API key of Stripe",
    [DETECT_PRIVATE_KEY] = "a private key in PEM form",
    [DETECT_PASSWORD] = "what its surroundings call a password",
};

struct masking_type {
    struct slice name;
    struct slice description;
    struct shape_bool is_checksum_verified;
};

#define AT(member) .offset = offsetof(struct masking_type, member)

static const struct shape_field masking_type_fields[] = {
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(name),
     .about = "as rules name it in entity_types"},
    {.name = "description",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(description)},
    {.name = "is_checksum_verified",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     AT(is_checksum_verified),
     .about = "what fails the checksum is not found"},
};

const struct shape masking_type_shape = {.name = "DataMaskingEntityType",
                                         .size = sizeof(struct masking_type),
                                         SHAPE_FIELDS(masking_type_fields)};

enum err datamasking_types_list(struct api_call *call, struct error *reterr)
{
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (int i = 0; i < DETECT_TYPE_COUNT; i++) {
        enum detect_type type = (enum detect_type)i;
        must(masking_type_about[type] != NULL);
        const struct masking_type shown = {
            .name = slice_of_text(detect_type_word(type)),
            .description = slice_of_text(masking_type_about[type]),
            .is_checksum_verified = {.value = detect_type_has_checksum(type), .is_given = true},
        };
        shape_write(&masking_type_shape, &shown, &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}
