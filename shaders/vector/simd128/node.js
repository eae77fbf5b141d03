// Runs a Go program for js/wasm in Node, with vectors. In shaders/vector:
//   GOOS=js GOARCH=wasm go test -tags simd128 -exec "node $PWD/simd128/node.js" .
const { execFileSync } = require("child_process");
const path = require("path");

const library = path.join(
  execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim(),
  "lib",
  "wasm",
);
require(path.join(library, "wasm_exec.js"));
require("../../../site/worker/vectors.js");
require(path.join(library, "wasm_exec_node.js")); // runs the program that is named
