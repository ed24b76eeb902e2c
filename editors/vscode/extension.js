// Starts `isakit debug --dap` for a debug configuration, or connects to the port of one that runs.
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

function activate(context) {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("isakit", new Factory()),
    vscode.debug.registerDebugConfigurationProvider("isakit", new Provider()),
  );
}

module.exports = { activate, commandLine, Factory };
