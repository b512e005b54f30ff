/* SPDX-License-Identifier: MIT */
#include "app/mail_settings.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "model/name.h"
#include "wire/address.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASSWORD_MAX 1000

static bool mail_has(const struct settings *settings, enum setting setting)
{
    return !settings_is(settings, setting, "");
}

/* The one line of a file that not everybody may read. */
static enum err mail_read_password_in(struct arena *arena, const char *path,
                                      struct slice *ret_password, struct error *reterr)
{
    char text[PASSWORD_MAX + 2];
    struct stat status;
    struct slice rest = SLICE_NONE;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = -1;
    if (fd >= 0 && fstat(fd, &status) == 0) {
        size = read(fd, text, sizeof(text));
    }
    int cause = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (size < 0) {
        return fail(reterr, ERR_INPUT, "--smtp-password-file: '%s': %s", path, strerror(cause));
    }
    struct slice line =
        arena_copy(arena, slice_trim(slice_cut(slice_of(text, (size_t)size), '\n', &rest), "\r"));
    explicit_bzero(text, sizeof(text));
    if ((status.st_mode & S_IRWXO) != 0) {
        return fail(reterr, ERR_INPUT,
                    "--smtp-password-file: '%s' can be read by everybody: chmod 600 it", path);
    }
    if (line.len == 0 || line.len > PASSWORD_MAX || rest.len > 0 ||
        line_check(line, NULL) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "--smtp-password-file: '%s': one line of text is expected",
                    path);
    }
    *ret_password = line;
    return ERR_NONE;
}

/* A name, or an address, as it stands in a URL. ERR_INPUT: it leads where nothing may. */
static enum err mail_host_in(struct arena *arena, const struct settings *settings,
                             struct slice host, struct slice *ret_written, struct error *reterr)
{
    struct address address;
    struct network_list networks;
    struct slice listed = slice_of_text(settings_text(settings, SETTING_NOTIFY_NETWORKS));
    must(network_list_parse(listed, &networks, NULL) == ERR_NONE);
    bool is_address = address_parse(host, &address);
    bool is_name = !is_address;
    for (size_t i = 0; i < host.len && is_name; i++) {
        char byte = host.at[i];
        is_name = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                  (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '_';
    }
    if (!is_address && !is_name) {
        return fail(reterr, ERR_INPUT,
                    "--smtp-host (GATEHOUSE_SMTP_HOST): the name or address of a server is "
                    "expected; --smtp-port has its port");
    }
    bool is_private = is_address
                          ? !address_is_public(&address) && !network_list_has(&networks, &address)
                          : address_is_loopback_host(host) && networks.count == 0;
    if (is_private) {
        return fail(reterr, ERR_INPUT,
                    "--smtp-host: '%.*s' is a private address, or this machine: --notify-networks "
                    "must name it",
                    SLICE_ARG(host));
    }
    bool is_ipv6 = slice_find_byte(host, ':') < host.len;
    *ret_written = is_ipv6 ? arena_format(arena, "[%.*s]", SLICE_ARG(host)) : host;
    return ERR_NONE;
}

static enum err mail_check_none(const struct settings *settings, struct error *reterr)
{
    static const enum setting others[] = {SETTING_SMTP_FROM, SETTING_SMTP_USER,
                                          SETTING_SMTP_PASSWORD, SETTING_SMTP_PASSWORD_FILE,
                                          SETTING_SMTP_CA_FILE};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (mail_has(settings, others[i])) {
            return fail(reterr, ERR_INPUT, "--%s needs --smtp-host", setting_flag(others[i]));
        }
    }
    return ERR_NONE;
}

static enum err mail_check(const struct settings *settings, struct error *reterr)
{
    struct slice from = slice_of_text(settings_text(settings, SETTING_SMTP_FROM));
    bool has_password = mail_has(settings, SETTING_SMTP_PASSWORD);
    bool has_file = mail_has(settings, SETTING_SMTP_PASSWORD_FILE);
    bool has_user = mail_has(settings, SETTING_SMTP_USER);
    if (sink_recipient_check(from, NULL) != ERR_NONE) {
        return fail(reterr, ERR_INPUT,
                    "--smtp-from (GATEHOUSE_SMTP_FROM): the e-mail address of the sender is "
                    "expected");
    }
    if (has_password && has_file) {
        return fail(reterr, ERR_INPUT, "--smtp-password and --smtp-password-file: one of them");
    }
    if (has_user != (has_password || has_file)) {
        return fail(reterr, ERR_INPUT,
                    "--smtp-user and --smtp-password (or --smtp-password-file): both or none");
    }
    if (has_user && settings_is(settings, SETTING_SMTP_TLS, "off")) {
        return fail(reterr, ERR_INPUT,
                    "--smtp-tls off: the password would go over the network in clear text");
    }
    return ERR_NONE;
}

enum err mail_settings_read_in(struct arena *arena, const struct settings *settings,
                               struct mail_server *ret_server, struct error *reterr)
{
    struct slice host = slice_of_text(settings_text(settings, SETTING_SMTP_HOST));
    struct slice written = SLICE_NONE;
    *ret_server = (struct mail_server){.host = SLICE(""), .url = ""};
    if (host.len == 0) {
        return mail_check_none(settings, reterr);
    }
    enum err err = mail_host_in(arena, settings, host, &written, reterr);
    if (err == ERR_NONE) {
        err = mail_check(settings, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    const char *issuers = settings_text(settings, SETTING_SMTP_CA_FILE);
    *ret_server = (struct mail_server){
        .host = host,
        .url = arena_format(arena, "%s://%.*s:%s",
                            settings_is(settings, SETTING_SMTP_TLS, "tls") ? "smtps" : "smtp",
                            SLICE_ARG(written), settings_text(settings, SETTING_SMTP_PORT))
                   .at,
        .from = slice_of_text(settings_text(settings, SETTING_SMTP_FROM)),
        .user = slice_of_text(settings_text(settings, SETTING_SMTP_USER)),
        .password = slice_of_text(settings_text(settings, SETTING_SMTP_PASSWORD)),
        .issuers = issuers[0] == '\0' ? NULL : issuers,
        .is_plain = settings_is(settings, SETTING_SMTP_TLS, "off"),
    };
    return mail_has(settings, SETTING_SMTP_PASSWORD_FILE)
               ? mail_read_password_in(arena, settings_text(settings, SETTING_SMTP_PASSWORD_FILE),
                                       &ret_server->password, reterr)
               : ERR_NONE;
}
