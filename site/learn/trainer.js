// The worker that learns: cmd/train itself (trainer.wasm), with the browser's private file system
// as its disk. /data holds the data sets, /run the run, as in the folders of a run elsewhere.
// together.wasm (wasm/together) runs here too; its folder is /together.
//
// Messages in: begin (program: trainer or together; args, of the program; files, a list of
// { path, blob } that are written first, or for together only read where they are; anew: what was
// there is removed; device), pause (the program ends its step and saves), type (line, of the
// program's input), load (program, which will begin).
// Messages out: note (text, what the program prints), step (a line of log.jsonl, as an object, with
// run: 0, or the number of the fold), ended (code, as of a process; error where the program did not
// come so far).
import { listeners, mount, put, remove, type } from "./opfs.js";
import "./wasm_exec.js";
import "../worker/vectors.js";
import "../worker/gpu.js";
import { get } from "../page/addresses.js";

const FOLDERS = { trainer: ["/data", "/run", "/shipped"], together: ["/together"] };
const RUN = "/run",
  STOP = `${RUN}/stop`;

listeners.wrote = (path, bytes) => {
  const log = /^\/run\/(?:fold(\d+)\/)?log\.jsonl$/.exec(path);
  if (log)
    postMessage({
      type: "step",
      step: { ...JSON.parse(new TextDecoder().decode(bytes)), run: Number(log[1] ?? 0) },
    });
};

// load compiles a program.
const load = (program) => {
  const go = new Go();
  return { go, instance: go.load(`${program}.wasm`, get) };
};
let loaded = null; // before it begins

async function begin({ program, args, files = [], anew, device = "" }) {
  if (anew) for (const folder of FOLDERS[program]) await remove(folder);
  for (const { path, blob } of files) await (program === "together" ? mount : put)(path, blob);
  if (program === "trainer") await remove(STOP);
  const { go, instance } = loaded ?? load(program),
    printed = [];
  listeners.printed = (text) => {
    printed.push(text);
    postMessage({ type: "note", text });
  };
  go.argv = [program === "trainer" ? "train" : program, ...args];
  const called = args[0] === "certify" ? "train certify" : go.argv[0]; // before its errors
  go.env = { MRPRISM_DEVICE: device };
  let code = 0;
  go.exit = (is) => {
    code = is;
  };
  await go.run(await instance);
  const text = printed.join("");
  postMessage({
    type: "ended",
    code,
    error: code
      ? text
          .slice(text.lastIndexOf(`\n${called}: `) + 1)
          .replace(`${called}: `, "")
          .replaceAll(/(\/together\/in|\/together\/data|\/data)\//g, "")
          .trim()
      : "",
  });
}

// One tab learns at a time: the files are the same for all.
// This tab's worker before may be about to end.
const alone = (program, act) =>
  navigator.locks
    .request(
      program === "trainer" ? "mrprism-learning" : `mrprism-${program}`,
      { signal: AbortSignal.timeout(2000) },
      act,
    )
    .catch((error) => {
      if (error.name !== "TimeoutError") throw error;
      throw new Error(
        program === "trainer"
          ? "Another tab of this page is learning. Pause that first."
          : "Another tab of this page brings sessions together. Close it there first.",
      );
    });

onmessage = ({ data }) => {
  if (data.type === "pause") return put(STOP, new Blob());
  if (data.type === "type") return type(data.line);
  if (data.type === "load") {
    loaded = load(data.program);
    return loaded.instance.catch(() => {}); // begin tells
  }
  alone(data.program, () => begin(data)).catch((error) =>
    postMessage({
      type: "ended",
      code: 1,
      error: String(error?.message ?? error),
      changed: error?.changed,
    }),
  );
};
