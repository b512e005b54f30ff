/* SPDX-License-Identifier: MIT */
/* What a form says of a database, as the API takes it. */
export interface Target {
    kind: string;
    name: string;
    host: string;
    port: string;
    user: string;
    password: string;
    database: string;
    tls: string;
    agent: string;
}

/* A reference to where a secret is kept goes as it is, all else as base64: docs/secrets.md. */
const REFERENCE = /^_(aws|aws_iam_rds|envjson|vaultkv1|vaultkv2):/;

export function encoded(value: string): string {
    if (REFERENCE.test(value)) {
        return value;
    }
    return btoa(String.fromCharCode(...new TextEncoder().encode(value)));
}

export function secretOf(target: Target): Record<string, string> {
    const values = {
        HOST: target.host.trim(),
        PORT: target.port.trim(),
        USER: target.user.trim(),
        PASS: target.password,
        DB: target.database.trim(),
        SSLMODE: target.tls,
    };
    return Object.fromEntries(
        Object.entries(values)
            .filter(([, value]) => value !== "")
            .map(([name, value]) => [`envvar:${name}`, encoded(value)]),
    );
}
