import globals from "globals";

const { browser, serviceworker, node } = globals;
// What Go's wasm_exec.js and the programs need or set.
const ours = { Go: "writable", mostThreads: "readonly", benchTell: "writable" };
ours.fs = ours.process = "writable";

export default [
  {
    languageOptions: { globals: { ...browser, ...serviceworker, ...ours } },
    rules: { "no-undef": "error", "no-unused-vars": ["error", { ignoreRestSiblings: true }] },
  },
  { files: ["site/testdata/node.mjs"], languageOptions: { globals: node } },
  {
    files: ["shaders/vector/simd128/node.js"],
    languageOptions: { sourceType: "commonjs", globals: node },
  },
];
