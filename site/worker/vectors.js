// Vectors for Go programs that are built with the tag simd128 (shaders/vector). A program brings
// modules that work on its memory, and imports their functions. The memory does not exist before
// the program. The program therefore imports the functions below, which call the functions of the
// chosen module. This script runs after wasm_exec.js and before the program, in a worker, a page or
// Node. It changes nothing for other Go programs. In a worker without wasm_exec.js it is a thread
// that computes beside a program.

// Where things lie on the board, in words, as in shaders/vector/crew.go.
const PUBLISHED = 0,
  TAKEN = 1,
  READY = 2,
  SLEEPING = 3,
  CHOSEN = 4,
  QUEUE = 8,
  SLOTS = 32,
  DONE = QUEUE + SLOTS,
  CALLS = DONE + SLOTS,
  WORDS = 17,
  SLOT_WORDS = 1 + 36 * WORDS;

// MOST is the largest number of threads beside the program's own.
const MOST = 7;

// Board hands out pieces of work in shared memory.
class Board {
  constructor(memory, at) {
    this.numbers = new Int32Array(memory.buffer, at, CALLS + SLOTS * SLOT_WORDS);
    this.floats = new Float32Array(memory.buffer, at, CALLS + SLOTS * SLOT_WORDS);
  }

  // take returns the slot of a piece that nobody has begun, or -1.
  take() {
    for (const n = this.numbers; ;) {
      const next = Atomics.load(n, TAKEN);
      if (next === Atomics.load(n, PUBLISHED)) return -1;
      const slot = Atomics.load(n, QUEUE + (next & (SLOTS - 1)));
      if (Atomics.compareExchange(n, TAKEN, next, (next + 1) | 0) === next) return slot;
    }
  }

  // compute does a piece with the functions of a module.
  compute(slot, module) {
    const n = this.numbers,
      f = this.floats;
    let at = CALLS + slot * SLOT_WORDS;
    for (let left = n[at++]; left > 0; left--, at += WORDS) {
      if (n[at] === 0) this.#multiply(module, at + 1);
      else module.expColumns(n[at + 1], n[at + 2], n[at + 3], n[at + 4], f[at + 5]);
    }
    Atomics.store(n, DONE + slot, 1);
  }

  // multiply is Matrix.MultiplyPart, in panels of 8 columns.
  #multiply(module, at) {
    const [b, k, first, terms, panel, panels, x, lines] = this.numbers.subarray(at, at + 8),
      [rows, line, row, step, c, stride, add, most] = this.numbers.subarray(at + 8, at + 16);
    for (let from = 0; from < terms; from += most) {
      const count = Math.min(most, terms - from);
      for (let p = 0; p < panels; p++) {
        const right = b + 32 * ((panel + p) * k + first + from);
        for (let l = 0; l < lines; l++) {
          module.product(
            count,
            x + 4 * (l * line + from * step),
            row,
            step,
            right,
            c + 4 * (l * rows * stride + 8 * p),
            stride,
            rows,
            add || from > 0,
          );
        }
      }
    }
  }
}

// How long a thread looks for work before it sleeps, in milliseconds. Layers follow each other
// quickly.
const RESTLESS = 0.1;

if (!globalThis.Go)
  onmessage = ({ data: { memory, modules, at } }) => {
    const instances = modules.map(
      (module) => new WebAssembly.Instance(module, { env: { mem: memory } }).exports,
    );
    const board = new Board(memory, at),
      n = board.numbers;
    for (Atomics.add(n, READY, 1); ;) {
      const seen = Atomics.load(n, PUBLISHED),
        slot = board.take();
      if (slot >= 0) {
        board.compute(slot, instances[Atomics.load(n, CHOSEN)]);
        continue;
      }
      const until = performance.now() + RESTLESS;
      while (Atomics.load(n, PUBLISHED) === seen && performance.now() < until);
      Atomics.add(n, SLEEPING, 1);
      Atomics.wait(n, PUBLISHED, seen);
      Atomics.sub(n, SLEEPING, 1);
    }
  };

// TextDecoder and getRandomValues refuse shared memory, and so get a copy.
const isShared = (view) =>
  Object.prototype.toString.call(view?.buffer) === "[object SharedArrayBuffer]";
if (globalThis.Go) {
  const { decode } = TextDecoder.prototype,
    { getRandomValues } = crypto;
  const copied = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
  TextDecoder.prototype.decode = function (view, ...rest) {
    return decode.call(this, isShared(view) ? copied(view) : view, ...rest);
  };
  crypto.getRandomValues = (view) => {
    if (isShared(view)) view.set(getRandomValues.call(crypto, copied(view)));
    else getRandomValues.call(crypto, view);
    return view;
  };
}

// mrprismScript is the address of a worker's script, by the only policy that a worker may create.
// In a package of npm all workers run the script of this one, which tells them apart by name.
let policy;
globalThis.mrprismScript = (name) => {
  const createScriptURL = (name) => {
    if (name !== "vectors.js" && name !== "codec.js")
      throw new TypeError(`not a worker of this program: ${name}`);
    return globalThis.mrprismFiles ? location.href : name;
  };
  policy ??= globalThis.trustedTypes?.createPolicy("mrprism", { createScriptURL }) ?? {
    createScriptURL,
  };
  return policy.createScriptURL(name);
};

// unshared clears the flag in a program's fifth section that makes its memory shared.
const unshared = (program) => {
  let at = 8;
  const number = () => {
    for (let sum = 0, unit = 1; ; unit *= 128) {
      const byte = program[at++];
      sum += (byte & 127) * unit;
      if (byte < 128) return sum;
    }
  };
  while (at < program.length) {
    const section = program[at++],
      end = number() + at;
    if (section === 5) program[at + 1] &= 1;
    at = end;
  }
  return program;
};

if (globalThis.Go)
  globalThis.Go = class extends Go {
    #memory;

    // load compiles a program, which get fetches, and resolves to its instance. The memory is shared
    // if the program wants this and the engine can do it.
    async load(address, get = fetch) {
      try {
        return (await WebAssembly.instantiateStreaming(get(address), this.importObject)).instance;
      } catch {
        /* any other failure comes again below */
      }
      const response = await get(address);
      if (!response.ok) throw new Error(`${address}: the server answered ${response.status}`);
      return (
        await WebAssembly.instantiate(
          unshared(new Uint8Array(await response.arrayBuffer())),
          this.importObject,
        )
      ).instance;
    }

    constructor() {
      super();
      const modules = [],
        compiled = [];
      let chosen,
        number,
        board,
        took = 1;
      const compute = () => {
        const slot = board.take();
        if (slot < 0) return false;
        const begun = performance.now();
        board.compute(slot, chosen);
        took = performance.now() - begun;
        return true;
      };
      this.importObject.vectors = {
        // compile returns the number of the module at an address in memory, or -1 if the engine lacks
        // its instructions.
        compile: (at, length) => {
          try {
            const module = new WebAssembly.Module(
              new Uint8Array(this.#memory.buffer, at, length).slice(),
            );
            const instance = new WebAssembly.Instance(module, { env: { mem: this.#memory } });
            compiled.push(module);
            return modules.push(instance.exports) - 1;
          } catch {
            return -1;
          }
        },
        choose: (wanted) => {
          chosen = modules[(number = wanted)];
          if (board) Atomics.store(board.numbers, CHOSEN, number);
        },
        // startCrew starts threads if the memory is shared: one for each further core, or up to
        // mostThreads, which bench sets. They become ready later.
        startCrew: (at) => {
          if (!isShared(this.mem) || !globalThis.crossOriginIsolated || !globalThis.Worker) return;
          board = new Board(this.#memory, at);
          Atomics.store(board.numbers, CHOSEN, number);
          try {
            const url = globalThis.mrprismScript("vectors.js");
            for (
              let i = Math.min((globalThis.mostThreads ?? navigator.hardwareConcurrency) - 1, MOST);
              i > 0;
              i--
            ) {
              const worker = new Worker(url, { type: "module", name: "vectors.js" });
              worker.onerror = (event) => event.preventDefault();
              worker.postMessage({ memory: this.#memory, modules: compiled, at });
            }
          } catch (error) {
            console.warn(`one thread: ${error}`);
          }
        },
        readyCrew: () => (board ? Atomics.load(board.numbers, READY) : 0),
        publishPiece: (slot) => {
          const n = board.numbers,
            next = Atomics.load(n, PUBLISHED);
          Atomics.store(n, DONE + slot, 0);
          Atomics.store(n, QUEUE + (next & (SLOTS - 1)), slot);
          Atomics.store(n, PUBLISHED, (next + 1) | 0);
          if (Atomics.load(n, SLEEPING) > 0) Atomics.notify(n, PUBLISHED, 1);
        },
        // finishPiece waits for a piece as long as this thread would take for it. After that the
        // program computes it itself.
        finishPiece: (slot) => {
          const done = () => Atomics.load(board.numbers, DONE + slot);
          while (!done() && compute());
          for (const until = performance.now() + 1.5 * took; !done() && performance.now() < until;);
          return done();
        },
        donePiece: (slot) => Atomics.load(board.numbers, DONE + slot),
        product: (k, a, row, step, b, c, stride, rows, add) =>
          chosen.product(k, a, row, step, b, c, stride, rows, add),
        pack: (to, from, rows, stride) => chosen.pack(to, from, rows, stride),
        add: (y, x, n) => chosen.add(y, x, n),
        addScaled: (y, x, n, s) => chosen.addScaled(y, x, n, s),
        addProducts: (y, a, b, n) => chosen.addProducts(y, a, b, n),
        takeLarger: (y, x, n) => chosen.takeLarger(y, x, n),
        relu: (x, n) => chosen.relu(x, n),
        sum: (x, n) => chosen.sum(x, n),
        dot: (a, b, n) => chosen.dot(a, b, n),
        exp: (x, n, scale, shift) => chosen.exp(x, n, scale, shift),
        sigmoid: (x, n) => chosen.sigmoid(x, n),
        gelu: (x, n) => chosen.gelu(x, n),
        maxOfColumns: (x, most, rows) => chosen.maxOfColumns(x, most, rows),
        expColumns: (x, shift, total, rows, scale) =>
          chosen.expColumns(x, shift, total, rows, scale),
        finishRows: (...numbers) => chosen.finishRows(...numbers),
        layerNorm: (...numbers) => chosen.layerNorm(...numbers),
        dots: (k, lines, x, b, start, sums) => chosen.dots(k, lines, x, b, start, sums),
        finishFixed: (p) => chosen.finishFixed(p),
        finishFloats: (p) => chosen.finishFloats(p),
        softmax: (x, total, rows, scale) => chosen.softmax(x, total, rows, scale),
        windows: (p) => chosen.windows(p),
        winogradInput: (...numbers) => chosen.winogradInput(...numbers),
        winogradWeights: (...numbers) => chosen.winogradWeights(...numbers),
        winogradSums: (...numbers) => chosen.winogradSums(...numbers),
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
