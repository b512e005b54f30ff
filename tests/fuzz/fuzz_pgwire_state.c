/* SPDX-License-Identifier: MIT */
/* The tracker between two sides. Either both are random (it fails or goes on, within its limits),
 * or the server is a small model of a real one, with requests and answers under way between it and
 * the tracker: then each answer is told to belong to the message that the model answers, and in the
 * end nothing is owed. */
#include "fuzz.h"

#include "base/must.h"
#include "wire/pgwire_state.h"

#define RANDOM_SIDES 0x80
#define STEPS_MAX    2000
#define ANSWERS_MAX  16

struct told {
    char type;
    uint64_t id;
};

struct model {
    struct pgwire_state state;
    struct told requests[STEPS_MAX + 8]; /* under way to the server */
    size_t request_first;
    size_t request_count;
    struct told answers[(STEPS_MAX + 8) * ANSWERS_MAX]; /* under way from it */
    size_t answer_first;
    size_t answer_count;
    struct told copying; /* the server's request that reads CopyData; type 0: none */
    bool is_skipping;    /* the server's */
    bool is_over;        /* one side broke the protocol, as is its right */
    uint64_t last_id;    /* of what was answered for good */
};

static struct pgwire_frame message(char type)
{
    return (struct pgwire_frame){.packet = PGWIRE_MESSAGE, .type = type, .is_known = true};
}

static void say(struct model *model, uint64_t id, const char *types)
{
    for (; *types != '\0'; types++) {
        model->answers[model->answer_count++] = (struct told){*types, id};
    }
}

static void turn(struct model *model, uint64_t id)
{
    must(id >= model->last_id);
    model->last_id = id;
}

/* The client ---------------------------------------------------------------------------------- */

static void client_step(struct model *model, char type)
{
    struct pgwire_step step;
    struct pgwire_frame frame = message(type);
    bool is_request = strchr("QFPBDEC", type) != NULL;
    /* Syncs amid the data of a copy are the one thing that cannot be told for sure. */
    if (model->state.client_copies && (is_request || type == 'S')) {
        return;
    }
    must(pgwire_state_client(&model->state, &frame, &step, NULL) == ERR_NONE);
    model->requests[model->request_count++] = (struct told){type, step.id};
}

/* The server ---------------------------------------------------------------------------------- */

static const char *answers_of(char type, unsigned choice)
{
    static const char *const query[] = {"CZ",     "TDCTCZ", "EZ", "IZ",
                                        "HddcCZ", "TDDNEZ", "G",  "HdEZ"};
    static const char *const execute[] = {"C", "DDC", "E", "I", "HdcC", "Ds", "G", "DE"};
    static const char *const describe[] = {"T", "n", "E", "tT", "tn", "tE", "ST", "NAn"};
    switch (type) {
    case 'Q':
        return query[choice];
    case 'E':
        return execute[choice];
    case 'D':
        return describe[choice];
    case 'P':
        return choice == 0 ? "E" : "1";
    case 'B':
        return choice == 0 ? "E" : "2";
    case 'C':
        return choice == 0 ? "E" : "3";
    case 'F':
        return choice == 0 ? "EZ" : "VZ";
    case 'S':
        return choice == 0 ? "EZ" : "Z";
    default:
        return "";
    }
}

static void end_copy(struct model *model, bool has_failed)
{
    bool is_query = model->copying.type == 'Q';
    say(model, model->copying.id, is_query ? (has_failed ? "EZ" : "CZ") : has_failed ? "E" : "C");
    model->is_skipping = has_failed && !is_query;
    model->copying = (struct told){0};
}

static void copy_step(struct model *model, struct told request, unsigned choice)
{
    if (strchr("HS", request.type) != NULL) {
        return;
    }
    if (strchr("dcf", request.type) == NULL) {
        model->is_over = true;
    } else if (request.type != 'd' || choice == 0) {
        end_copy(model, request.type != 'c');
    }
}

static void server_step(struct model *model, unsigned choice)
{
    if (model->request_first == model->request_count) {
        return;
    }
    struct told request = model->requests[model->request_first++];
    if (model->copying.type != '\0') {
        copy_step(model, request, choice);
        return;
    }
    if (model->is_skipping && request.type != 'S') {
        return;
    }
    model->is_skipping = false;
    const char *types = answers_of(request.type, choice);
    say(model, request.id, types);
    if (types[0] == 'G') {
        model->copying = request;
    }
    model->is_skipping = strchr(types, 'E') != NULL && strchr("PBDEC", request.type) != NULL;
}

static void deliver(struct model *model)
{
    if (model->answer_first == model->answer_count) {
        return;
    }
    struct told told = model->answers[model->answer_first++];
    struct pgwire_frame frame = message(told.type);
    struct pgwire_answer answer;
    if (told.type == 'E' && model->state.spare_sync > 0) {
        /* Whether the server read the Syncs before the copy failed cannot be told. */
        model->is_over = true;
        return;
    }
    enum err err = pgwire_state_server(&model->state, &frame, SLICE("T"), &answer, NULL);
    if (told.type == 'G' && err != ERR_NONE) {
        /* Requests behind it, which would end the connection unless it fails before. */
        model->is_over = true;
        return;
    }
    must(err == ERR_NONE && answer.request.id == told.id);
    must(answer.request.kind != PGWIRE_REQUEST_NONE);
    must(answer.is_asynchronous == (strchr("NAS", told.type) != NULL));
    if (answer.is_last) {
        turn(model, told.id);
    }
}

/* The ends ------------------------------------------------------------------------------------ */

static void drain(struct model *model)
{
    while (!model->is_over && (model->request_first < model->request_count ||
                               model->answer_first < model->answer_count)) {
        server_step(model, 1);
        deliver(model);
    }
}

static void check_model(struct model *model, const uint8_t *bytes, size_t size)
{
    static const char types[] = "QPBDECSFHdcfSPBE";
    for (size_t i = 0; i < size && i < STEPS_MAX && !model->is_over; i++) {
        unsigned choice = bytes[i] >> 4;
        switch (bytes[i] & 3u) {
        case 1:
            server_step(model, choice & 7u);
            break;
        case 2:
            deliver(model);
            break;
        default:
            client_step(model, types[choice]);
            break;
        }
    }
    drain(model);
    for (size_t i = 0; i < 2 && !model->is_over; i++) {
        client_step(model, 'c');
        client_step(model, 'S');
        drain(model);
    }
    if (!model->is_over) {
        must(model->state.count == 0 && !model->state.is_skipping);
        must(pgwire_state_phase(&model->state) == PGWIRE_PHASE_READY);
    }
}

static void check_random(struct pgwire_state *state, const uint8_t *bytes, size_t size)
{
    static const enum pgwire_packet packets[] = {PGWIRE_STARTUP, PGWIRE_SSL_REQUEST,
                                                 PGWIRE_GSSENC_REQUEST, PGWIRE_CANCEL_REQUEST};
    enum err err = ERR_NONE;
    for (size_t i = 0; i + 1 < size && err == ERR_NONE; i += 2) {
        struct pgwire_frame frame = message((char)bytes[i + 1]);
        struct pgwire_step step;
        struct pgwire_answer answer;
        const char body[4] = {0, 0, 0, (char)(bytes[i] >> 3)};
        if ((bytes[i] & 3u) == 0) {
            frame.packet = packets[bytes[i + 1] & 3u];
        }
        if ((bytes[i] & 3u) == 1) {
            struct slice whole = slice_of(body, sizeof(body));
            err = pgwire_state_server(state, &frame, frame.type == 'Z' ? SLICE("I") : whole,
                                      &answer, NULL);
        } else {
            err = pgwire_state_client(state, &frame, &step, NULL);
        }
        must(err == ERR_NONE || err == ERR_INPUT || err == ERR_LIMIT || err == ERR_UNSUPPORTED);
        must(state->count <= LIMIT_PGWIRE_OWED && pgwire_state_phase(state) <= PGWIRE_PHASE_ENDED);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct model model;
    if (size == 0) {
        return 0;
    }
    model.request_first = model.request_count = model.answer_first = model.answer_count = 0;
    model.copying = (struct told){0};
    model.is_skipping = model.is_over = false;
    model.last_id = 0;
    pgwire_state_init(&model.state);
    if ((bytes[0] & RANDOM_SIDES) != 0) {
        check_random(&model.state, bytes + 1, size - 1);
    } else {
        pgwire_state_skip_start(&model.state);
        check_model(&model, bytes + 1, size - 1);
    }
    pgwire_state_release(&model.state);
    return 0;
}
