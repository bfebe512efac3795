// Makes a component of policy.js: node build.mjs POLICY.js WIT OUT.wasm

import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { componentize } from "@bytecodealliance/componentize-js";

const [source, wit, out] = process.argv.slice(2).map((path) => resolve(path));
const { component } = await componentize(await readFile(source, "utf8"), {
  sourceName: "policy.js",
  witPath: wit,
  worldName: "guest",
  // Without WASI: nothing of it is lent, and a start is cheaper without its imports.
  disableFeatures: ["stdio", "random", "clocks", "http", "fetch-event"],
});
await writeFile(out, component);
