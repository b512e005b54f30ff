/* SPDX-License-Identifier: MIT */
#include "app/recordings.h"

#include "app/protocols.h"
#include "base/memory.h"
#include "codec/hex.h"
#include "codec/uuid.h"
#include "session/recording.h"
#include "session/recording_export.h"
#include "session/recording_folder.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

DEFINE_FREE_AT(recording_free, struct recording)

struct recordings {
    struct arena *arena;
    struct settings settings;
    struct seal_keys *keys;
    const char *folder;
    char **names; /* files or ids; ends with NULL */
    size_t count;
    const char *format; /* or NULL */
};

static void recordings_release(struct recordings *self)
{
    seal_keys_close(self->keys);
}

const char *recordings_folder_in(struct arena *arena, const struct settings *settings)
{
    return arena_format(arena, "%s/recordings", settings_text(settings, SETTING_DATA_DIR)).at;
}

/* Splits the arguments: names, --format, and the flags of settings with their values. */
static enum err recordings_split(struct recordings *self, char **arguments, char ***ret_flags,
                                 struct error *reterr)
{
    size_t count = 0;
    size_t flag_count = 0;
    while (arguments[count] != NULL) {
        count++;
    }
    char **flags = arena_alloc_array(self->arena, count + 1, sizeof(char *));
    self->names = arena_alloc_array(self->arena, count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        struct slice value = SLICE_NONE;
        struct slice flag = slice_cut(slice_of_text(arguments[i]), '=', &value);
        if (!slice_starts_with(flag, SLICE("--"))) {
            self->names[self->count++] = arguments[i];
            continue;
        }
        bool is_format = slice_equals(flag, SLICE("--format"));
        if (value.at == NULL && arguments[i + 1] == NULL && is_format) {
            return fail(reterr, ERR_INPUT, "--format: text, jsonl, csv or asciicast is expected");
        }
        if (is_format) {
            self->format = value.at != NULL ? value.at : arguments[++i];
            continue;
        }
        flags[flag_count++] = arguments[i];
        if (value.at == NULL && arguments[i + 1] != NULL) {
            flags[flag_count++] = arguments[++i];
        }
    }
    *ret_flags = flags;
    return ERR_NONE;
}

static enum err recordings_open_keys(struct recordings *self, struct error *reterr)
{
    bool is_new = false;
    const char *path = self->settings.key_file;
    if (access(path, F_OK) != 0) {
        return fail(reterr, ERR_INPUT, "--master-key-file: there is no '%s'", path);
    }
    enum err err = seal_keys_open(path, &self->keys, &is_new, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "--master-key-file: ");
    }
    return err;
}

static enum err recordings_start(struct recordings *self, char **arguments, char **environment,
                                 struct error *reterr)
{
    char **flags = NULL;
    enum err err = recordings_split(self, arguments, &flags, reterr);
    if (err == ERR_NONE && self->count == 0) {
        err = fail(reterr, ERR_INPUT, "a FILE or a SESSION-ID is expected");
    }
    if (err == ERR_NONE) {
        err = settings_read(self->arena, flags, environment, &self->settings, reterr);
    }
    if (err == ERR_NONE) {
        self->folder = recordings_folder_in(self->arena, &self->settings);
        err = recordings_open_keys(self, reterr);
    }
    return err;
}

/* An id of a session is looked for in the data folder, unless a file has that name. */
static enum err recordings_open(struct recordings *self, const char *name,
                                struct recording **ret_recording, struct error *reterr)
{
    unsigned char id[UUID_SIZE];
    const char *path = name;
    enum err err = ERR_NONE;
    if (uuid_parse(slice_of_text(name), id) == ERR_NONE && access(name, F_OK) != 0) {
        err = recording_find_in(self->arena, self->folder, slice_of_text(name), &path, reterr);
    }
    return err == ERR_NONE ? recording_open(path, self->keys, ret_recording, reterr) : err;
}

/* Verify --------------------------------------------------------------------------------------- */

static enum err recordings_read(struct recording *recording, struct error *reterr)
{
    struct record record;
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        err = recording_next(recording, &record, reterr);
    }
    return err == ERR_CLOSED ? ERR_NONE : err;
}

/* Whether it is well; prints its line. */
static bool recordings_verify_one(struct recordings *self, const char *name)
{
    struct recording *recording CLEANUP(recording_free_at)
    = NULL;
    struct error error = {0};
    enum err err = recordings_open(self, name, &recording, &error);
    if (err != ERR_NONE) {
        (void)printf("%s: %s\n", name, error.message);
        return false;
    }
    err = recordings_read(recording, &error);
    struct recording_state state = recording_state(recording);
    const char *fault = err == ERR_NONE ? recording_fault(&state) : error.message;
    struct slice head = hex_encode(self->arena, slice_of(state.head, sizeof(state.head)));
    (void)printf("%s: %s; %" PRIu64 " records in %" PRIu64 " bytes%s; the head is %.*s\n", name,
                 fault != NULL         ? fault
                 : state.is_written_to ? "ok, and the session goes on"
                                       : "ok",
                 state.record_count, state.size, fault != NULL ? " are good" : "", SLICE_ARG(head));
    return fault == NULL;
}

enum err recordings_verify(struct arena *arena, char **arguments, char **environment,
                           struct error *reterr)
{
    struct recordings self CLEANUP(recordings_release) = {.arena = arena};
    size_t bad_count = 0;
    enum err err = recordings_start(&self, arguments, environment, reterr);
    if (err == ERR_NONE && self.format != NULL) {
        err = fail(reterr, ERR_INPUT, "--format: only 'recording export' has it");
    }
    if (err != ERR_NONE) {
        return err;
    }
    for (size_t i = 0; i < self.count; i++) {
        bad_count += recordings_verify_one(&self, self.names[i]) ? 0 : 1;
    }
    return bad_count == 0 ? ERR_NONE
                          : fail(reterr, ERR_CONFLICT, "%zu of %zu recordings not verified",
                                 bad_count, self.count);
}

/* Show and export ------------------------------------------------------------------------------ */

static enum err recordings_print(void *context, struct slice bytes, struct error *reterr)
{
    (void)context;
    return fwrite(bytes.at, 1, bytes.len, stdout) == bytes.len
               ? ERR_NONE
               : fail(reterr, ERR_IO, "the standard output: %s", strerror(errno));
}

static enum err recordings_put(struct recordings *self, enum recording_format format,
                               struct error *reterr)
{
    struct recording *recording CLEANUP(recording_free_at)
    = NULL;
    if (self->count != 1) {
        return fail(reterr, ERR_INPUT, "one FILE or SESSION-ID is expected, not %zu", self->count);
    }
    enum err err = recordings_open(self, self->names[0], &recording, reterr);
    if (err == ERR_NONE) {
        err = recording_export(recording, protocol_find_replay, format, recordings_print, NULL,
                               reterr);
    }
    if (fflush(stdout) != 0 && err == ERR_NONE) {
        err = fail(reterr, ERR_IO, "the standard output: %s", strerror(errno));
    }
    return err;
}

enum err recordings_show(struct arena *arena, char **arguments, char **environment,
                         struct error *reterr)
{
    struct recordings self CLEANUP(recordings_release) = {.arena = arena};
    enum err err = recordings_start(&self, arguments, environment, reterr);
    if (err == ERR_NONE && self.format != NULL) {
        err = fail(reterr, ERR_INPUT, "--format: only 'recording export' has it");
    }
    return err == ERR_NONE ? recordings_put(&self, RECORDING_TEXT, reterr) : err;
}

enum err recordings_export(struct arena *arena, char **arguments, char **environment,
                           struct error *reterr)
{
    struct recordings self CLEANUP(recordings_release) = {.arena = arena};
    enum recording_format format = RECORDING_TEXT;
    enum err err = recordings_start(&self, arguments, environment, reterr);
    if (err == ERR_NONE &&
        (self.format == NULL ||
         recording_format_parse(slice_of_text(self.format), &format) != ERR_NONE)) {
        err = fail(reterr, ERR_INPUT, "--format: text, jsonl, csv or asciicast is expected");
    }
    return err == ERR_NONE ? recordings_put(&self, format, reterr) : err;
}

/* The master key ------------------------------------------------------------------------------- */

struct reseal {
    struct seal_keys *keys;
    struct recordings_resealed result;
};

/* What no key opens, or has no key yet, loses nothing by a change of keys. */
static enum err recordings_reseal_one(void *context, const struct recording_place *place,
                                      struct error *reterr)
{
    struct reseal *reseal = context;
    bool is_resealed = false;
    enum err err = recording_reseal(place->path, reseal->keys, &is_resealed, reterr);
    reseal->result.seen_count++;
    reseal->result.resealed_count += is_resealed ? 1 : 0;
    if (err == ERR_INPUT || err == ERR_CONFLICT || err == ERR_INTERNAL) {
        reseal->result.lost_count++;
        return ERR_NONE;
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err; /* removed meanwhile */
}

enum err recordings_reseal(const char *folder, struct seal_keys *keys,
                           struct recordings_resealed *ret_resealed, struct error *reterr)
{
    struct reseal reseal = {.keys = keys};
    enum err err = recording_walk(folder, recordings_reseal_one, &reseal, reterr);
    *ret_resealed = reseal.result;
    return err;
}
