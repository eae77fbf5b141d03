// ONNX Runtime as a peer of bench -peers. In node: node ort.mjs BASE PROVIDER THREADS FOLDER, where
// FOLDER has node_modules. In a page it is a module worker with the address
// ort.mjs?provider=PROVIDER&threads=THREADS. THREADS is for providers that compute on the CPU. With
// &capture=true, WebGPU records its commands in the first run and replays them in the others.
import { answerJobs } from "./jobs.mjs";

const inPage = typeof WorkerGlobalScope !== "undefined";
const query = inPage ? new URLSearchParams(location.search) : null;
const capture = query?.get("capture") === "true";
const [base, provider, threads, folder] = inPage
  ? ["", query.get("provider"), query.get("threads")]
  : process.argv.slice(2);

async function load() {
  if (!inPage) {
    const { createRequire } = await import("node:module");
    return createRequire(`${folder}/`)("onnxruntime-node");
  }
  const ort = await import(`/ort/ort.${provider}.bundle.min.mjs`); // the build of this provider alone
  ort.env.wasm.numThreads = Number(threads);
  return ort;
}

// onDevice returns a function that writes x to one buffer of the GPU, and gives it as a tensor: a
// recording always reads the same memory.
async function onDevice(ort, x, dims) {
  const device = await ort.env.webgpu.device;
  const buffer = device.createBuffer({
    size: x.byteLength,
    usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
  });
  const tensor = ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims });
  return () => {
    device.queue.writeBuffer(buffer, 0, x);
    return tensor;
  };
}

try {
  const ort = await load();
  const x = new Float32Array(await (await fetch(`${base}/x`)).arrayBuffer());
  const dims = [1, 3, Math.sqrt(x.length / 3), Math.sqrt(x.length / 3)];
  let open; // the session of one part, with all optimisations
  await answerJobs(base, "ort", async ({ part, values }) => {
    if (open?.part !== part) {
      await open?.session.release();
      const model = new Uint8Array(await (await fetch(`${base}/model/${part}`)).arrayBuffer());
      const options = {
        executionProviders: [provider],
        graphOptimizationLevel: "all",
        logSeverityLevel: 3,
        intraOpNumThreads: Number(threads),
      };
      if (capture)
        Object.assign(options, { enableGraphCapture: true, preferredOutputLocation: "gpu-buffer" });
      open = { part, session: await ort.InferenceSession.create(model, options) };
      open.image = capture
        ? await onDevice(ort, x, dims)
        : () => new ort.Tensor("float32", x, dims);
    }
    const start = performance.now();
    const results = await open.session.run({ x: open.image() });
    const outputs = {};
    for (const [name, tensor] of Object.entries(results)) outputs[name] = await tensor.getData();
    const ms = performance.now() - start;
    return values
      ? {
          ms,
          values: Object.fromEntries(
            Object.entries(outputs).map(([name, data]) => [name, Array.from(data)]),
          ),
        }
      : { ms };
  });
} catch (error) {
  const body = `ONNX Runtime, ${provider}: ${error?.stack ?? error}`;
  await fetch(`${base}/tell/error`, { method: "POST", body });
}
