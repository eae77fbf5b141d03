// Learning from people's marks in this page: the page's side of the worker that learns
// (trainer.js). page.js loads this module when it is wanted.
import { check as published } from "./addresses.js";
import { check, guarded, scriptURL } from "./scripts.js";

// Learner runs the worker. Events: "note" (detail: what the program prints), "step" (detail: a line
// of log.jsonl), "ended" (detail: { code, error }).
export class Learner extends EventTarget {
  #worker = null;

  // begin starts the program with its arguments (train -h), after the files, each { path, blob },
  // are written. anew removes what was there. device is a name of -device, or "" for the best.
  async begin({ args, files = [], anew = false, device = "" }) {
    await guarded();
    await check();
    for (const name of ["trainer.js", "opfs.js"]) await published(name);
    const worker = this.#worker = new Worker(scriptURL("trainer.js"), { type: "module" });
    const tell = ({ type, ...detail }) => {
      if (worker !== this.#worker) return;
      if (type === "ended") this.end();
      this.dispatchEvent(new CustomEvent(type, { detail: detail[type] ?? detail }));
    };
    worker.onmessage = ({ data }) => tell(data);
    worker.onerror = (event) => { event.preventDefault(); tell({ type: "ended", code: 1, error: event.message || "the program that learns stopped" }); };
    worker.postMessage({ type: "begin", args, files, anew, device });
  }

  get running() { return this.#worker !== null; }

  // pause has the program end its step, save and stop.
  pause() { this.#worker?.postMessage({ type: "pause" }); }

  // end ends the worker at once. The last checkpoint stays.
  end() {
    this.#worker?.terminate();
    this.#worker = null;
  }
}

// kept resolves to the File of a path that the program wrote, such as /run/model.safetensors, or to
// null.
export async function kept(path) {
  let at = await navigator.storage.getDirectory();
  const names = ["learning", ...path.split("/").filter(Boolean)], name = names.pop();
  try {
    for (const folder of names) at = await at.getDirectoryHandle(folder);
    return await (await at.getFileHandle(name)).getFile();
  } catch (error) {
    if (error.name === "NotFoundError") return null;
    throw error;
  }
}
