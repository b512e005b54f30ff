/* SPDX-License-Identifier: MIT */
/* The settings: one table makes the flags, the environment variables, the defaults, the help and
 * the page of documentation. A flag goes before the environment, that before the default. A value
 * is checked when it is read; a wrong one stops the start. Variables of unknown name do not: others
 * set such (an orchestrator, for a service of this name), and a warning tells of them. */
#ifndef GH_APP_SETTINGS_H
#define GH_APP_SETTINGS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"

#include <stdint.h>
#include <stdio.h>

enum setting_kind {
    SETTING_PATH,
    SETTING_ADDRESS,  /* host:port */
    SETTING_LISTENER, /* the same, or off */
    SETTING_URL,      /* http or https */
    SETTING_STORE,    /* sqlite: or postgres:// */
    SETTING_NUMBER,   /* between the bounds */
    SETTING_CHOICE,   /* one of the words in the form, split by '|' */
    SETTING_LEVELS,   /* of the log */
    SETTING_NAME,     /* of a group */
    SETTING_TEXT,     /* one line */
    SETTING_SECRET,   /* one line that no message repeats */
    SETTING_NETWORKS,
    SETTING_ORIGINS,
    SETTING_HOSTS,
    SETTING_SECRET_TRUST, /* organizations, and sources of secrets */
    SETTING_ORGANIZATIONS,
    SETTING_FAULT, /* for tests, not in the help */
};

/* X(name, flag, kind, default, form, least, most, help)
 * First those of gateways, from SETTING_LOG_FORMAT on those of gateways and agents, from
 * SETTING_TOKEN on those of agents. */
#define SETTING_MAP(X)                                                                             \
    X(SETTING_DATA_DIR, "data-dir", SETTING_PATH, "./gatehouse-data", "FOLDER", 0, 0,              \
      "where the gateway keeps its store and its control socket; made when absent")                \
    X(SETTING_DATABASE_URL, "database-url", SETTING_STORE, "", "URL", 0, 0,                        \
      "the store: sqlite:PATH or postgres://...; by default SQLite in the data folder")            \
    X(SETTING_MASTER_KEY_FILE, "master-key-file", SETTING_PATH, "", "FILE", 0, 0,                  \
      "the keys of the secrets in the store; by default made in the data folder")                  \
    X(SETTING_LISTEN, "listen", SETTING_ADDRESS, "127.0.0.1:8009", "HOST:PORT", 0, 0,              \
      "where the API and the pages are served; port 0 takes a free one")                           \
    X(SETTING_POSTGRES_LISTEN, "postgres-listen", SETTING_LISTENER, "127.0.0.1:15432",             \
      "HOST:PORT|off", 0, 0,                                                                       \
      "where native clients of PostgreSQL connect to; port 0 takes a free one")                    \
    X(SETTING_POSTGRES_TLS, "postgres-tls", SETTING_CHOICE, "offered", "offered|required", 0, 0,   \
      "whether native clients of PostgreSQL may do without TLS; it needs --tls-cert")              \
    X(SETTING_MYSQL_LISTEN, "mysql-listen", SETTING_LISTENER, "127.0.0.1:13306", "HOST:PORT|off",  \
      0, 0, "where native clients of MySQL and MariaDB connect to; port 0 takes a free one")       \
    X(SETTING_MYSQL_TLS, "mysql-tls", SETTING_CHOICE, "offered", "offered|required", 0, 0,         \
      "whether native clients of MySQL may do without TLS; it needs --tls-cert")                   \
    X(SETTING_MYSQL_GREETING, "mysql-greeting", SETTING_CHOICE, "mysql", "mysql|mariadb", 0, 0,    \
      "which of the two clients take the gateway for, before it knows their target")               \
    X(SETTING_SSH_LISTEN, "ssh-listen", SETTING_LISTENER, "127.0.0.1:12222", "HOST:PORT|off", 0,   \
      0, "where clients of SSH connect to; port 0 takes a free one")                               \
    X(SETTING_TCP_LISTEN, "tcp-listen", SETTING_LISTENER, "off", "HOST:PORT|off", 0, 0,            \
      "where clients of connections of subtype tcp connect to, with TLS; needs --tls-cert")        \
    X(SETTING_PUBLIC_URL, "public-url", SETTING_URL, "", "URL", 0, 0,                              \
      "how people reach this gateway, when a proxy or another name stands before it")              \
    X(SETTING_NODE_URL, "node-url", SETTING_URL, "", "URL", 0, 0,                                  \
      "how agents and the other gateways of the same PostgreSQL store reach this one alone; by "   \
      "default the public URL")                                                                    \
    X(SETTING_NODE_CA_FILE, "node-ca-file", SETTING_PATH, "", "FILE", 0, 0,                        \
      "certificates (PEM) of who is trusted as another gateway of the store, instead of the "      \
      "system's")                                                                                  \
    X(SETTING_ALLOWED_HOSTS, "allowed-hosts", SETTING_HOSTS, "", "NAMES", 0, 0,                    \
      "further names, with commas between, by which it may be asked for (Host), beside the "       \
      "public URL's and the addresses that it listens on; requests for others are refused")        \
    X(SETTING_TLS_CERT, "tls-cert", SETTING_PATH, "", "FILE", 0, 0,                                \
      "certificate and its issuers (PEM); turns TLS on; read again on SIGHUP")                     \
    X(SETTING_TLS_KEY, "tls-key", SETTING_PATH, "", "FILE", 0, 0,                                  \
      "the certificate's private key (PEM)")                                                       \
    X(SETTING_TRUSTED_PROXIES, "trusted-proxies", SETTING_NETWORKS, "", "NETWORKS", 0, 0,          \
      "addresses and networks, with commas between, of proxies whose X-Forwarded-For (or "         \
      "Forwarded, in requests without it) tells who asks; they must set it themselves")            \
    X(SETTING_CORS_ORIGINS, "cors-origins", SETTING_ORIGINS, "", "ORIGINS", 0, 0,                  \
      "https://HOST[:PORT], with commas between: other sites whose pages may use the API, with "   \
      "tokens")                                                                                    \
    X(SETTING_ADMIN_GROUP, "admin-group", SETTING_NAME, "admin", "GROUP", 0, 0,                    \
      "the group whose members may do everything")                                                 \
    X(SETTING_AUDITOR_GROUP, "auditor-group", SETTING_NAME, "auditor", "GROUP", 0, 0,              \
      "the group whose members may read everything but secrets")                                   \
    X(SETTING_LOCAL_AUTH, "local-auth", SETTING_CHOICE, "on", "on|off", 0, 0,                      \
      "accounts with passwords; off: an identity provider alone")                                  \
    X(SETTING_OIDC_ISSUER, "oidc-issuer", SETTING_URL, "", "URL", 0, 0,                            \
      "the OpenID Connect provider through which people sign in, too")                             \
    X(SETTING_OIDC_CLIENT_ID, "oidc-client-id", SETTING_TEXT, "", "ID", 0, 0,                      \
      "what the gateway is called there")                                                          \
    X(SETTING_OIDC_CLIENT_SECRET, "oidc-client-secret", SETTING_SECRET, "", "SECRET", 0, 0,        \
      "its password there; better given as the variable, which no list of processes shows")        \
    X(SETTING_OIDC_SCOPES, "oidc-scopes", SETTING_TEXT, "openid profile email", "SCOPES", 0, 0,    \
      "what is asked for at a sign-in; spaces or commas between")                                  \
    X(SETTING_OIDC_AUDIENCE, "oidc-audience", SETTING_TEXT, "", "AUDIENCE", 0, 0,                  \
      "for which access tokens must be made; by default the client's id")                          \
    X(SETTING_OIDC_GROUPS_CLAIM, "oidc-groups-claim", SETTING_TEXT, "groups", "CLAIM", 0, 0,       \
      "the claim that holds a person's groups")                                                    \
    X(SETTING_OIDC_TRUST_EMAIL, "oidc-trust-email", SETTING_CHOICE, "off", "on|off", 0, 0,         \
      "on: the provider's addresses are verified when it does not say ('email_verified')")         \
    X(SETTING_RECORDING, "recording", SETTING_CHOICE, "standard", "standard|strict", 0, 0,         \
      "strict: nothing is passed on before its record is on the disk, not just in the system's "   \
      "memory")                                                                                    \
    X(SETTING_RECORDING_DAYS, "recording-days", SETTING_NUMBER, "90", "DAYS", 0, 36500,            \
      "how long recordings of sessions are kept; 0: for ever")                                     \
    X(SETTING_NEWCOMERS, "newcomers-per-address", SETTING_NUMBER, "500", "COUNT", 1, 1000000,      \
      "connections of one address (IPv6: of one /64) on which nobody has signed in yet, native "   \
      "ones and those of HTTP each for themselves; those that are silent longest make room for "   \
      "others; not those of --trusted-proxies")                                                    \
    X(SETTING_REVIEW_HOURS, "review-hours", SETTING_NUMBER, "24", "HOURS", 1, 8760,                \
      "how long a request waits to be reviewed, and an approved script to be run")                 \
    X(SETTING_REVIEW_DAYS, "review-days", SETTING_NUMBER, "90", "DAYS", 0, 36500,                  \
      "how long reviews that are over are kept, with their scripts; 0: for ever")                  \
    X(SETTING_NOTIFY_NETWORKS, "notify-networks", SETTING_NETWORKS, "", "NETWORKS", 0, 0,          \
      "private addresses and networks, with commas between, to which notifications may be sent, "  \
      "beside public ones")                                                                        \
    X(SETTING_SMTP_HOST, "smtp-host", SETTING_TEXT, "", "HOST", 0, 0,                              \
      "the server through which notifications are sent as e-mail; without it there is none")       \
    X(SETTING_SMTP_PORT, "smtp-port", SETTING_NUMBER, "587", "PORT", 1, 65535, "its port")         \
    X(SETTING_SMTP_TLS, "smtp-tls", SETTING_CHOICE, "starttls", "starttls|tls|off", 0, 0,          \
      "starttls: nothing is sent to a server that does not offer it; tls: from the first byte on " \
      "(port 465); off: in clear text, without a password")                                        \
    X(SETTING_SMTP_FROM, "smtp-from", SETTING_TEXT, "", "ADDRESS", 0, 0,                           \
      "the address that e-mail comes from")                                                        \
    X(SETTING_SMTP_USER, "smtp-user", SETTING_TEXT, "", "USER", 0, 0,                              \
      "who the gateway is at the mail server")                                                     \
    X(SETTING_SMTP_PASSWORD, "smtp-password", SETTING_SECRET, "", "SECRET", 0, 0,                  \
      "the password there; better given as the variable, or as a file")                            \
    X(SETTING_SMTP_PASSWORD_FILE, "smtp-password-file", SETTING_PATH, "", "FILE", 0, 0,            \
      "a file with the password there in one line, which not everybody may read")                  \
    X(SETTING_SMTP_CA_FILE, "smtp-ca-file", SETTING_PATH, "", "FILE", 0, 0,                        \
      "certificates (PEM) of who is trusted as the mail server, instead of the system's")          \
    X(SETTING_HELD, "held-seconds", SETTING_NUMBER, "3600", "SECONDS", 1, 86400,                   \
      "how long a statement that a guard rail has reviewed waits in its session")                  \
    X(SETTING_HELD_LOCKED, "held-locked-seconds", SETTING_NUMBER, "300", "SECONDS", 1, 86400,      \
      "the same where a transaction is open at the target, and others may wait for its locks")     \
    X(SETTING_LOCAL_SECRETS, "local-secrets", SETTING_SECRET_TRUST, "default", "NAMES|off", 0, 0,  \
      "organizations whose connections may refer to secrets that the gateway's own process can "   \
      "read (_envjson:, _aws:, _vaultkv1:, _vaultkv2:), with commas between; NAME=aws+envjson "    \
      "for some of these alone; all others need an agent of their own")                            \
    X(SETTING_WORKERS, "workers", SETTING_NUMBER, "0", "COUNT", 0, LIMIT_WORKER_COUNT,             \
      "threads that own connections; 0: one a processor")                                          \
    X(SETTING_BUSY_WAIT, "busy-wait", SETTING_NUMBER, "50", "MICROSECONDS", 0, 1000,               \
      "how long such a thread looks for more, awake, after it carried something; 0: never; "       \
      "never either under a quota of the processor (cgroup)")                                      \
    X(SETTING_METRICS_ACCESS, "metrics-access", SETTING_CHOICE, "loopback", "loopback|anyone", 0,  \
      0,                                                                                           \
      "who may read /metrics; loopback: this machine, unless --public-url leads elsewhere, for "   \
      "then a proxy on it could ask for others (--trusted-proxies tells it apart); everybody "     \
      "else with the credential of an admin or an auditor")                                        \
    X(SETTING_LOG_FORMAT, "log-format", SETTING_CHOICE, "text", "text|json", 0, 0,                 \
      "lines for people or for machines; they go to the standard error")                           \
    X(SETTING_LOG_LEVEL, "log-level", SETTING_LEVELS, "info", "LEVELS", 0, 0,                      \
      "error, warn, info or debug, also by component: info,http=debug")                            \
    X(SETTING_POOL_THREADS, "pool-threads", SETTING_NUMBER, "16", "COUNT", 1, 256,                 \
      "threads for what uses the store or blocks otherwise, started when needed")                  \
    X(SETTING_SHUTDOWN_SECONDS, "shutdown-seconds", SETTING_NUMBER, "10", "SECONDS", 0, 3600,      \
      "how long a stop takes at most: answers and transactions under way end in time or are cut")  \
    X(SETTING_COMMANDS, "commands", SETTING_CHOICE, "on", "on|off", 0, 0,                          \
      "whether the commands of connections are run here, for scripts that are executed over the "  \
      "API")                                                                                       \
    X(SETTING_LOCAL_COMMANDS, "local-commands", SETTING_ORGANIZATIONS, "default", "NAMES|off", 0,  \
      0,                                                                                           \
      "organizations whose commands the gateway's own process runs, with commas between; all "     \
      "others need an agent of their own")                                                         \
    X(SETTING_SANDBOX, "sandbox", SETTING_CHOICE, "on", "on|off", 0, 0,                            \
      "confine the process to what it needs; off only to debug it")                                \
    X(SETTING_FAULT_SWITCH, "fault", SETTING_FAULT, "", "FAULT", 0, 0, "")                         \
    X(SETTING_TOKEN, "token", SETTING_SECRET, "", "TOKEN", 0, 0,                                   \
      "what the agent was created with; better given as the variable, which no list of processes " \
      "shows")                                                                                     \
    X(SETTING_GATEWAY, "gateway", SETTING_URL, "", "URL", 0, 0,                                    \
      "where the gateway is, when the token does not say so, or another way leads to it")          \
    X(SETTING_CA_FILE, "ca-file", SETTING_PATH, "", "FILE", 0, 0,                                  \
      "certificates (PEM) of who is trusted, instead of the system's")                             \
    X(SETTING_ALLOW_PLAIN, "allow-plain", SETTING_CHOICE, "off", "on|off", 0, 0,                   \
      "send the token and all data over a network in clear text")                                  \
    X(SETTING_FILES_DIR, "files-dir", SETTING_PATH, "", "FOLDER", 0, 0,                            \
      "where secrets are while sessions need them as files; by default a place in memory, if "     \
      "there is one; made when absent")

#define SETTING_ENUM(name, flag, kind, value, form, least, most, help) name,
enum setting { SETTING_MAP(SETTING_ENUM) SETTING_COUNT };
#undef SETTING_ENUM

/* Further ones are passed over. */
#define SETTINGS_WARNINGS_MAX 8

struct settings {
    const char *values[SETTING_COUNT];
    const char *store_url; /* the default hangs on the data folder */
    const char *key_file;  /* likewise */
    const char *warnings[SETTINGS_WARNINGS_MAX];
    size_t warning_count;
};

/* Whose settings are read, and shown. */
enum settings_scope {
    SETTINGS_SERVE,
    SETTINGS_AGENT,
};

/* 'arguments' are those behind the command; ends with NULL like 'environment'. Texts die with the
 * arena or with the arguments. */
enum err settings_read(struct arena *arena, char **arguments, char **environment,
                       struct settings *ret_settings, struct error *reterr) MUST_USE;

/* Those of 'gatehouse agent'. */
enum err settings_read_agent(struct arena *arena, char **arguments, char **environment,
                             struct settings *ret_settings, struct error *reterr) MUST_USE;

/* Without the dashes. */
const char *setting_flag(enum setting setting);
const char *settings_text(const struct settings *settings, enum setting setting);
uint64_t settings_number(const struct settings *settings, enum setting setting);
/* How long a thread may look for more, awake: as --busy-wait says, and never where a cgroup rations
 * the processor. Reads /proc and /sys: before the sandbox. */
uint64_t settings_busy_wait_us(const struct settings *settings);
bool settings_is(const struct settings *settings, enum setting setting, const char *word);

void settings_print_help(FILE *out, enum settings_scope scope);
/* docs/configuration.md, which the build makes. */
void settings_print_markdown(FILE *out);

#endif
