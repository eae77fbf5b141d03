// Runs an ONNX model in ONNX Runtime:
//   node run.cjs FOLDER MODEL INPUT OUT [PROVIDER] [RUNS] [OPTIMISED]
// FOLDER has node_modules. INPUT holds the float32 values of the only input, x. OUT is a folder that
// receives NAME.f32 of each output. The script prints JSON: the version, the outputs with their
// shapes, and milliseconds of making the session, of the first run and of each further one.
// OPTIMISED receives the model as ONNX Runtime has changed it.
const fs = require("fs");
const path = require("path");

const [folder, model, input, out, provider = "cpu", runs = "0", optimised] = process.argv.slice(2);
const ort = require(require.resolve("onnxruntime-node", { paths: [path.resolve(folder)] }));

async function main() {
  const bytes = fs.readFileSync(input);
  const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const side = Math.sqrt(values.length / 3);
  const since = (start) => Number(process.hrtime.bigint() - start) / 1e6;

  let start = process.hrtime.bigint();
  const options = { executionProviders: [provider], graphOptimizationLevel: "all", logSeverityLevel: 3 };
  if (optimised) options.optimizedModelFilePath = optimised;
  const session = await ort.InferenceSession.create(model, options);
  const sessionMS = since(start);
  const feeds = { x: new ort.Tensor("float32", values, [1, 3, side, side]) };

  start = process.hrtime.bigint();
  const results = await session.run(feeds);
  const firstMS = since(start);
  const outputs = {};
  for (const [name, tensor] of Object.entries(results)) {
    outputs[name] = Array.from(tensor.dims);
    const data = await tensor.getData();
    fs.writeFileSync(path.join(out, name + ".f32"), Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  }
  const runsMS = [];
  for (let i = 0; i < Number(runs); i++) {
    start = process.hrtime.bigint();
    const again = await session.run(feeds);
    for (const tensor of Object.values(again)) await tensor.getData();
    runsMS.push(since(start));
  }
  console.log(JSON.stringify({ version: ort.env.versions.node ?? ort.env.versions.common, outputs, sessionMS, firstMS, runsMS }));
}

main().catch((error) => {
  console.error(String(error && error.message ? error.message : error));
  process.exit(1);
});
