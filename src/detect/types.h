/* SPDX-License-Identifier: MIT */
/* What can be found: X(NAME, "NAME_IN_RULES", has_checksum). With a checksum, what fails it is not
 * found at all. At most 64: contexts are bits of one word. */
#ifndef GH_DETECT_TYPES_H
#define GH_DETECT_TYPES_H

#define DETECT_TYPES(X)                                                                            \
    X(EMAIL_ADDRESS, "EMAIL_ADDRESS", false)                                                       \
    X(PHONE_NUMBER, "PHONE_NUMBER", false)                                                         \
    X(CREDIT_CARD, "CREDIT_CARD", true)                                                            \
    X(CRYPTO, "CRYPTO", true)                                                                      \
    X(IP_ADDRESS, "IP_ADDRESS", false)                                                             \
    X(MAC_ADDRESS, "MAC_ADDRESS", false)                                                           \
    X(URL, "URL", false)                                                                           \
    X(URL_WITH_CREDENTIALS, "URL_WITH_CREDENTIALS", false)                                         \
    X(DATE_TIME, "DATE_TIME", false)                                                               \
    X(DATE_OF_BIRTH, "DATE_OF_BIRTH", false)                                                       \
    X(IBAN_CODE, "IBAN_CODE", true)                                                                \
    X(ABA_ROUTING, "ABA_ROUTING", true)                                                            \
    X(US_BANK_NUMBER, "US_BANK_NUMBER", false)                                                     \
    X(US_SSN, "US_SSN", false)                                                                     \
    X(US_ITIN, "US_ITIN", false)                                                                   \
    X(US_PASSPORT, "US_PASSPORT", false)                                                           \
    X(US_DRIVER_LICENSE, "US_DRIVER_LICENSE", false)                                               \
    X(MEDICAL_LICENSE, "MEDICAL_LICENSE", true)                                                    \
    X(CA_SIN, "CA_SIN", true)                                                                      \
    X(UK_NHS, "UK_NHS", true)                                                                      \
    X(UK_NINO, "UK_NINO", false)                                                                   \
    X(AU_TFN, "AU_TFN", true)                                                                      \
    X(AU_ABN, "AU_ABN", true)                                                                      \
    X(AU_ACN, "AU_ACN", true)                                                                      \
    X(AU_MEDICARE, "AU_MEDICARE", true)                                                            \
    X(IN_AADHAAR, "IN_AADHAAR", true)                                                              \
    X(IN_PAN, "IN_PAN", false)                                                                     \
    X(IN_PASSPORT, "IN_PASSPORT", false)                                                           \
    X(IN_VEHICLE_REGISTRATION, "IN_VEHICLE_REGISTRATION", false)                                   \
    X(IN_VOTER, "IN_VOTER", false)                                                                 \
    X(IN_GSTIN, "IN_GSTIN", true)                                                                  \
    X(IT_FISCAL_CODE, "IT_FISCAL_CODE", true)                                                      \
    X(IT_VAT_CODE, "IT_VAT_CODE", true)                                                            \
    X(IT_IDENTITY_CARD, "IT_IDENTITY_CARD", false)                                                 \
    X(IT_DRIVER_LICENSE, "IT_DRIVER_LICENSE", false)                                               \
    X(IT_PASSPORT, "IT_PASSPORT", false)                                                           \
    X(ES_NIF, "ES_NIF", true)                                                                      \
    X(ES_NIE, "ES_NIE", true)                                                                      \
    X(SG_FIN, "SG_FIN", true)                                                                      \
    X(SG_UEN, "SG_UEN", false)                                                                     \
    X(BR_CPF, "BR_CPF", true)                                                                      \
    X(BR_CNPJ, "BR_CNPJ", true)                                                                    \
    X(BR_RG, "BR_RG", false)                                                                       \
    X(BR_CNH, "BR_CNH", true)                                                                      \
    X(BR_PIS, "BR_PIS", true)                                                                      \
    X(PL_PESEL, "PL_PESEL", true)                                                                  \
    X(KR_RRN, "KR_RRN", true)                                                                      \
    X(FI_PERSONAL_IDENTITY_CODE, "FI_PERSONAL_IDENTITY_CODE", true)                                \
    X(TH_TNIN, "TH_TNIN", true)                                                                    \
    X(DE_TAX_ID, "DE_TAX_ID", true)                                                                \
    X(FR_NIR, "FR_NIR", true)                                                                      \
    X(NL_BSN, "NL_BSN", true)                                                                      \
    X(SE_PERSONNUMMER, "SE_PERSONNUMMER", true)                                                    \
    X(JWT, "JWT", false)                                                                           \
    X(AWS_KEY, "AWS_KEY", false)                                                                   \
    X(GCP_KEY, "GCP_KEY", false)                                                                   \
    X(AZURE_KEY, "AZURE_KEY", false)                                                               \
    X(GITHUB_TOKEN, "GITHUB_TOKEN", false)                                                         \
    X(SLACK_TOKEN, "SLACK_TOKEN", false)                                                           \
    X(STRIPE_KEY, "STRIPE_KEY", false)                                                             \
    X(PRIVATE_KEY, "PRIVATE_KEY", false)                                                           \
    X(PASSWORD, "PASSWORD", false)

#endif
