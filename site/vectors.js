// Vectors for Go programs that are built with the tag simd128 (internal/vector). Such a program
// brings modules that work on its memory, and imports their functions. But its memory is not there
// before the program is. So it imports these functions, which call the chosen module's. This script
// runs after wasm_exec.js and before the program, in a worker, a page or Node. Other Go programs
// take no notice.
globalThis.Go = class extends Go {
  #memory;

  constructor() {
    super();
    const modules = [];
    let chosen;
    this.importObject.vectors = {
      // compile gives the number of the module that lies at an address, or -1 where the engine does
      // not have its instructions.
      compile: (at, length) => {
        try {
          const module = new WebAssembly.Module(new Uint8Array(this.#memory.buffer, at, length));
          return modules.push(new WebAssembly.Instance(module, { env: { mem: this.#memory } }).exports) - 1;
        } catch { return -1; }
      },
      choose: (number) => { chosen = modules[number]; },
      product: (k, a, row, step, b, c, stride, rows, add) => chosen.product(k, a, row, step, b, c, stride, rows, add),
      pack: (to, from, rows, stride) => chosen.pack(to, from, rows, stride),
      add: (y, x, n) => chosen.add(y, x, n),
      addScaled: (y, x, n, s) => chosen.addScaled(y, x, n, s),
      addProducts: (y, a, b, n) => chosen.addProducts(y, a, b, n),
      scaleAndShift: (y, scale, shift, n) => chosen.scaleAndShift(y, scale, shift, n),
      takeLarger: (y, x, n) => chosen.takeLarger(y, x, n),
      relu: (x, n) => chosen.relu(x, n),
      sum: (x, n) => chosen.sum(x, n),
      dot: (a, b, n) => chosen.dot(a, b, n),
      exp: (x, n, scale, shift) => chosen.exp(x, n, scale, shift),
      sigmoid: (x, n) => chosen.sigmoid(x, n),
      gelu: (x, n) => chosen.gelu(x, n),
      maxOfColumns: (x, most, rows) => chosen.maxOfColumns(x, most, rows),
      expColumns: (x, shift, total, rows, scale) => chosen.expColumns(x, shift, total, rows, scale),
      finishRows: (...numbers) => chosen.finishRows(...numbers),
      layerNorm: (...numbers) => chosen.layerNorm(...numbers),
      dots: (k, lines, x, b, start, sums) => chosen.dots(k, lines, x, b, start, sums),
      finishFixed: (p) => chosen.finishFixed(p),
      finishFloats: (p) => chosen.finishFloats(p),
      softmax: (x, total, rows, scale) => chosen.softmax(x, total, rows, scale),
      negative: (x, n) => chosen.negative(x, n),
      words: (to, from, n) => chosen.words(to, from, n),
      floats: (to, from, n) => chosen.floats(to, from, n),
      quantize: (to, from, n, factor) => chosen.quantize(to, from, n, factor),
      addGELUGradient: (dx, dy, x, n) => chosen.addGELUGradient(dx, dy, x, n),
    };
  }

  run(instance) {
    this.#memory = instance.exports.mem;
    return super.run(instance);
  }
};
