/* SPDX-License-Identifier: MIT */
/* What connections lead to; it goes with all of them. */
import type { Resource } from "../../../shared/api/schema";
import type { Kind } from "../../../shared/things/Things";
import { kindName } from "../../../shared/words";
import { bound, words } from "./words";

export const resources: Kind<Resource> = {
    path: "resources",
    one: "resource",
    ...words.resources,
    keyOf: ({ name }) => name,
    nameOf: ({ name }) => name,
    mayChange: false,
    removeQuery: { cascade: true },
    fields: [
        { name: "name", kind: "text", label: "Name", required: true },
        {
            name: "type",
            kind: "text",
            label: "Kind",
            about: "What its connections speak, such as postgres, mysql, ssh or tcp.",
            required: true,
        },
    ],
    requestOf: (form) => ({ ...form, env_vars: {} }),
    linesOf: ({ type, subtype, roles }) => [
        kindName(type, subtype),
        bound(
            "Connections:",
            roles.map(({ name }) => name),
        ) || "No connections",
    ],
};
