// Starts the worker of a package in a page. It takes the place of the page's scripts.js.
import { published } from "./addresses.js";

// Bundlers find the package's files here, and copy them. A script of another name than .js stays as
// it is.
const FILES = {/*FILES*/};
const SUM = "/*SUM*/"; // SHA-256 of worker.txt

// addresses are those of the files by name. base is the folder where they lie, if a bundler left
// them behind.
const addresses = (base) =>
  Object.fromEntries(
    Object.entries(FILES).map(([name, { href }]) => [
      name,
      base ? new URL(name, new URL(base, globalThis.document?.baseURI)).href : href,
    ]),
  );

let policy;
let start = async (files, name) => {
  const response = await published("worker.txt", SUM, [files["worker.txt"]]),
    told = `globalThis.mrprismFiles = ${JSON.stringify(files)};\n`,
    blob = new Blob([told, await response.text()], { type: "text/javascript" });
  // What was checked runs, and not the address: browsers start no worker of another origin.
  const createScriptURL = (url) => url;
  policy ??= globalThis.trustedTypes?.createPolicy("mrprism", { createScriptURL }) ?? {
    createScriptURL,
  };
  return new Worker(policy.createScriptURL(URL.createObjectURL(blob)), { type: "module", name });
};

// startWith has another platform start workers: it calls by(files, name) with the addresses of the
// files and the worker's name.
export const startWith = (by) => (start = by);

export const startWorker = ({ base, ...wishes }) =>
  start(addresses(base), `?${new URLSearchParams(wishes)}`);

// check finds nothing: the worker's script was checked before it started.
export const check = async () => {};
