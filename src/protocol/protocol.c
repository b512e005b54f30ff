/* SPDX-License-Identifier: MIT */
#include "protocol/protocol.h"

struct slice protocol_channel_in(struct arena *arena, const struct protocol *protocol,
                                 const char *suffix)
{
    return arena_format(arena, "/%.*s%s", SLICE_ARG(protocol->subtype), suffix);
}

static enum control control_if(unsigned can, unsigned needed)
{
    return (can & needed) == needed ? CONTROL_ENFORCED : CONTROL_IMPOSSIBLE;
}

struct controls protocol_controls(const struct protocol *protocol)
{
    if (protocol == NULL) {
        return (struct controls){.recording = CONTROL_IMPOSSIBLE};
    }
    return (struct controls){
        .guard_structure = control_if(protocol->can, CAN_GUARD),
        .guard_text = control_if(protocol->can, CAN_GUARD_TEXT),
        .guard_output = control_if(protocol->can, CAN_GUARD_OUTPUT),
        .read_only = control_if(protocol->can, CAN_READ_ONLY),
        .row_limit = control_if(protocol->can, CAN_LIMIT_ROWS),
        .read_budget = control_if(protocol->can, CAN_BUDGET),
        .masking = control_if(protocol->can, CAN_MASK),
        .recording = CONTROL_ENFORCED, /* the gate passes nothing that is not on record */
        .review = CONTROL_ENFORCED,    /* credentials are not good without it */
        .held = control_if(protocol->can, CAN_HOLD),
        .rehearsed = control_if(protocol->can, CAN_REHEARSE),
    };
}

struct slice control_word(enum control control)
{
    static const struct slice words[] = {[CONTROL_IMPOSSIBLE] = SLICE_INIT("impossible"),
                                         [CONTROL_OBSERVED] = SLICE_INIT("observed"),
                                         [CONTROL_ENFORCED] = SLICE_INIT("enforced")};
    return words[control];
}

static bool protocol_is_for(const struct protocol *protocol, struct slice subtype)
{
    return !protocol->is_inside && slice_equals(protocol->subtype, subtype);
}

const struct protocol *protocols_find(const struct protocols *protocols, struct slice subtype)
{
    for (size_t i = 0; i < protocols->count; i++) {
        if (protocol_is_for(protocols->items[i], subtype)) {
            return protocols->items[i];
        }
    }
    return NULL;
}

const struct protocol *protocols_find_run(const struct protocols *protocols, struct slice subtype)
{
    const struct protocol *own = protocols_find(protocols, subtype);
    const struct protocol *found = own != NULL && own->run != NULL ? own : NULL;
    for (size_t i = 0; i < protocols->count && found == NULL; i++) {
        bool is_it = protocols->items[i]->is_inside && protocols->items[i]->run != NULL;
        found = is_it ? protocols->items[i] : NULL;
    }
    return found;
}

const struct protocol *protocols_find_terminal(const struct protocols *protocols,
                                               struct slice subtype)
{
    bool is_spoken = protocols_find(protocols, subtype) != NULL;
    const struct protocol *found = NULL;
    for (size_t i = 0; i < protocols->count && found == NULL && !is_spoken; i++) {
        found = protocols->items[i]->is_terminal ? protocols->items[i] : NULL;
    }
    return found;
}
