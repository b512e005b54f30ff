/* SPDX-License-Identifier: MIT */
/* What the stores of the nouns share: columns that outlive their row, lists that grow, pairs as
 * they lie in a column, and the SQL of who may see what. */
#ifndef GH_STORE_ROWS_H
#define GH_STORE_ROWS_H

#include "base/arena.h"
#include "codec/shape.h"
#include "model/caller.h"
#include "store/page_hints.h"
#include "store/store.h"

/* The column's text in the arena; "" for NULL. */
struct slice rows_text_in(struct arena *arena, const struct store_rows *rows, int column);

/* A list that is filled row by row. */
struct rows_list {
    struct arena *arena;
    size_t item_size;
    void *items;
    size_t count;
    size_t capacity;
};

/* A zeroed place at the end; older places may have moved. */
void *rows_list_add(struct rows_list *list);

/* Where the items of a list have their id and their names: offsets of a struct slice and of a
 * struct shape_texts. */
struct rows_names {
    size_t id_offset;
    size_t names_offset;
};

/* Gives the items their names. 'sql' answers (id, name), the ids in the order of the list. */
enum err rows_list_names(struct store_tx *tx, const struct rows_list *list,
                         const struct rows_names *at, const char *sql, struct store_params params,
                         struct error *reterr) MUST_USE;

/* The number in the first column of the first row; 0 when there is none. */
enum err rows_number(struct store_tx *tx, const char *sql, struct store_params params,
                     int64_t *ret_number, struct error *reterr) MUST_USE;
/* The two columns of 'sql', which takes the organization's id: how long the list is, and its
 * generation. */
enum err rows_list_size(struct store_tx *tx, const char *sql, struct page_list *list,
                        int64_t *ret_total, struct error *reterr) MUST_USE;
/* Turns the 'not found' at the end of a loop over rows into success. */
enum err rows_end(enum err err);

/* Pairs as a JSON object, and back. */
struct slice rows_pairs_text_in(struct arena *arena, const struct shape_pairs *pairs);
enum err rows_pairs_parse_in(struct arena *arena, struct slice text, struct shape_pairs *ret_pairs,
                             struct error *reterr) MUST_USE;

/* "%…%" for LIKE … ESCAPE '\', in lower case; of no text: empty, which is no filter. */
struct slice rows_like_in(struct arena *arena, struct slice text);

/* Of a connection's id: whether any access rule names it, itself or by an attribute, and whether
 * one does for a group of the member. */
#define ROWS_HAS_RULE(id)                                                                          \
    "(EXISTS (SELECT 1 FROM connection_access xa WHERE xa.connection_id = " id ") "                \
    "OR EXISTS (SELECT 1 FROM connection_attribute xc JOIN attribute_access xb "                   \
    "ON xb.attribute_id = xc.attribute_id WHERE xc.connection_id = " id "))"
#define ROWS_MAY_USE(id, member)                                                                   \
    "(EXISTS (SELECT 1 FROM connection_access va JOIN group_member vm "                            \
    "ON vm.organization_id = va.organization_id AND vm.group_name = va.group_name "                \
    "WHERE va.connection_id = " id " AND vm.member_id = " member ") "                              \
    "OR EXISTS (SELECT 1 FROM connection_attribute vc JOIN attribute_access vb "                   \
    "ON vb.attribute_id = vc.attribute_id JOIN group_member vn "                                   \
    "ON vn.organization_id = vb.organization_id AND vn.group_name = vb.group_name "                \
    "WHERE vc.connection_id = " id " AND vn.member_id = " member "))"
/* Whether the connection of this id is seen; 'sight' is rows_sight(). */
#define ROWS_SEES(sight, id, member)                                                               \
    "(" sight " = 1 OR " ROWS_MAY_USE(id, member) " OR (" sight                                    \
                                                  " = 2 AND NOT " ROWS_HAS_RULE(id) "))"

/* How far a caller sees: 0 what rules open to him, 1 all, 2 what no rule names, too. */
struct store_value rows_sight(const struct visibility *visibility);

/* The ids of the connections that are granted to the machine identity: by name, or by an attribute
 * that they carry. */
#define ROWS_GRANTED(identity)                                                                     \
    "SELECT connection_id FROM machine_identity_connection WHERE machine_identity_id = " identity  \
    " UNION SELECT gc.connection_id FROM machine_identity_attribute ga "                           \
    "JOIN connection_attribute gc ON gc.attribute_id = ga.attribute_id "                           \
    "WHERE ga.machine_identity_id = " identity

/* The way to a page of a list that is read whole and in the order of names: from a name that is
 * known to stand before it, or backward from the end, whichever is nearer. */
struct rows_page {
    bool is_backward;
    int64_t limit;
    int64_t offset;     /* from 'start', or from the end */
    struct slice start; /* not for backward */
};

struct rows_page rows_page_of(int64_t total, int64_t limit, int64_t offset,
                              const struct page_hint *hint);

/* Ids in portions: "IN (" ROWS_IDS ")" takes the first ROWS_IDS_COUNT parameters, the other one is
 * for when there are few. */
#define ROWS_IDS_COUNT 100
#define ROWS_IDS                                                                                   \
    "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "                                \
    "$15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, "                       \
    "$29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, "                       \
    "$43, $44, $45, $46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56, "                       \
    "$57, $58, $59, $60, $61, $62, $63, $64, $65, $66, $67, $68, $69, $70, "                       \
    "$71, $72, $73, $74, $75, $76, $77, $78, $79, $80, $81, $82, $83, $84, "                       \
    "$85, $86, $87, $88, $89, $90, $91, $92, $93, $94, $95, $96, $97, $98, "                       \
    "$99, $100"
#define ROWS_FEW_IDS_COUNT 6
#define ROWS_FEW_IDS       "$1, $2, $3, $4, $5, $6"

#endif
