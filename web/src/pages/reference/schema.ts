/* SPDX-License-Identifier: MIT */
/* The API's description (/api/openapi.json), as far as its page shows it. */
export interface Schema {
    $ref?: string;
    type?: string | string[];
    description?: string;
    enum?: (string | null)[];
    items?: Schema;
    properties?: Record<string, Schema>;
    required?: string[];
    anyOf?: Schema[];
    allOf?: Schema[];
    minimum?: number;
    maximum?: number;
    maxLength?: number;
    maxItems?: number;
    additionalProperties?: Schema | boolean;
}

export interface Parameter {
    name: string;
    in: "path" | "query";
    required?: boolean;
    description?: string;
    schema: Schema;
}

interface Content {
    content?: Record<string, { schema?: Schema }>;
}

export interface Operation {
    operationId: string;
    summary: string;
    tags: string[];
    security: unknown[];
    parameters: Parameter[];
    requestBody?: Content;
    responses: Record<string, Content & { $ref?: string; description?: string }>;
}

export interface Description {
    info: { title: string; version: string; description: string };
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
}

export interface Call {
    method: string;
    path: string;
    operation: Operation;
}

export function callsOf(description: Description): Call[] {
    return Object.entries(description.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({
            method: method.toUpperCase(),
            path,
            operation,
        })),
    );
}

export function isFound(call: Call, words: string): boolean {
    const text = `${call.method} ${call.path} ${call.operation.summary} ${call.operation.tags.join(" ")}`;
    return words
        .toLowerCase()
        .split(/\s+/)
        .every((word) => text.toLowerCase().includes(word));
}

export const nameOf = (schema: Schema): string => schema.$ref?.split("/").at(-1) ?? "";

/* What of a schema stands behind references, and what of its parts is another. */
export function resolved(schema: Schema, all: Record<string, Schema>): Schema {
    const name = nameOf(schema);
    if (name !== "") {
        return all[name] ?? {};
    }
    const parts = [...(schema.allOf ?? []), ...(schema.anyOf ?? [])].map((part) =>
        resolved(part, all),
    );
    return parts.length === 0
        ? schema
        : {
              ...schema,
              type: schema.type ?? "object",
              properties: Object.assign({}, ...parts.map((one) => one.properties), schema.properties),
              required: [...parts.flatMap((one) => one.required ?? []), ...(schema.required ?? [])],
          };
}

/* "text or null", "list of Connection". */
export function typeOf(schema: Schema): string {
    const name = nameOf(schema);
    if (name !== "") {
        return name.replace(/Request$/, "");
    }
    if (schema.enum !== undefined) {
        return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
    }
    if (schema.anyOf !== undefined) {
        return schema.anyOf.map(typeOf).join(" | ");
    }
    if (schema.items !== undefined) {
        return `${typeOf(schema.items)}[]${[schema.type].flat().includes("null") ? " | null" : ""}`;
    }
    return [schema.type ?? "any"].flat().join(" | ");
}

export function exampleOf({ method, path, operation }: Call, base: string): string {
    const body =
        operation.requestBody === undefined
            ? ""
            : ` \\\n  -H 'Content-Type: application/json' -d '{…}'`;
    const verb = method === "GET" ? "" : ` -X ${method}`;
    const sign = operation.security.length === 0 ? "" : ` -H "Authorization: Bearer $TOKEN"`;
    return `curl${verb}${sign} ${base}${path}${body}`;
}
