/* SPDX-License-Identifier: MIT */
import type { Attribute } from "../../../shared/api/schema";
import type { Kind } from "../../../shared/things/Things";
import { bound, words } from "./words";

export const attributes: Kind<Attribute> = {
    path: "attributes",
    one: "attribute",
    ...words.attributes,
    keyOf: ({ name }) => name,
    nameOf: ({ name }) => name,
    isFixed: ({ managed_by }) => Boolean(managed_by),
    fields: [
        { name: "name", kind: "text", label: "Name", required: true },
        { name: "description", kind: "text", label: "What it is for" },
        { name: "connection_names", kind: "connections", label: "Connections that carry it" },
        {
            name: "access_control_group_names",
            kind: "groups",
            label: "Groups that may use them",
            about: "Once any group is named, nobody else may.",
        },
        { name: "guardrail_rule_names", kind: "words", label: "Guard rails on them" },
        { name: "datamasking_rule_names", kind: "words", label: "Masking rules on them" },
        { name: "access_request_rule_names", kind: "words", label: "Rules of access on them" },
    ],
    linesOf: (attribute) => [
        attribute.description ?? "",
        bound("On", attribute.connection_names),
        bound("For", attribute.access_control_group_names),
        bound("With", [
            ...attribute.guardrail_rule_names,
            ...attribute.datamasking_rule_names,
            ...attribute.access_request_rule_names,
        ]),
    ],
};
