// A conversation of Microsoft's test client for debug adapters with one on a port; prints what it saw as JSON.
// node dap_client.cjs PORT
"use strict";

const { DebugClient } = require("@vscode/debugadapter-testsupport");

async function main() {
  const client = new DebugClient("", "", "isakit");
  client.defaultTimeout = 20000;
  await client.start(Number(process.argv[2]));
  const seen = {};
  const entry = client.waitForEvent("stopped");
  const initialized = client.waitForEvent("initialized");
  const { body } = await client.initializeRequest();
  seen.capabilities = body;
  await initialized;
  await client.launchRequest({});
  await client.configurationDoneRequest();
  seen.entry = (await entry).body.reason;
  seen.threads = (await client.threadsRequest()).body.threads;
  const code = (await client.customRequest("disassemble", { memoryReference: "0x0", instructionCount: 20 })).body;
  seen.first = code.instructions[0].instruction;
  const address = code.instructions.find((i) => i.symbol === "twice").address;
  await client.customRequest("setInstructionBreakpoints", { breakpoints: [{ instructionReference: address }] });
  async function move(command, threadId) {
    const stopped = client.waitForEvent("stopped");
    await client.send(command, { threadId });
    const event = (await stopped).body;
    const frames = (await client.stackTraceRequest({ threadId: event.threadId })).body.stackFrames;
    const scopes = (await client.scopesRequest({ frameId: frames[0].id })).body.scopes;
    const reference = scopes[0].variablesReference;
    const variables = (await client.variablesRequest({ variablesReference: reference })).body.variables;
    const value = variables.find((v) => v.name === "$r2").value;
    return { reason: event.reason, thread: event.threadId, at: frames[0].instructionPointerReference, frames: frames.length, value };
  }
  seen.hit = await move("continue", 1);
  seen.stepped = await move("stepIn", 1);
  seen.back = await move("stepBack", 1);
  const ended = client.waitForEvent("terminated");
  await client.customRequest("setInstructionBreakpoints", { breakpoints: [] });
  await client.continueRequest({ threadId: 1 });
  await ended;
  await client.disconnectRequest();
  console.log(JSON.stringify(seen));
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
