// The page of browsertest starts the worker, as the site does.
const policy = trustedTypes.createPolicy("mrprism", { createScriptURL: () => "worker.js" });
const worker = new Worker(policy.createScriptURL(""), { type: "module" });
worker.onerror = async (event) => {
  await fetch("/output", {
    method: "POST",
    body: `worker: ${event.message ?? "could not be loaded"}\n`,
  });
  await fetch("/exit", { method: "POST", body: "1" });
};
