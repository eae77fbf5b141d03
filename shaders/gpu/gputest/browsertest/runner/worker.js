// The worker of browsertest runs the test binary and reports its exit code.
import "./files.js";
import "./wasm_exec.js";
import "./vectors.js";
import "./gpu.js";

const post = (address, body) => fetch(address, { method: "POST", body });

let code = 1;
try {
  const { arguments: argv, environment, directory } = await (await fetch("/config.json")).json();
  process.cwd = () => directory;
  const go = new Go();
  go.argv = argv;
  go.env = environment;
  go.exit = (exitCode) => {
    code = exitCode;
  };
  await go.run(await go.load("/test.wasm"));
} catch (error) {
  await post("/output", `worker: ${error?.stack ?? error}\n`);
  code = 1;
}
await post("/exit", String(code));
