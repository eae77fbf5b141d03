// The Go program's access to the browser's WebGPU: a device that reports every failure, and a
// walker that replays recorded commands. So Go calls JavaScript once a replay and not once a
// dispatch. It sets globalThis.mrprismGPU and runs where the Go program runs, in a page or a
// worker. Only shaders/gpu/webgpu calls it.
//
// Asynchronous functions never reject. They resolve to an object {error, message, …}: error is ""
// or one of "no-adapter", "lost", "memory", "validation", "internal". Buffers, pipelines and
// recordings are numbers, never 0.

const paramsStride = 256; // bytes between the uniform parameters of two dispatches
const stagingBytes = 8 << 20; // the most one read may ask for
const largestBinding = 2 ** 31; // element indices are 32-bit
const wantedFeatures = ["shader-f16", "subgroups"];

// A submission takes about a tenth of a second: watchdogs end submissions of seconds, and Go can
// cancel work only between submissions.
const longSubmission = 200; // ms, halves the number of commands in one
const shortSubmission = 50; // ms, doubles it
const longestStep = 1024; // commands

// A GPU that hangs answers nothing, and no browser need tell. So long without an answer, in seconds,
// it counts as lost.
const silence = 60;

const scopes = ["validation", "out-of-memory", "internal"];
const fine = { error: "", message: "" };

function failure(error, message) {
  return { error, message: String(message) };
}

// cached is the value of a key, made once.
function cached(map, key, make) {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
}

// kindOf names a GPUError.
function kindOf(error) {
  if (error instanceof GPUOutOfMemoryError) return "memory";
  if (error instanceof GPUValidationError) return "validation";
  return "internal";
}

// kindOfAdapter is a gpu.Kind. Browsers tell the maker and the architecture, some also the type.
function kindOfAdapter(info, fallback) {
  const about =
    `${info.type ?? ""} ${info.vendor} ${info.architecture} ${info.description}`.toLowerCase();
  if (fallback || /\bcpu\b|swiftshader|llvmpipe|lavapipe|basic render/.test(about)) return "cpu";
  if (/discrete|nvidia/.test(about)) return "discrete";
  if (/integrated|intel|apple|qualcomm|\barm\b|img-tec|samsung/.test(about)) return "integrated";
  return /\bamd\b/.test(about) ? "discrete" : "unknown";
}

class Device {
  constructor(adapter, device, onLost) {
    const info = adapter.info ?? {};
    this.device = device;
    this.info = {
      vendor: info.vendor ?? "",
      architecture: info.architecture ?? "",
      device: info.device ?? "",
      description: info.description ?? "",
      kind: kindOfAdapter(info, Boolean(info.isFallbackAdapter ?? adapter.isFallbackAdapter)),
    };
    // A slow device has short submissions, and few of them ahead.
    this.slow = this.info.kind === "cpu" || this.info.kind === "unknown";
    this.lost = ""; // why the device was lost
    this.failed = null; // the first failure that no caller has been told of
    this.last = 0; // the last number given to a buffer, pipeline or recording
    this.buffers = new Map();
    this.pipelines = new Map();
    this.recordings = new Map();
    this.modules = new Map(); // promise of {module} or a failure, by source
    this.layouts = new Map(); // by accesses
    this.staging = [];
    this.writes = new Set(); // promises of writes
    this.flights = []; // promises of submissions, oldest first
    this.landed = 0; // when the last of them was found to be done, ms
    device.addEventListener("uncapturederror", (event) =>
      this.fail(kindOf(event.error), event.error.message),
    );
    this.onLost = onLost;
    device.lost.then((info) => this.lose(info.message || info.reason || "no reason given"));
  }

  lose(why) {
    if (this.lost) return;
    this.lost = why;
    if (!this.closed) this.onLost(why);
  }

  // answered resolves as a promise of the GPU's does, or when the device is lost. It counts seconds
  // between submissions that were done; a machine that slept counts one.
  async answered(promise) {
    let seconds = 0,
      seen = this.landed,
      turn;
    const lost = new Promise((resolve) => {
      turn = setInterval(() => {
        if (seen !== this.landed) [seconds, seen] = [0, this.landed];
        if (++seconds > silence) {
          this.lose(`the GPU has not answered for ${silence} seconds`);
          this.device.destroy();
        }
        if (this.lost) resolve();
      }, 1000);
    });
    await Promise.race([promise, lost]).finally(() => clearInterval(turn));
  }

  fail(error, message) {
    this.failed ??= failure(error, message);
  }

  // outcome is a failure that no caller has received yet, or none. Nobody receives the outcome of a
  // cancelled call (token.cancelled): the next call gets the failure.
  outcome(token) {
    if (this.lost) return failure("lost", this.lost);
    if (token.cancelled) return fine;
    const failed = this.failed;
    this.failed = null;
    return failed ?? fine;
  }

  // guard does synchronous work within error scopes. It resolves to the first failure, or null.
  guard(work) {
    for (const filter of scopes) this.device.pushErrorScope(filter);
    let thrown = null;
    try {
      work();
    } catch (error) {
      thrown = failure(error instanceof RangeError ? "memory" : "validation", error.message);
    }
    const popped = scopes.map(() =>
      this.device.popErrorScope().then(
        (error) => error && failure(kindOf(error), error.message),
        (error) => failure("internal", error.message),
      ),
    );
    return Promise.all(popped).then((failures) => {
      if (this.lost) return failure("lost", this.lost);
      return thrown ?? failures.find((f) => f) ?? null;
    });
  }

  number(map, value) {
    map.set(++this.last, value);
    return this.last;
  }

  // allocate makes zeroed storage buffers of the given bytes, all of them or none. ids are their
  // numbers, in order.
  async allocate(sizes, labels) {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const made = [];
    const failed = await this.guard(() => {
      sizes.forEach((size, i) =>
        made.push(this.device.createBuffer({ label: labels[i], size, usage })),
      );
    });
    if (failed) {
      for (const buffer of made) buffer.destroy();
      return failed;
    }
    return { ...fine, ids: made.map((buffer) => this.number(this.buffers, buffer)) };
  }

  releaseBuffer(id) {
    this.buffers.get(id)?.destroy();
    this.buffers.delete(id);
  }

  // write copies bytes, whole words, to byte offset of a buffer.
  write(id, offset, bytes) {
    const written = this.guard(() =>
      this.device.queue.writeBuffer(this.buffers.get(id), offset, bytes),
    ).then((failed) => {
      this.writes.delete(written);
      if (failed) this.fail(failed.error, failed.message);
    });
    this.writes.add(written);
  }

  // read resolves to the bytes of several pieces of buffers, one after the other. pieces is
  // [id, offset, size]… in whole words. token.cancelled is set when nobody waits any more.
  async read(pieces, token) {
    let total = 0;
    for (let i = 0; i < pieces.length; i += 3) total += pieces[i + 2];
    const bytes = new Uint8Array(total);
    if (total > 0) {
      const failed = await this.copyOut(pieces, bytes);
      if (failed) return failed;
    }
    // Any earlier failure makes these bytes worthless.
    await Promise.all([...this.writes, ...this.flights]);
    const outcome = this.outcome(token);
    return outcome.error ? outcome : { ...fine, bytes };
  }

  async copyOut(pieces, bytes) {
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    let staging = this.staging.pop();
    const failed = await this.guard(() => {
      staging ??= this.device.createBuffer({ label: "staging", size: stagingBytes, usage });
      const encoder = this.device.createCommandEncoder({ label: "reading" });
      for (let i = 0, at = 0; i < pieces.length; i += 3) {
        encoder.copyBufferToBuffer(
          this.buffers.get(pieces[i]),
          pieces[i + 1],
          staging,
          at,
          pieces[i + 2],
        );
        at += pieces[i + 2];
      }
      this.device.queue.submit([encoder.finish()]);
    });
    if (failed) {
      staging?.destroy();
      return failed;
    }
    try {
      await this.answered(staging.mapAsync(GPUMapMode.READ, 0, bytes.length));
      bytes.set(new Uint8Array(staging.getMappedRange(0, bytes.length)));
      staging.unmap();
    } catch (error) {
      staging.destroy();
      return this.lost
        ? failure("lost", this.lost)
        : failure("internal", "reading results: " + error.message);
    }
    this.staging.push(staging);
    return null;
  }

  // layout is the bind group layout and the pipeline layout of arguments. accesses has an "r" or
  // "w" for each.
  layout(accesses) {
    return cached(this.layouts, accesses, () => {
      const types = [
        "uniform",
        ...Array.from(accesses, (a) => (a === "w" ? "storage" : "read-only-storage")),
      ];
      const bindings = this.device.createBindGroupLayout({
        entries: types.map((type, binding) => ({
          binding,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type },
        })),
      });
      return {
        bindings,
        pipeline: this.device.createPipelineLayout({ bindGroupLayouts: [bindings] }),
      };
    });
  }

  async compileModule(label, code) {
    let module = null;
    const failed = await this.guard(() => {
      module = this.device.createShaderModule({ label, code });
    });
    if (!failed) return { ...fine, module };
    this.modules.delete(code);
    if (!module || failed.error === "lost") return failed;
    const { messages } = await module.getCompilationInfo();
    const lines = messages.map((m) => `line ${m.lineNum}:${m.linePos} ${m.type}: ${m.message}`);
    return failure(failed.error, lines.join("\n") || failed.message);
  }

  // prepare compiles programs {name, source, entry, accesses} all at once. It resolves to the ids
  // of their pipelines, or to the name of one that failed.
  async prepare(programs) {
    const results = await Promise.all(programs.map((p) => this.compile(p)));
    if (this.lost) return failure("lost", this.lost);
    const wrong = results.findIndex((r) => r.error);
    if (wrong >= 0) return { ...results[wrong], name: programs[wrong].name };
    return { ...fine, ids: results.map((r) => r.id) };
  }

  async compile({ name, source, entry, accesses }) {
    const compiled = await cached(this.modules, source, () => this.compileModule(name, source));
    if (compiled.error) return compiled;
    let layout = null;
    const failed = await this.guard(() => {
      layout = this.layout(accesses);
    });
    if (failed) return failed;
    try {
      const pipeline = await this.device.createComputePipelineAsync({
        label: name,
        layout: layout.pipeline,
        compute: { module: compiled.module, entryPoint: entry },
      });
      return { ...fine, id: this.number(this.pipelines, { pipeline, bindings: layout.bindings }) };
    } catch (error) {
      return failure(error.reason === "validation" ? "validation" : "internal", error.message);
    }
  }

  // record makes a recording. A command is [pipeline, x, y, z, count, range…], or [0, range] to
  // zero a range, which is buffer, offset, size in bytes. params has paramsStride bytes a dispatch.
  async record(commands, params) {
    const steps = [];
    let uniform = null;
    const failed = await this.guard(() => {
      if (params.length > 0) {
        const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
        uniform = this.device.createBuffer({ label: "params", size: params.length, usage });
        this.device.queue.writeBuffer(uniform, 0, params);
      }
      let offset = 0;
      for (let i = 0; i < commands.length;) {
        if (commands[i] === 0) {
          steps.push({
            clear: this.buffers.get(commands[i + 1]),
            from: commands[i + 2],
            size: commands[i + 3],
          });
          i += 4;
          continue;
        }
        const { pipeline, bindings } = this.pipelines.get(commands[i]);
        const [x, y, z, count] = commands.subarray(i + 1, i + 5);
        const entries = [{ binding: 0, resource: { buffer: uniform, offset, size: paramsStride } }];
        for (let k = 0, at = i + 5; k < count; k++, at += 3) {
          const [id, offset, size] = commands.subarray(at, at + 3);
          entries.push({
            binding: k + 1,
            resource: { buffer: this.buffers.get(id), offset, size },
          });
        }
        const group = this.device.createBindGroup({
          label: pipeline.label,
          layout: bindings,
          entries,
        });
        steps.push({ pipeline, group, x, y, z });
        offset += paramsStride;
        i += 5 + 3 * count;
      }
    });
    if (failed) {
      uniform?.destroy();
      return failed;
    }
    return {
      ...fine,
      id: this.number(this.recordings, { steps, uniform, step: this.slow ? 16 : 256 }),
    };
  }

  releaseRecording(id) {
    this.recordings.get(id)?.uniform?.destroy();
    this.recordings.delete(id);
  }

  // run submits recordings in order. It resolves when all of them are submitted, or soon after
  // token.cancelled is set.
  async run(ids, token) {
    const ahead = this.slow ? 2 : 8;
    for (const id of ids) {
      const recording = this.recordings.get(id);
      for (let from = 0; from < recording.steps.length;) {
        while (this.flights.length >= ahead && !this.lost) await this.answered(this.flights[0]);
        if (token.cancelled || this.lost) return this.outcome(token);
        const to = Math.min(from + recording.step, recording.steps.length);
        this.submit(recording, from, to);
        from = to;
      }
    }
    return this.outcome(token);
  }

  // submit encodes steps [from, to) of a recording as one submission.
  submit(recording, from, to) {
    let since = performance.now();
    const failed = this.guard(() => {
      const encoder = this.device.createCommandEncoder({ label: "run" });
      let pass = null;
      for (let i = from; i < to; i++) {
        const step = recording.steps[i];
        if (step.clear) {
          pass?.end();
          pass = null;
          encoder.clearBuffer(step.clear, step.from, step.size);
          continue;
        }
        pass ??= encoder.beginComputePass();
        pass.setPipeline(step.pipeline);
        pass.setBindGroup(0, step.group);
        pass.dispatchWorkgroups(step.x, step.y, step.z);
      }
      pass?.end();
      this.device.queue.submit([encoder.finish()]);
    });
    // device.lost reports a loss.
    const done = this.device.queue.onSubmittedWorkDone().catch(() => {});
    const flight = Promise.all([failed, done]).then(([failed]) => {
      this.flights.splice(this.flights.indexOf(flight), 1);
      if (failed) this.fail(failed.error, failed.message);
      const now = performance.now();
      since = Math.max(since, this.landed); // it had to wait for the submission before it
      this.landed = now;
      pace(recording, to - from, now - since, this.slow ? 1 : 16);
    });
    this.flights.push(flight);
  }

  close() {
    this.closed = true;
    this.device.destroy();
  }
}

// pace adjusts how many commands of a recording make a submission. n of them took so many ms.
function pace(recording, n, took, least) {
  if (took > longSubmission) {
    recording.step = Math.max(least, Math.min(recording.step, n) >> 1);
  } else if (took < shortSubmission && n >= recording.step) {
    recording.step = Math.min(2 * recording.step, longestStep);
  }
}

// open resolves to {device}: the browser's best adapter with those of wantedFeatures that it has
// and its largest buffers. When the device is lost it calls onLost once, with a message. It
// destroys a device that comes after token.cancelled was set.
async function open(onLost, token) {
  if (!globalThis.navigator?.gpu) {
    const why =
      globalThis.isSecureContext === false
        ? "the page was not loaded over https or from this machine"
        : "this browser has no WebGPU";
    return failure("no-adapter", why);
  }
  try {
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter)
      return failure(
        "no-adapter",
        "the browser offers no GPU (switched off, blocked, or lost twice within minutes)",
      );
    const requiredLimits = {};
    for (const limit of ["maxStorageBufferBindingSize", "maxBufferSize"]) {
      requiredLimits[limit] = Math.min(adapter.limits[limit], largestBinding);
    }
    const requiredFeatures = wantedFeatures.filter((feature) => adapter.features.has(feature));
    const device = await adapter.requestDevice({
      label: "mrprism",
      requiredFeatures,
      requiredLimits,
    });
    if (token.cancelled) device.destroy(); // nobody is waiting for it any more
    return { ...fine, device: new Device(adapter, device, onLost) };
  } catch (error) {
    return failure("no-adapter", error.message);
  }
}

globalThis.mrprismGPU = { open };
