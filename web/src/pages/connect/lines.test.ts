/* SPDX-License-Identifier: MIT */
import { describe, expect, it } from "vitest";

import { linesOf } from "./lines";

const values = {
    hostname: "gate.example",
    port: "15432",
    username: "it's \"mine\"",
    password: "p'w $x",
    database_name: "shop",
    connection_string: "postgres://u:p@gate.example:15432/shop?sslmode=require",
};
const textOf = (subtype: string, name: string): string =>
    linesOf("it's", subtype, values, "https://gate.example/").find((line) => line.name === name)
        ?.text ?? "";

describe("lines for clients", () => {
    it("are quoted for a shell and for libpq in it", () => {
        expect(textOf("postgres", "psql")).toBe(
            "psql 'host=gate.example port=15432 user='\\''it\\'\\''s \"mine\"'\\'' dbname=shop " +
                "password='\\''p\\'\\''w $x'\\'' sslmode=require'",
        );
        expect(textOf("mysql", "mysql")).toContain("MYSQL_PWD='p'\\''w $x' mysql ");
        expect(textOf("postgres", "gatehouse")).toContain("gatehouse connect 'it'\\''s' -- psql");
    });
    it("are in five languages, and as addresses", () => {
        for (const subtype of ["postgres", "mysql"]) {
            for (const name of ["Python", "JavaScript", "Go", "Java", "C#", "URL", "JDBC"]) {
                expect(textOf(subtype, name), `${subtype} ${name}`).not.toBe("");
            }
        }
        expect(textOf("postgres", "JDBC")).toContain("user=it's%20%22mine%22&password=p'w%20%24x");
    });
    it("are the values themselves where no client is known", () => {
        expect(textOf("tcp", "Values")).toContain("Password  p'w $x");
    });
});
