// node validate.cjs MODULES SCHEMA FILE…
// Prints one line for each file: its name, a tab, "valid" or the first error.
"use strict";
const fs = require("fs");
const path = require("path");

const [modules, schemaFile, ...files] = process.argv.slice(2);
const Ajv2020 = require(path.resolve(modules, "ajv/dist/2020.js")).default;
const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
const validate = ajv.compile(JSON.parse(fs.readFileSync(schemaFile, "utf8")));

for (const file of files) {
  let said = "valid";
  try {
    if (!validate(JSON.parse(fs.readFileSync(file, "utf8")))) {
      // The deepest error says most.
      const depth = (e) => e.instancePath.split("/").length;
      const e = validate.errors.reduce((a, b) => (depth(b) > depth(a) ? b : a));
      said = `${e.instancePath}: ${e.message}`;
    }
  } catch (e) {
    said = `not JSON: ${e.message}`;
  }
  console.log(`${file}\t${said.replace(/\s+/g, " ")}`);
}
