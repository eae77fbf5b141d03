// The package in Node: the same worker, in a thread. The processor computes.
import { Worker as Thread } from "node:worker_threads";
import { startWith } from "./scripts.js";

export * from "./index.js";

const UNENDED = ["progress", "image", "thumb"]; // messages after which others of a request follow

// Node waits for a worker that starts or was asked something.
startWith(async (files, name) => {
  const thread = new Thread(new URL("./thread.js", import.meta.url), {
      workerData: { files, name },
    }),
    asked = new Set();
  const worker = {
    terminate: () => thread.terminate(),
    postMessage(message, transfer) {
      if (message.request && message.type !== "cancel") {
        asked.add(message.request);
        thread.ref();
      }
      thread.postMessage(message, transfer);
    },
  };
  thread.on("message", (data) => {
    if (!UNENDED.includes(data.type)) asked.delete(data.request);
    worker.onmessage({ data });
    if (!asked.size) thread.unref();
  });
  thread.on("error", ({ message }) => worker.onerror({ message, preventDefault() {} }));
  return worker;
});
