/* SPDX-License-Identifier: MIT */
#include "model/rulepack.h"

#include "base/memory.h"

/* What reads or writes the server's own files, reaches other servers in the database's name, or
 * runs a text as a query. */
#define FUNCTIONS_BEYOND                                                                           \
    "\"pg_read_file\",\"pg_read_binary_file\",\"pg_file_*\",\"pg_stat_file\",\"pg_ls_*\","         \
    "\"pg_logdir_ls\",\"lo_import\",\"lo_export\",\"dblink*\",\"postgres_fdw_*\",\"file_fdw_*\","  \
    "\"pg_logical_*\",\"*_to_xml*\",\"xpath_table\",\"crosstab*\",\"connectby\",\"ts_stat\","      \
    "\"ts_rewrite\""

/* To the reader of the table a COPY to a file of the server is a read. */
#define COPY_OUT_RULE                                                                              \
    "{\"type\":\"sql\",\"name\":\"no copy to the server\",\"operations\":[\"server_file\"],"       \
    "\"unknown\":\"allow\","                                                                       \
    "\"message\":\"programs and files of the server are out of reach here\"}"

/* A statement that is not understood is stopped by all that is about writing. A call of a function
 * that is not the database's own is stopped by the first pack alone: it may write, but hardly drops
 * a table or empties one. */
static const char read_only_guardrail[] =
    "{\"name\":\"read-only\",\"description\":\"nothing is changed\",\"input\":{\"rules\":["
    "{\"type\":\"sql\",\"name\":\"reading only\",\"read_only\":true,\"unknown\":\"block\","
    "\"message\":\"this connection is for reading\"}]}}";

static const char no_destructive_ddl_guardrail[] =
    "{\"name\":\"no-destructive-ddl\",\"description\":\"nothing is dropped or emptied\","
    "\"input\":{\"rules\":["
    "{\"type\":\"sql\",\"name\":\"no drop\",\"operations\":[\"drop\",\"truncate\",\"reassign\"],"
    "\"unknown\":\"block\",\"safe_functions\":[\"*\"],"
    "\"message\":\"dropping and truncating are not allowed here\"}]}}";

static const char no_unbounded_write_guardrail[] =
    "{\"name\":\"no-unbounded-write\",\"description\":\"no write meets a whole table\","
    "\"input\":{\"rules\":["
    "{\"type\":\"sql\",\"name\":\"no write without where\",\"operations\":[\"update\",\"delete\"],"
    "\"without_where\":true,\"unknown\":\"block\",\"safe_functions\":[\"*\"],"
    "\"message\":\"say with WHERE which rows are meant\"},"
    "{\"type\":\"sql\",\"name\":\"no truncate\",\"operations\":[\"truncate\"],"
    "\"unknown\":\"block\",\"safe_functions\":[\"*\"],"
    "\"message\":\"say with WHERE which rows are meant\"},"
    "{\"type\":\"sql\",\"name\":\"no more than 10000 rows\",\"operations\":[\"update\","
    "\"delete\"],\"max_rows\":10000,\"unknown\":\"allow\",\"message\":\"write in portions, or "
    "inside of a transaction\"}]}}";

/* Of MySQL, by what texts say alone: for targets whose tables cannot be rolled back, or whose
 * sessions are not to be made READ ONLY. */
static const char mysql_no_unbounded_write_guardrail[] =
    "{\"name\":\"mysql-no-unbounded-write\",\"description\":\"no write meets a whole table\","
    "\"input\":{\"rules\":["
    "{\"type\":\"sql\",\"name\":\"no write without where\",\"operations\":[\"update\",\"delete\"],"
    "\"without_where\":true,\"unknown\":\"block\",\"safe_functions\":[\"*\"],"
    "\"message\":\"say with WHERE which rows are meant\"},"
    "{\"type\":\"sql\",\"name\":\"no truncate\",\"operations\":[\"truncate\"],"
    "\"unknown\":\"block\",\"safe_functions\":[\"*\"],"
    "\"message\":\"say with WHERE which rows are meant\"}]}}";

static const char mysql_read_only_guardrail[] =
    "{\"name\":\"mysql-read-only\",\"description\":\"nothing is changed\",\"input\":{\"rules\":["
    "{\"type\":\"sql\",\"name\":\"reading only\",\"operations\":[\"insert\",\"update\",\"delete\","
    "\"truncate\",\"create\",\"alter\",\"drop\",\"rename\",\"grant\",\"revoke\",\"copy\",\"call\","
    "\"lock\",\"vacuum\",\"analyze\",\"import\",\"load\",\"server_file\",\"code\",\"foreign\","
    "\"other\"],\"unknown\":\"block\",\"message\":\"this connection is for reading\"}]}}";

/* What masking cannot see: values that leave through the server's files and programs or another
 * server, and what is made to do so under another name. */
#define BEYOND_RULE                                                                                \
    "{\"type\":\"sql\",\"name\":\"no files and no other servers\",\"functions\":["                 \
    "" FUNCTIONS_BEYOND "],\"unknown\":\"allow\","                                                 \
    "\"message\":\"files of the server and other servers are out of reach here\"},"                \
    "{\"type\":\"sql\",\"name\":\"no code and no other servers\",\"operations\":[\"code\","        \
    "\"do\",\"foreign\",\"import\",\"load\"],\"unknown\":\"allow\","                               \
    "\"message\":\"what runs later, and other servers, are not defined here\"}," COPY_OUT_RULE
#define BEYOND_GUARDRAIL(name)                                                                     \
    "{\"name\":\"" name "\",\"description\":\"no way around masking\",\"input\":{\"rules\":"       \
    "[" BEYOND_RULE "]}}"

static const char secrets_guardrail[] =
    "{\"name\":\"secrets\",\"description\":\"what holds the database's own secrets\","
    "\"input\":{\"rules\":["
    "{\"type\":\"sql\",\"name\":\"no password hashes\",\"relations\":["
    "{\"name\":\"pg_catalog.pg_authid\",\"access\":\"any\"},"
    "{\"name\":\"pg_catalog.pg_shadow\",\"access\":\"any\"},"
    "{\"name\":\"pg_catalog.pg_user_mapping\",\"access\":\"any\"},"
    "{\"name\":\"information_schema.user_mapping_options\",\"access\":\"any\"},"
    "{\"name\":\"information_schema._pg_user_mappings\",\"access\":\"any\"}],\"unknown\":\"allow\","
    "\"message\":\"password hashes are not shown here\"}," BEYOND_RULE "]}}";

/* For callers that nobody watches. Members of the group are those who were granted writing, of few
 * rows at a time. Rows that are read are bounded by the hour. */
static const char agent_safe_guardrail[] =
    "{\"name\":\"agent-safe\",\"description\":\"nothing that cannot be taken back\","
    "\"input\":{\"rules\":["
    "{\"type\":\"sql\",\"name\":\"reading only\",\"read_only\":true,"
    "\"except_groups\":[\"agent-writers\"],\"unknown\":\"block\","
    "\"message\":\"agents read here; the group agent-writers may write\"},"
    "{\"type\":\"sql\",\"name\":\"no definitions, no privileges, no code\",\"operations\":["
    "\"create\",\"alter\",\"drop\",\"rename\",\"truncate\",\"comment\",\"grant\",\"revoke\","
    "\"call\","
    "\"do\",\"code\",\"foreign\",\"import\",\"reassign\",\"load\",\"lock\",\"vacuum\",\"analyze\","
    "\"reindex\",\"cluster\",\"refresh\",\"checkpoint\",\"server_file\",\"other\"],"
    "\"unknown\":\"block\","
    "\"message\":\"agents define nothing, and call nothing but the database's own functions\"},"
    "{\"type\":\"sql\",\"name\":\"no write without where\",\"operations\":[\"update\",\"delete\"],"
    "\"without_where\":true,\"unknown\":\"block\","
    "\"message\":\"say with WHERE which rows are meant\"},"
    "{\"type\":\"sql\",\"name\":\"no more than 100 rows\",\"max_rows\":100,\"unknown\":\"block\","
    "\"message\":\"write in portions\"},"
    "{\"type\":\"sql\",\"name\":\"no files and no other servers\",\"functions\":["
    "" FUNCTIONS_BEYOND "],\"unknown\":\"block\","
    "\"message\":\"files of the server and other servers are out of reach here\"},"
    "{\"type\":\"sql\",\"name\":\"no password hashes\",\"relations\":["
    "{\"name\":\"pg_catalog.pg_authid\",\"access\":\"any\"},"
    "{\"name\":\"pg_catalog.pg_shadow\",\"access\":\"any\"},"
    "{\"name\":\"pg_catalog.pg_user_mapping\",\"access\":\"any\"},"
    "{\"name\":\"information_schema.user_mapping_options\",\"access\":\"any\"},"
    "{\"name\":\"information_schema._pg_user_mappings\",\"access\":\"any\"}],\"unknown\":\"block\","
    "\"message\":\"password hashes are not shown here\"}]},"
    "\"output\":{\"rules\":["
    "{\"type\":\"read_budget\",\"name\":\"no bulk reads\",\"rows\":50000,\"bytes\":50000000,"
    "\"per\":\"hour\",\"message\":\"ask for less, or ask a person\"}]}}";

static const char pci_masking[] =
    "{\"name\":\"pci\",\"description\":\"card numbers and what belongs to them\","
    "\"supported_entity_types\":[{\"name\":\"CARDS\",\"entity_types\":[\"CREDIT_CARD\"]}],"
    "\"strategy\":{\"type\":\"partial\",\"keep_last\":4},\"columns\":["
    "{\"name\":\"*card*number*\"},{\"name\":\"*card_no\"},{\"name\":\"pan\"},"
    "{\"name\":\"cvv*\",\"strategy\":{\"type\":\"redact\"}},"
    "{\"name\":\"cvc*\",\"strategy\":{\"type\":\"redact\"}}]}";

static const char personal_data_masking[] =
    "{\"name\":\"personal-data\",\"description\":\"what tells of a person\","
    "\"supported_entity_types\":[{\"name\":\"CONTACT\",\"entity_types\":[\"EMAIL_ADDRESS\","
    "\"PHONE_NUMBER\"]},{\"name\":\"PERSON\",\"entity_types\":[\"DATE_OF_BIRTH\",\"IBAN_CODE\","
    "\"US_SSN\",\"US_ITIN\",\"CA_SIN\",\"UK_NHS\",\"UK_NINO\",\"AU_TFN\",\"AU_MEDICARE\","
    "\"IN_AADHAAR\",\"IT_FISCAL_CODE\",\"ES_NIF\",\"ES_NIE\",\"SG_FIN\",\"BR_CPF\",\"PL_PESEL\","
    "\"KR_RRN\",\"FI_PERSONAL_IDENTITY_CODE\",\"TH_TNIN\",\"DE_TAX_ID\",\"FR_NIR\",\"NL_BSN\","
    "\"SE_PERSONNUMMER\"]}]}";

static const char secrets_masking[] =
    "{\"name\":\"secrets\",\"description\":\"keys, tokens and passwords\","
    "\"supported_entity_types\":[{\"name\":\"SECRETS\",\"entity_types\":["
    "\"URL_WITH_CREDENTIALS\",\"JWT\",\"AWS_KEY\",\"GCP_KEY\",\"AZURE_KEY\",\"GITHUB_TOKEN\","
    "\"SLACK_TOKEN\",\"STRIPE_KEY\",\"PRIVATE_KEY\",\"PASSWORD\"]}]}";

/* The order is that of the list. */
const struct rulepack rulepacks[] = {
    {"agent-safe", "Safe for agents",
     "Reading, 50,000 rows an hour; writing of at most 100 rows for the group agent-writers; no "
     "definitions, no privileges, no functions but the database's own.",
     agent_safe_guardrail, NULL},
    {"mysql-no-unbounded-write", "MySQL: no unbounded writes",
     "UPDATE and DELETE need a WHERE; no TRUNCATE.", mysql_no_unbounded_write_guardrail, NULL},
    {"mysql-read-only", "MySQL: read only",
     "Statements that change anything, or may, are refused by what they say.",
     mysql_read_only_guardrail, NULL},
    {"no-destructive-ddl", "No destructive DDL",
     "Nothing is dropped or truncated; tables can still be made and filled.",
     no_destructive_ddl_guardrail, NULL},
    {"no-unbounded-write", "No unbounded writes",
     "UPDATE and DELETE need a WHERE and change at most 10,000 rows outside of a transaction; no "
     "TRUNCATE.",
     no_unbounded_write_guardrail, NULL},
    {"pci", "Card data", "Card numbers and what belongs to them are masked.",
     BEYOND_GUARDRAIL("pci"), pci_masking},
    {"personal-data", "Personal data",
     "What tells of a person is masked: addresses, telephone and identity numbers, dates of birth.",
     BEYOND_GUARDRAIL("personal-data"), personal_data_masking},
    {"read-only", "Read only",
     "Statements that change anything are refused, and the server runs the session in READ ONLY "
     "transactions.",
     read_only_guardrail, NULL},
    {"secrets", "Secrets",
     "Keys, tokens and passwords are masked; the database's password hashes are not read.",
     secrets_guardrail, secrets_masking},
};

const size_t rulepack_count = COUNT_OF(rulepacks);

const struct rulepack *rulepack_find(struct slice name)
{
    for (size_t i = 0; i < rulepack_count; i++) {
        if (slice_equals(name, slice_of_text(rulepacks[i].name))) {
            return &rulepacks[i];
        }
    }
    return NULL;
}
