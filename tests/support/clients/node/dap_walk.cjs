// The walk of a user of VS Code through a program, by Microsoft's test client for debug adapters, over the adapter on a
// port: everything that the editor asks at a stop is asked. Prints what was seen, and every request that was refused.
// node dap_walk.cjs PORT '{"source": PATH or "", "line": N, "watch": EXPRESSION, "data": NAME, "endless": BOOLEAN}'
"use strict";

const { DebugClient } = require("@vscode/debugadapter-testsupport");

async function main() {
  const wanted = JSON.parse(process.argv[3]);
  const client = new DebugClient("", "", "isakit");
  client.defaultTimeout = 30000;
  await client.start(Number(process.argv[2]));
  const refused = [];
  async function ask(command, args) {
    try {
      return (await client.send(command, args)).body;
    } catch (error) {
      refused.push(`${command}: ${error.message}`);
      return {};
    }
  }
  async function stopped(command, args) {
    const event = Promise.race([client.waitForEvent("stopped"), client.waitForEvent("terminated")]);
    if (command) await ask(command, args);
    return (await event).body || {};
  }
  // Everything that VS Code asks at a stop.
  async function look(event) {
    const threads = (await ask("threads")).threads;
    const threadId = event.threadId || threads[0].id;
    const frames = (await ask("stackTrace", { threadId, startFrame: 0, levels: 20 })).stackFrames || [];
    if (!frames.length) return { threads: threads.length, locals: {} };
    const scopes = (await ask("scopes", { frameId: frames[0].id })).scopes;
    const locals = {};
    for (const scope of scopes) {
      const variables = (await ask("variables", { variablesReference: scope.variablesReference })).variables;
      if (scope.name === "Locals") for (const v of variables) locals[v.name] = v.value;
      for (const v of variables.filter((v) => v.variablesReference)) {
        await ask("variables", { variablesReference: v.variablesReference, filter: "indexed", start: 0, count: 8 });
      }
    }
    await ask("disassemble", { memoryReference: frames[0].instructionPointerReference, instructionOffset: -4,
                               instructionCount: 12, resolveSymbols: true });
    const at = frames[0].source;
    if (at && at.sourceReference) await ask("source", { source: at, sourceReference: at.sourceReference });
    if (at) await ask("breakpointLocations", { source: at, line: frames[0].line, endLine: frames[0].line });
    return { threads: threads.length, line: frames[0].line, source: at && at.name, locals, frame: frames[0].id };
  }

  const seen = {};
  const initialized = client.waitForEvent("initialized");
  await ask("initialize", { adapterID: "isakit", clientID: "vscode", linesStartAt1: true, columnsStartAt1: true,
                            pathFormat: "path", supportsVariableType: true, supportsMemoryReferences: true });
  await initialized;
  await ask("launch", {});
  const source = wanted.source ? { path: wanted.source } : { name: "kernel.ptx", sourceReference: 1 };
  if (wanted.line) {
    const body = await ask("setBreakpoints", { source, breakpoints: [{ line: wanted.line }], sourceModified: false });
    seen.verified = (body.breakpoints || []).map((b) => b.verified);
  }
  await ask("setFunctionBreakpoints", { breakpoints: [] });
  await ask("setInstructionBreakpoints", { breakpoints: [] });
  await ask("setDataBreakpoints", { breakpoints: [] });
  await ask("setExceptionBreakpoints", { filters: [] });
  let event = await stopped("configurationDone");
  await ask("loadedSources");
  if (wanted.line) event = await stopped("continue", { threadId: 1 });
  seen.reason = event.reason;
  seen.hit = await look(event);
  const threadId = event.threadId;
  const frameId = seen.hit.frame;
  for (const context of ["watch", "hover"]) {
    seen[context] = (await ask("evaluate", { expression: wanted.watch, frameId, context })).result;
  }
  await ask("evaluate", { expression: "info registers", frameId, context: "repl" });
  await ask("completions", { text: "info l", column: 7, frameId });
  event = await stopped("next", { threadId });
  seen.next = await look(event);
  event = await stopped("stepBack", { threadId });
  seen.back = await look(event);
  event = await stopped("stepIn", { threadId, granularity: "instruction" });
  await look(event);
  if (wanted.data) {
    const info = await ask("dataBreakpointInfo", { name: wanted.data, frameId });
    await ask("setDataBreakpoints", { breakpoints: [{ dataId: info.dataId, accessType: "write" }] });
    event = await stopped("continue", { threadId });
    seen.data = event.reason;
    await look(event);
    await ask("setDataBreakpoints", { breakpoints: [] });
  }
  event = await stopped("restart", {});
  seen.restarted = await look(event);
  if (wanted.line) await ask("setBreakpoints", { source, breakpoints: [] });
  const ended = Promise.race([client.waitForEvent("terminated"), client.waitForEvent("stopped")]);
  await ask("continue", { threadId: 1 });
  if (wanted.endless) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    await ask("pause", { threadId: 1 });
  }
  seen.ended = (await ended).event;
  await ask("disconnect", { restart: false, terminateDebuggee: true });
  console.log(JSON.stringify({ ...seen, refused }));
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
