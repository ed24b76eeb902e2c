// Starts `isakit debug --dap` for a debug configuration, or connects to the port of one that runs; starts `isakit lsp`
// where the client library of the package is there: a folder that was only copied has none.
"use strict";

const vscode = require("vscode");

/** The program and the arguments that a launch configuration stands for. */
function commandLine(configuration) {
  const [program, ...first] = configuration.command?.length ? configuration.command : ["isakit"];
  return { program, args: [...first, "debug", configuration.program, "--dap", ...(configuration.arguments ?? [])] };
}

class Factory {
  createDebugAdapterDescriptor(session) {
    const configuration = session.configuration;
    if (configuration.request === "attach") {
      if (configuration.socket) return new vscode.DebugAdapterNamedPipeServer(configuration.socket);
      return new vscode.DebugAdapterServer(configuration.port, "127.0.0.1");
    }
    const { program, args } = commandLine(configuration);
    return new vscode.DebugAdapterExecutable(program, args, configuration.cwd ? { cwd: configuration.cwd } : {});
  }
}

class Provider {
  // F5 in a file without a launch.json.
  resolveDebugConfiguration(folder, configuration) {
    if (!configuration.type && !configuration.request) {
      const file = vscode.window.activeTextEditor?.document.uri.fsPath;
      return file && { type: "isakit", request: "launch", name: "isakit", program: file, arguments: [] };
    }
    return configuration;
  }
}

let client;

// Files that another extension need not have a language for.
const ENDINGS = { ptx: "ptx", "cuda-cpp": "cu", opencl: "cl", glsl: "{vert,frag,glsl}", cg: "cg", hlsl: "hlsl" };

/** Starts the language server; does nothing where it is switched off or has no client library. */
async function startServer() {
  const settings = vscode.workspace.getConfiguration("isakit");
  if (!settings.get("languageServer", true)) return undefined;
  let library;
  try {
    library = require("vscode-languageclient/node");
  } catch {
    return undefined;
  }
  const [command, ...first] = settings.get("command", ["isakit"]);
  const server = { command, args: [...first, "lsp"], transport: library.TransportKind.stdio };
  const others = settings.get("languages", ["python", "cuda-cpp", "opencl", "glsl", "cg", "hlsl"]);
  const languages = ["isakit-tesla", "isakit-usse", "isakit-vuc", "ptx", ...others];
  client = new library.LanguageClient("isakit", "isakit", server, {
    documentSelector: languages.flatMap((language) => [
      { scheme: "file", language },
      ...(ENDINGS[language] ? [{ scheme: "file", pattern: `**/*.${ENDINGS[language]}` }] : []),
    ]),
  });
  await client.start();
  return client;
}

function activate(context) {
  startServer().catch((error) => vscode.window.showWarningMessage(`isakit lsp: ${error.message}`));
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("isakit", new Factory()),
    vscode.debug.registerDebugConfigurationProvider("isakit", new Provider()),
  );
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, commandLine, deactivate, Factory };
