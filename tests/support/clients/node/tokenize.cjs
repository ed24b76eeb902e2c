// The tokens of a text by a TextMate grammar, as JSON: for each line the pieces with their innermost scopes.
// node tokenize.cjs GRAMMAR TEXT
"use strict";

const fs = require("fs");
const path = require("path");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

async function main() {
  const wasm = path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm");
  await oniguruma.loadWASM(fs.readFileSync(wasm).buffer);
  const onigLib = Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  });
  const raw = textmate.parseRawGrammar(fs.readFileSync(process.argv[2], "utf8"), process.argv[2]);
  const registry = new textmate.Registry({ onigLib, loadGrammar: async () => raw });
  const grammar = await registry.loadGrammar(raw.scopeName);
  let state = textmate.INITIAL;
  const lines = [];
  for (const line of fs.readFileSync(process.argv[3], "utf8").split("\n")) {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
    state = ruleStack;
    lines.push(tokens.map((t) => [line.slice(t.startIndex, t.endIndex), t.scopes[t.scopes.length - 1]]));
  }
  console.log(JSON.stringify(lines));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
