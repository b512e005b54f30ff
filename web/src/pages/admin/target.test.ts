/* SPDX-License-Identifier: MIT */
import { describe, expect, it } from "vitest";

import { encoded, secretOf } from "./target";

describe("what is written down of a database", () => {
    it("goes as base64 of its bytes, references as they are", () => {
        expect(encoded("grün")).toBe("Z3LDvG4=");
        expect(encoded("_vaultkv2:secret/app:password")).toBe("_vaultkv2:secret/app:password");
        expect(encoded("_awsome")).toBe(btoa("_awsome"));
    });
    it("leaves out what is empty, and keeps a password's blanks", () => {
        const secret = secretOf({
            kind: "postgres",
            name: "a",
            host: " db ",
            port: "",
            user: "u",
            password: " p ",
            database: "",
            tls: "require",
            agent: "",
        });
        expect(secret).toEqual({
            "envvar:HOST": btoa("db"),
            "envvar:USER": btoa("u"),
            "envvar:PASS": btoa(" p "),
            "envvar:SSLMODE": btoa("require"),
        });
    });
});
