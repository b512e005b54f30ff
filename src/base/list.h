/* SPDX-License-Identifier: MIT */
/* A doubly linked ring through the members themselves. struct list is both the head and the link;
 * a link that is in no list points at itself, so that removing twice does no harm. */
#ifndef GH_BASE_LIST_H
#define GH_BASE_LIST_H

#include "base/memory.h"

#include <stdbool.h>

struct list {
    struct list *next;
    struct list *previous;
};

static inline void list_init(struct list *list)
{
    list->next = list;
    list->previous = list;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->next == list;
}

static inline void list_append(struct list *list, struct list *link)
{
    link->previous = list->previous;
    link->next = list;
    list->previous->next = link;
    list->previous = link;
}

static inline void list_remove(struct list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

/* The first link, out of the list, or NULL. */
static inline struct list *list_take_first(struct list *list)
{
    if (list_is_empty(list)) {
        return NULL;
    }
    struct list *link = list->next;
    list_remove(link);
    return link;
}

/* Moves all links of 'from' to the end of 'list'. */
static inline void list_move_all(struct list *list, struct list *from)
{
    if (list_is_empty(from)) {
        return;
    }
    from->next->previous = list->previous;
    list->previous->next = from->next;
    from->previous->next = list;
    list->previous = from->previous;
    list_init(from);
}

/* The body may remove 'link'. */
#define LIST_EACH(link, head)                                                                      \
    for (struct list *link = (head)->next, *link##_next = link->next; link != (head);              \
         link = link##_next, link##_next = link->next)

#define LIST_ITEM(link, type, member) CONTAINER_OF(link, type, member)

#endif
