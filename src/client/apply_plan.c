/* SPDX-License-Identifier: MIT */
/* What a document would change: of the members that it has. Those that it leaves out stay. */
#include "client/apply_internal.h"

#include "base/memory.h"
#include "base/must.h"
#include "client/show.h"

/* Equal ---------------------------------------------------------------------------------------- */

static bool plan_is_same(struct json wanted, struct json there);

static bool plan_has_all(struct json one, struct json other)
{
    struct json_members members = json_members_of(&one);
    struct slice name;
    struct json value;
    bool has_all = true;
    while (json_next_member(&members, &name, &value)) {
        has_all = has_all && plan_is_same(value, manifest_member(&other, name));
    }
    return has_all;
}

/* Texts in any order: the gateway sorts those of a set. */
static bool plan_has_item(struct json item, struct json array, size_t count)
{
    bool has_item = false;
    for (size_t i = 0; i < count; i++) {
        has_item = has_item || json_is_same(item, json_item(&array, i));
    }
    return has_item;
}

static bool plan_is_same_array(struct json wanted, struct json there)
{
    size_t count = 0;
    size_t count_there = 0;
    bool is_same = json_as_array(wanted, &count, NULL) == ERR_NONE &&
                   json_as_array(there, &count_there, NULL) == ERR_NONE && count == count_there;
    bool is_ordered = slice_equals(wanted.path, SLICE("command"));
    for (size_t i = 0; i < count && is_same; i++) {
        struct json item = json_item(&wanted, i);
        is_same = json_is_text(item) && !is_ordered ? plan_has_item(item, there, count)
                                                    : plan_is_same(item, json_item(&there, i));
    }
    return is_same;
}

/* What says nothing (null, false, 0, empty) is the same as what is not there. As deep as YAML. */
static bool plan_is_same(struct json wanted, struct json there)
{
    size_t count = 0;
    bool says = json_is_given(wanted) && json_says_something(wanted);
    bool says_there = json_is_given(there) && json_says_something(there);
    if (!says || !says_there) {
        return says == says_there;
    }
    if (json_as_object(wanted, NULL) == ERR_NONE && json_as_object(there, NULL) == ERR_NONE) {
        return plan_has_all(wanted, there) && plan_has_all(there, wanted);
    }
    if (json_as_array(wanted, &count, NULL) == ERR_NONE) {
        return plan_is_same_array(wanted, there);
    }
    return json_is_same(wanted, there);
}

/* Changes -------------------------------------------------------------------------------------- */

static struct slice plan_written_in(struct arena *arena, struct json value)
{
    struct buf buf;
    if (!json_is_given(value)) {
        return SLICE("");
    }
    buf_init(&buf, LIMIT_CLIENT_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    manifest_put(&json, value);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice text = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

static void plan_change(struct apply_item *item, struct slice member, struct slice from,
                        struct slice to)
{
    item->changes[item->change_count++] =
        (struct apply_change){.member = member, .from = from, .to = to};
}

/* One value of the pairs. What is there and not shown cannot be compared with what is inline. */
static enum err plan_pair(struct apply *self, struct apply_item *item, struct slice key,
                          struct json value, struct slice *ret_send, struct error *reterr)
{
    struct arena *arena = self->run->arena;
    struct json all = manifest_member(&item->current, slice_of_text(item->kind->pairs));
    struct json there = manifest_member(&all, key);
    struct slice path = value.path;
    struct slice made = SLICE_NONE;
    struct error words;
    enum err err = manifest_value_in(arena, key, value, &made, &words);
    if (err != ERR_NONE) {
        return apply_fail(item, path, err, words.message, reterr);
    }
    bool is_there = !json_is_absent(there);
    bool is_hidden = is_there && !json_is_given(there);
    bool is_reference = made.len > 0 && made.at[0] == '_';
    if (made.at == NULL && !is_there) {
        return apply_fail(item, path, ERR_INPUT,
                          "is to come from a variable that is not set, and is not there yet",
                          reterr);
    }
    bool is_kept = made.at == NULL || (is_hidden && !is_reference && !self->writes_hidden) ||
                   (is_there && !is_hidden && slice_equals(json_as_written(there), made));
    item->hidden_count += is_hidden && is_kept ? 1 : 0;
    if (!is_kept) {
        *ret_send = made;
        plan_change(item, path, is_there ? SLICE("(as it is)") : SLICE(""),
                    is_reference ? arena_format(arena, "\"%.*s\"", SLICE_ARG(made))
                                 : SLICE("(a value)"));
    }
    return ERR_NONE;
}

static enum err plan_pairs(struct apply *self, struct apply_item *item, struct json pairs,
                           struct error *reterr)
{
    struct json_members members = json_members_of(&pairs);
    struct slice key;
    struct json value;
    size_t count = 0;
    if (json_as_object(pairs, NULL) != ERR_NONE) {
        return apply_fail(item, pairs.path, ERR_INPUT, "must be an object", reterr);
    }
    while (json_next_member(&members, &key, &value)) {
        count++;
    }
    item->pair_values = arena_alloc_array(self->run->arena, count + 1, sizeof(struct slice));
    members = json_members_of(&pairs);
    enum err err = ERR_NONE;
    for (size_t i = 0; err == ERR_NONE && json_next_member(&members, &key, &value); i++) {
        item->pair_values[i] = SLICE_NONE;
        err = plan_pair(self, item, key, value, &item->pair_values[i], reterr);
    }
    return err;
}

/* What the document names must be there, or come before it. */
static enum err plan_check_names(const struct apply *self, const struct apply_item *item,
                                 struct json names, struct error *reterr)
{
    size_t count = 0;
    if (json_as_array(names, &count, NULL) != ERR_NONE) {
        return apply_fail(item, names.path, ERR_INPUT, "must be a list of connections", reterr);
    }
    for (size_t i = 0; i < count; i++) {
        struct json one = json_item(&names, i);
        struct json found;
        bool is_there =
            json_is_text(one) && manifest_find(&self->estate.connections, json_as_written(one),
                                               &found, reterr) == ERR_NONE;
        for (size_t j = 0; j < self->count && !is_there; j++) {
            is_there = json_is_text(one) && strcmp(self->items[j].kind->word, "connection") == 0 &&
                       slice_equals(self->items[j].name, json_as_written(one));
        }
        if (!is_there) {
            return apply_fail(item, one.path, ERR_INPUT, "names no connection", reterr);
        }
    }
    return ERR_NONE;
}

static enum err plan_member(struct apply *self, struct apply_item *item, struct json there,
                            struct json value, struct error *reterr)
{
    struct slice name = value.path; /* of a member of the document itself */
    struct json agent;
    if (manifest_is_made_by_gateway(item->kind, name)) {
        return apply_fail(item, name, ERR_INPUT,
                          "is made by the gateway, or stands in documents of another kind", reterr);
    }
    if (item->kind->pairs != NULL && slice_equals(name, slice_of_text(item->kind->pairs))) {
        return plan_pairs(self, item, value, reterr);
    }
    if (item->kind->has_agent && slice_equals(name, SLICE("agent")) &&
        (!json_is_text(value) ||
         manifest_find(&self->estate.agents, json_as_written(value), &agent, reterr) != ERR_NONE)) {
        return apply_fail(item, name, ERR_INPUT, "names no agent", reterr);
    }
    if (item->kind->has_connections && slice_equals(name, SLICE("connections"))) {
        enum err err = plan_check_names(self, item, value, reterr);
        if (err != ERR_NONE) {
            return err;
        }
    }
    struct json before = manifest_member(&there, name);
    if (!plan_is_same(value, before)) {
        plan_change(item, name, plan_written_in(self->run->arena, before),
                    plan_written_in(self->run->arena, value));
    }
    return ERR_NONE;
}

static enum err plan_item(struct apply *self, struct apply_item *item, struct error *reterr)
{
    bool is_there = !json_is_absent(item->current);
    struct json there = is_there
                            ? manifest_of_in(&self->estate, item->kind, item->name, &item->current)
                            : (struct json){.path = SLICE(""), .arena = self->run->arena};
    struct json_members members = json_members_of(&item->document.json);
    struct slice name;
    struct json value;
    enum err err = ERR_NONE;
    item->changes =
        arena_alloc_array(self->run->arena, item->document.place_count + 1, sizeof(*item->changes));
    while (err == ERR_NONE && json_next_member(&members, &name, &value)) {
        if (!slice_equals(name, SLICE("kind")) && !slice_equals(name, SLICE("name"))) {
            err = plan_member(self, item, there, value, reterr);
        }
    }
    item->action = !is_there ? APPLY_ADD : item->change_count > 0 ? APPLY_CHANGE : APPLY_KEEP;
    return err == ERR_NONE && item->change_count > 0 && is_there && item->kind->method == NULL
               ? apply_fail(item, SLICE(""), ERR_INPUT, "a group has a name and nothing else",
                            reterr)
               : err;
}

/* Deletions ------------------------------------------------------------------------------------ */

static bool plan_names(const struct apply *self, const struct manifest_kind *kind,
                       struct slice name)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].kind == kind && slice_equals(self->items[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* What others keep up to date is theirs, and the groups that roles come from the gateway's. */
static bool plan_may_delete(const struct json *item)
{
    return json_is_text(*item) ? !slice_equals(json_as_written(*item), SLICE("admin")) &&
                                     !slice_equals(json_as_written(*item), SLICE("auditor"))
                               : show_text(item, "managed_by").len == 0;
}

enum err apply_prune(struct apply *self, const struct manifest_kind *kind,
                     const struct manifest_items *all, struct error *reterr)
{
    for (size_t i = 0; i < all->count; i++) {
        struct json item = all->items[i];
        struct slice name = json_is_text(item) ? json_as_written(item) : show_text(&item, "name");
        if (plan_names(self, kind, name) || !plan_may_delete(&item)) {
            continue;
        }
        if (self->count == LIMIT_CLIENT_MANIFESTS) {
            return fail(reterr, ERR_LIMIT, "there are more than %d things to look at",
                        LIMIT_CLIENT_MANIFESTS);
        }
        self->items[self->count++] = (struct apply_item){
            .kind = kind, .name = name, .file = "", .current = item, .action = APPLY_DELETE};
    }
    return ERR_NONE;
}

/* What there is of a kind is asked for once. */
static enum err plan_load(struct apply *self, const struct manifest_kind *kind,
                          struct error *reterr)
{
    struct manifest_items all = {.count = 0};
    struct error ignored;
    bool is_loaded = kind->behind != NULL;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < self->count && err == ERR_NONE; i++) {
        struct apply_item *item = &self->items[i];
        struct json found;
        if (item->kind != kind) {
            continue;
        }
        if (!is_loaded) {
            err = manifest_list(self->run, kind, &all, reterr);
            is_loaded = true;
        }
        if (err == ERR_NONE && kind->behind == NULL) {
            bool is_there = manifest_find(&all, item->name, &found, &ignored) == ERR_NONE;
            item->current = is_there ? found : item->current;
        } else if (err == ERR_NONE && manifest_find(&self->estate.connections, item->name, &found,
                                                    &ignored) == ERR_NONE) {
            err = manifest_part(self->run, kind, item->name, &item->current, reterr);
        }
    }
    bool prunes = self->prunes && is_loaded && kind->behind == NULL;
    return err == ERR_NONE && prunes ? apply_prune(self, kind, &all, reterr) : err;
}

enum err apply_plan(struct apply *self, struct error *reterr)
{
    enum err err = manifest_estate_load(&self->estate, reterr);
    for (size_t i = 0; i < manifest_kind_count && err == ERR_NONE; i++) {
        err = plan_load(self, &manifest_kinds[i], reterr);
    }
    for (size_t i = 0; i < self->count && err == ERR_NONE; i++) {
        struct apply_item *item = &self->items[i];
        err = item->action == APPLY_DELETE ? ERR_NONE : plan_item(self, item, reterr);
    }
    return err;
}
