// SPDX-License-Identifier: MIT
// The trees of a grammar of PostgreSQL's: texts as lines of JSON in, a line for each out.
import { createInterface } from "node:readline";

const { parse } = await import(process.env.GRAMMAR);

for await (const line of createInterface({ input: process.stdin })) {
  let tree = null;
  try {
    tree = (await parse(JSON.parse(line))).stmts;
  } catch {
    tree = null;
  }
  process.stdout.write(JSON.stringify(tree) + "\n");
}
