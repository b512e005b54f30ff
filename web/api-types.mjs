/* SPDX-License-Identifier: MIT */
/* Types of what the API takes and answers, made of its description:
 *
 *   node api-types.mjs http://127.0.0.1:8009 >src/shared/api/schema.ts
 *
 * The file is kept, because the console is built before the gateway that it becomes a part of;
 * tests/e2e/test_console.py fails when the two say different things. */
import process from "node:process";

const nameOf = (schema) => schema.$ref.split("/").at(-1);
const indented = (text) => text.replaceAll("\n", "\n    ");

function typeOf(schema) {
    if (schema.$ref !== undefined) {
        return nameOf(schema);
    }
    if (schema.enum !== undefined) {
        return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
    }
    const parts = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (parts !== undefined) {
        return [...new Set(parts.map(typeOf))].join(schema.allOf === undefined ? " | " : " & ");
    }
    const types = [schema.type ?? "unknown"].flat();
    return types.map((type) => ofType(type, schema)).join(" | ");
}

function ofType(type, schema) {
    switch (type) {
        case "array": {
            const item = schema.items === undefined ? "unknown" : typeOf(schema.items);
            return /[ |]/.test(item) ? `(${item})[]` : `${item}[]`;
        }
        case "object":
            return schema.properties === undefined
                ? `Record<string, ${typeof schema.additionalProperties === "object" ? typeOf(schema.additionalProperties) : "unknown"}>`
                : membersOf(schema);
        case "integer":
            return "number";
        default:
            return type;
    }
}

function membersOf(schema) {
    const required = new Set(schema.required ?? []);
    const lines = Object.entries(schema.properties ?? {}).map(([name, member]) => {
        const about = member.description ? `/* ${member.description.replaceAll("*/", "* /")} */\n` : "";
        const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
        return `${about}${key}${required.has(name) ? "" : "?"}: ${typeOf(member)};`;
    });
    return `{\n    ${indented(lines.join("\n"))}\n}`;
}

const response = await fetch(new URL("/api/openapi.json", process.argv[2]));
const { components } = await response.json();
const types = Object.entries(components.schemas)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `export type ${name} = ${typeOf(schema)};`);
process.stdout.write(
    `/* SPDX-License-Identifier: MIT */\n/* Made by api-types.mjs of /api/openapi.json; not to be changed by hand. */\n\n${types.join("\n\n")}\n`,
);
