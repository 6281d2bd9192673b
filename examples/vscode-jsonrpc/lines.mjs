// Newline framing for vscode-jsonrpc, which by itself knows only Content-Length headers.

import { AbstractMessageReader, AbstractMessageWriter } from "vscode-jsonrpc/node";

export class LineMessageReader extends AbstractMessageReader {
  constructor(stream) {
    super();
    this.stream = stream;
  }

  listen(callback) {
    let unfinished = "";
    this.stream.setEncoding("utf8");
    this.stream.on("data", (text) => {
      const lines = (unfinished + text).split("\n");
      unfinished = lines.pop();
      for (const line of lines) callback(JSON.parse(line));
    });
    this.stream.on("error", (error) => this.fireError(error));
    this.stream.on("close", () => this.fireClose());
    return { dispose: () => this.stream.destroy() };
  }
}

export class LineMessageWriter extends AbstractMessageWriter {
  constructor(stream) {
    super();
    this.stream = stream;
    stream.on("close", () => this.fireClose());
  }

  write(message) {
    return new Promise((resolve, reject) => {
      const done = (error) => (error ? reject(error) : resolve());
      this.stream.write(JSON.stringify(message) + "\n", done);
    });
  }

  end() {
    this.stream.end();
  }
}
