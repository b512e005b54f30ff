/* SPDX-License-Identifier: MIT */
#include "api/controls.h"

#include "api/credentials.h"
#include "api/handlers.h"
#include "api/review_answer.h"
#include "base/memory.h"
#include "protocol/protocol.h"
#include "store/rule_store.h"

/* The first connection of the protocol on which a rule of this kind acts. */
static enum err controls_check_kind(const struct api_call *call, struct store_tx *tx,
                                    const struct protocol *protocol, const char *kind,
                                    struct error *reterr)
{
    const struct rule_search search = {.organization_id = call->caller.organization_id,
                                       .subtype = protocol->subtype,
                                       .kind = slice_of_text(kind)};
    struct rule_place place;
    enum err err = rule_store_find_place(tx, call->arena, &search, &place, reterr);
    if (err == ERR_NOT_FOUND) {
        return ERR_NONE;
    }
    return err != ERR_NONE
               ? err
               : fail(reterr, ERR_INPUT,
                      "'%.*s' cannot act on the connection '%.*s': what passes there is %s, which "
                      "the gateway does not understand",
                      SLICE_ARG(place.rule_name), SLICE_ARG(place.connection_name), protocol->name);
}

/* A member of rules of that kind that cannot act, as it stands in their documents. */
struct controls_member {
    struct slice text;
    const char *words;
};

static enum err controls_check_member(const struct api_call *call, struct store_tx *tx,
                                      const struct protocol *protocol, const char *kind,
                                      const struct controls_member *member, struct error *reterr)
{
    const struct rule_search search = {.organization_id = call->caller.organization_id,
                                       .subtype = protocol->subtype,
                                       .kind = slice_of_text(kind)};
    struct rule_place place;
    enum err err = rule_store_find_having(tx, call->arena, &search, member->text, &place, reterr);
    if (err == ERR_NONE) {
        return fail(reterr, ERR_INPUT,
                    "'%.*s' has %s, which cannot act on the connection '%.*s': it is not held "
                    "on %s",
                    SLICE_ARG(place.rule_name), member->words, SLICE_ARG(place.connection_name),
                    protocol->name);
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

/* Members that act on some protocols only. */
static enum err controls_check_members(const struct api_call *call, struct store_tx *tx,
                                       const struct protocol *protocol, struct error *reterr)
{
    struct controls controls = protocol_controls(protocol);
    const struct controls_member columns = {SLICE("\"columns\":[{"), "rules about columns"};
    const struct {
        enum control control;
        struct controls_member member;
    } members[] = {
        {controls.read_budget, {SLICE("\"type\":\"read_budget\""), "a read budget"}},
        {controls.guard_output, {SLICE("\"output\":{\"rules\":[{"), "rules for output"}},
        {controls.row_limit, {SLICE("\"max_rows\":"), "a limit on rows (max_rows)"}},
        {controls.read_only, {SLICE("\"read_only\":true"), "read_only"}},
        {controls.guard_structure,
         {SLICE("\"operations\":["), "rules about statements (operations)"}},
        {controls.guard_structure,
         {SLICE("\"relations\":["), "rules about statements (relations)"}},
        {controls.guard_structure,
         {SLICE("\"functions\":["), "rules about statements (functions)"}},
        {controls.guard_structure, {SLICE("\"without_where\":true"), "rules about statements"}},
        {controls.guard_structure, {SLICE("\"multi_statement\":true"), "rules about statements"}},
        {controls.held, {SLICE("\"action\":\"review\""), "the action 'review'"}},
        {controls.rehearsed, {SLICE("\"action\":\"rehearse\""), "the action 'rehearse'"}},
    };
    enum err err = ERR_NONE;
    for (size_t i = 0; i < COUNT_OF(members) && err == ERR_NONE; i++) {
        if (members[i].control == CONTROL_IMPOSSIBLE) {
            err =
                controls_check_member(call, tx, protocol, "guardrail", &members[i].member, reterr);
        }
    }
    return err == ERR_NONE && controls.guard_structure == CONTROL_IMPOSSIBLE
               ? controls_check_member(call, tx, protocol, "masking", &columns, reterr)
               : err;
}

/* Commands and what else no client speaks to: nothing of it is understood but words. */
static enum err controls_check_others(const struct api_call *call, struct store_tx *tx,
                                      struct error *reterr)
{
    const struct protocols *protocols = call->api->protocols;
    struct slice subtypes = SLICE(",");
    struct rule_place place;
    for (size_t i = 0; i < protocols->count; i++) {
        const struct protocol *protocol = protocols->items[i];
        subtypes = protocol->is_inside ? subtypes
                                       : arena_format(call->arena, "%.*s%.*s,", SLICE_ARG(subtypes),
                                                      SLICE_ARG(protocol->subtype));
    }
    enum err err = rule_store_find_structural(tx, call->arena, call->caller.organization_id,
                                              subtypes, &place, reterr);
    if (err == ERR_NOT_FOUND) {
        return ERR_NONE;
    }
    return err != ERR_NONE
               ? err
               : fail(reterr, ERR_INPUT,
                      "'%.*s' has rules about statements, which cannot act on the connection "
                      "'%.*s': "
                      "what is executed there is not understood; words and patterns can, if their "
                      "action is not 'review'",
                      SLICE_ARG(place.rule_name), SLICE_ARG(place.connection_name));
}

enum err controls_check(const struct api_call *call, struct store_tx *tx, struct error *reterr)
{
    const struct protocols *protocols = call->api->protocols;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < protocols->count && err == ERR_NONE; i++) {
        if (protocols->items[i]->is_inside) {
            continue;
        }
        struct controls controls = protocol_controls(protocols->items[i]);
        if (controls.guard_text == CONTROL_IMPOSSIBLE) {
            err = controls_check_kind(call, tx, protocols->items[i], "guardrail", reterr);
        } else {
            err = controls_check_members(call, tx, protocols->items[i], reterr);
        }
        if (err == ERR_NONE && controls.masking == CONTROL_IMPOSSIBLE) {
            err = controls_check_kind(call, tx, protocols->items[i], "masking", reterr);
        }
    }
    return err == ERR_NONE ? controls_check_others(call, tx, reterr) : err;
}

/* Reading -------------------------------------------------------------------------------------- */

struct controls_call {
    struct api_call *call;
    struct slice subtype;
    bool has_command;
    struct review_need access; /* that the caller must ask for */
    struct review_need command;
};

static enum err controls_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct controls_call *self = context;
    struct api_call *call = self->call;
    struct connection connection;
    enum err err = credential_connection(call, tx, call->request->values[0], &connection, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    self->subtype = connection.subtype;
    self->has_command = connection.command.count > 0;
    struct review_use use = {.connection = &connection, .caller = &call->caller};
    err = review_need_load(tx, call->arena, &use, &self->access, reterr);
    use.is_command = true;
    return err == ERR_NONE ? review_need_load(tx, call->arena, &use, &self->command, reterr) : err;
}

/* What no client speaks to is reached by scripts alone. */
static const struct protocol *controls_protocol(const struct protocols *protocols,
                                                struct slice subtype)
{
    const struct protocol *own = protocols_find(protocols, subtype);
    return own != NULL ? own : protocols_find_run(protocols, subtype);
}

/* Of a protocol that has shells beside what is judged before it runs. */
static void controls_write_shell(const struct controls_call *self, struct json_writer *json)
{
    const struct protocol *protocol = protocols_find(self->call->api->protocols, self->subtype);
    if (protocol == NULL || protocol->replay == NULL || !protocol->replay->has_terminals) {
        json_member_no_value(json, "shell");
        return;
    }
    struct controls controls = protocol_controls(protocol);
    json_member_object(json, "shell");
    json_member_text(json, "input", control_word(CONTROL_OBSERVED));
    json_member_text(json, "output", control_word(CONTROL_OBSERVED));
    json_member_text(json, "guardrails", control_word(CONTROL_OBSERVED));
    json_member_text(json, "masking", control_word(CONTROL_IMPOSSIBLE));
    json_member_text(json, "recording", control_word(controls.recording));
    json_member_text(json, "review", control_word(controls.review));
    json_member_text(json, "note",
                     SLICE("a line that a rule blocks ends the shell; a line can be "
                           "typed in ways that no rule sees"));
    json_end_object(json);
}

/* On what has a terminal: what is typed and shown there is on record, and nothing holds it up. */
static void controls_write_terminal(const struct controls_call *self, struct json_writer *json)
{
    const struct protocol *terminal =
        protocols_find_terminal(self->call->api->protocols, self->subtype);
    if (terminal == NULL || !self->has_command) {
        json_member_no_value(json, "terminal");
        return;
    }
    struct controls controls = protocol_controls(terminal);
    json_member_object(json, "terminal");
    json_member_text(json, "input", control_word(CONTROL_OBSERVED));
    json_member_text(json, "output", control_word(CONTROL_OBSERVED));
    json_member_text(json, "guardrails", control_word(controls.guard_text));
    json_member_text(json, "masking", control_word(controls.masking));
    json_member_text(json, "recording", control_word(controls.recording));
    json_member_text(json, "review", control_word(controls.review));
    json_member_text(json, "note", SLICE("recorded, not filtered"));
    json_end_object(json);
}

enum err connection_controls(struct api_call *call, struct error *reterr)
{
    struct controls_call self = {.call = call};
    enum err err = store_read(call->api->store, controls_get_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct controls controls =
        protocol_controls(controls_protocol(call->api->protocols, self.subtype));
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_key(&json, "guardrails");
    json_begin_object(&json);
    json_member_text(&json, "structural", control_word(controls.guard_structure));
    json_member_text(&json, "text", control_word(controls.guard_text));
    json_member_text(&json, "output", control_word(controls.guard_output));
    json_member_text(&json, "read_only", control_word(controls.read_only));
    json_end_object(&json);
    json_member_text(&json, "row_limits", control_word(controls.row_limit));
    json_member_text(&json, "read_budgets", control_word(controls.read_budget));
    json_member_text(&json, "masking", control_word(controls.masking));
    json_member_text(&json, "recording", control_word(controls.recording));
    json_member_text(&json, "review", control_word(controls.review));
    controls_write_terminal(&self, &json);
    controls_write_shell(&self, &json);
    json_member_text(&json, "held_statements", control_word(controls.held));
    json_member_text(&json, "rehearsed_statements", control_word(controls.rehearsed));
    json_member_object(&json, "access_requests");
    review_write_requirements(&json, "jit", &self.access);
    review_write_requirements(&json, "command", &self.command);
    json_end_object(&json);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
