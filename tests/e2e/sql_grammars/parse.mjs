// SPDX-License-Identifier: MIT
// The trees of PostgreSQL 18's grammar: texts as lines of JSON in, a line for each out.
import { createInterface } from "node:readline";
import { parse } from "libpg-query";

for await (const line of createInterface({ input: process.stdin })) {
  let tree = null;
  try {
    tree = (await parse(JSON.parse(line))).stmts;
  } catch {
    tree = null;
  }
  process.stdout.write(JSON.stringify(tree) + "\n");
}
