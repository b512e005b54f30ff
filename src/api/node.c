/* SPDX-License-Identifier: MIT */
/* Where the other gateways of the same store ask (tunnel/nodes.h): for a piece of a recording, or
 * that something is cancelled. Whoever else asks is told that he may not. */
#include "api/handlers.h"
#include "base/memory.h"
#include "codec/uuid.h"
#include "gate/gate.h"
#include "session/recording.h"
#include "session/recording_folder.h"
#include "tunnel/nodes.h"

struct node_call {
    struct slice request;
};

static const struct shape_field node_call_fields[] = {
    {.name = "request",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct node_call, request),
     .max = 2 * LIMIT_NODE_REQUEST_SIZE,
     .about = "sealed with the master key of the gateways"},
};

const struct shape node_call_shape = {
    .name = "NodeRequest", .size = sizeof(struct node_call), SHAPE_FIELDS(node_call_fields)};

/* As it lies in the file: encrypted, under a key that only the master key opens. */
static enum err node_write_piece(struct api_call *call, const struct node_request *request,
                                 struct buf *buf, struct error *reterr)
{
    unsigned char id[UUID_SIZE];
    if (uuid_parse(request->session_id, id) != ERR_NONE) {
        return fail(reterr, ERR_NOT_FOUND, "there is no such session");
    }
    const char *path = recording_path_in(call->arena, call->api->recordings, request->session_id,
                                         request->started_at);
    struct buf bytes CLEANUP(buf_release);
    struct recording_piece piece;
    buf_init(&bytes, LIMIT_NODE_PIECE_SIZE);
    enum err err =
        recording_read_piece(path, request->from, &bytes, LIMIT_NODE_PIECE_SIZE, &piece, reterr);
    if (err != ERR_NONE) {
        return err == ERR_NOT_FOUND ? fail(reterr, err, "there is no such recording here") : err;
    }
    const struct node_piece answer = {
        .bytes = buf_view(&bytes), .size = piece.size, .is_written_to = piece.is_written_to};
    return node_piece_write(&answer, buf);
}

static enum err node_answer(struct api_call *call, const struct node_request *request,
                            struct buf *buf, struct error *reterr)
{
    if (request->wish == NODE_WISH_RECORDING) {
        return node_write_piece(call, request, buf, reterr);
    }
    struct gate *gate = call->api->gate;
    return gate != NULL &&
                   gate_cancel_by_key(gate, request->key_number, request->key_secret) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_NOT_FOUND, "no session here has this key");
}

enum err node_post(struct api_call *call, struct error *reterr)
{
    struct node_call wanted = {.request = SLICE("")};
    struct node_request request;
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_NODE_PIECE_SIZE + LIMIT_KIB(1));
    enum err err = api_read_body(call, SHAPE_WHOLE, &node_call_shape, &wanted, reterr);
    if (err == ERR_NONE) {
        err = nodes_open_in(call->arena, call->api->nodes, wanted.request, &request, reterr);
    }
    if (err == ERR_NONE) {
        err = node_answer(call, &request, &buf, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "answer",
                     nodes_close_in(call->arena, call->api->nodes, &request, buf_view(&buf)));
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
