// Stands in for worker.js in tests of the page alone. It answers every message with plain shapes of
// known size, and fails as the name of a file says. It computes nothing.
const models = [
  { name: "levels", title: "Fundus: optic disc and cup", bytes: 6200000 },
  { name: "marks", title: "Newborn brain, three raters and marks", bytes: 6300000 },
  { name: "raters", title: "Newborn brain, seven raters", bytes: 6100000 },
];
const shape = {
  levels: {
    classes: ["disc", "cup"],
    raters: ["atleast1", "atleast2", "atleast3", "atleast4"],
    labels: "agreement-levels",
    steered: false,
  },
  raters: {
    classes: ["brain"],
    raters: ["rater1", "rater2", "rater3", "rater4", "rater5", "rater6", "rater7"],
    labels: "raters",
    steered: true,
  },
  marks: {
    classes: ["brain"],
    raters: ["ann", "bob", "eve"],
    labels: "raters",
    steered: true,
    takesMarks: true,
  },
};
// Pictures whose names say so hold many cells, in place of the model's structures.
const cells = { classes: ["cell"], raters: ["ann", "bob", "eve"], labels: "raters", steered: true };
// What DICOM files say of a person (dicom.Header.Identity).
const identity = "ISO_IR 192\nMüller^Anna\n4711\n19610203\n20260901";
const gpu = true; // tests replace this line to play a browser without WebGPU
let current = null;
const results = new Map(),
  cancelled = new Set(); // by number of request
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const told = () =>
  new Promise((resolve) => {
    new BroadcastChannel("go on").onmessage = resolve;
  }); // by a test

// busy computes for a time, ms. Until then the worker hears nothing.
function busy(ms) {
  for (const end = performance.now() + ms; performance.now() < end;);
}

// The objects of the picture of a key: { now, past, future }, each a list of objects { number, discs:
// [[x, y, r], …], doubt, by }.
const fields = new Map();
// changed changes the objects of a picture as the real worker does, or says what is wrong.
function changed({ key, do: what, numbers = [], line = [] }, { width, height }, many) {
  const field = fields.get(key) ?? { now: [], past: [], future: [] },
    free = () => [1, ...field.now.map(({ number }) => number + 1)].find((n) => !of(n)),
    of = (n) => field.now.find(({ number }) => number === n),
    others = () => field.now.filter(({ number }) => !numbers.includes(number)),
    side = Math.min(width, height) / 12,
    one = of(numbers[0]),
    by = "you";
  let next = field.now;
  if (what === "find") {
    next = Array.from({ length: many }, (_, i) => ({
      number: i + 1,
      discs: [
        [
          ((i % 6) + 0.5) * 2 * side,
          (Math.floor(i / 6) + (i ? 0.6 : 0.25)) * 2 * side,
          (0.6 + (i % 5) / 12) * side,
        ],
      ],
      doubt: i % 7 === 3 ? 1.4 : 0.3,
      by: "model",
    }));
    fields.set(key, { now: next, past: [], future: [] });
    return "";
  }
  if (what === "undo" || what === "redo") {
    const [from, to] = what === "undo" ? [field.past, field.future] : [field.future, field.past];
    to.push(field.now);
    fields.set(key, { ...field, now: from.pop() });
    return "";
  }
  if (what === "add")
    next = [...next, { number: free(), discs: [[...line, 0.7 * side]], doubt: 0.2, by: "model" }];
  if (what === "move") next = [...others(), { ...one, discs: [[...line, one.discs[0][2]]] }];
  if (what === "delete") next = others();
  if (what === "merge") {
    const discs = numbers.flatMap((n) => of(n).discs);
    next = [...others(), { number: numbers[0], discs, doubt: null, by }];
  }
  if (what === "split") {
    const [[x, y, r]] = one.discs,
      part = (number, dx) => ({ number, discs: [[x + dx, y, r / 2]], doubt: null, by });
    next = [...others(), part(one.number, -r / 2), part(free(), r / 2)];
  }
  next.sort((a, b) => a.number - b.number);
  fields.set(key, { now: next, past: [...field.past, field.now], future: [] });
  return "";
}
// labelsOf is a PNG of no more than a head, which says the size and 16 bits, with the objects
// behind it, and givenOf reads it.
function labelsOf({ now }, { width, height, turn }) {
  const head = new DataView(new ArrayBuffer(26)),
    [w, h] = turn % 2 ? [height, width] : [width, height];
  for (const [at, value] of [0x89504e47, 0x0d0a1a0a, 13, 0x49484452, w, h].entries())
    head.setUint32(4 * at, value);
  head.setUint16(24, 0x1000);
  return new Uint8Array([
    ...new Uint8Array(head.buffer),
    ...new TextEncoder().encode(JSON.stringify(now)),
  ]);
}
const givenOf = (labels) => JSON.parse(new TextDecoder().decode(labels.slice(26)));
// objectsOf is the answer to "field".
function objectsOf({ now, past, future }, { width, height }) {
  const points = [],
    starts = [],
    of = [];
  const objects = now.map(({ number, discs, doubt, by }) => {
    for (const [x, y, r] of discs) {
      starts.push(points.length / 2);
      of.push(number);
      for (let a = 0; a < 40; a++)
        points.push(x + r * Math.cos((a * Math.PI) / 20), y + r * Math.sin((a * Math.PI) / 20));
    }
    const [x, y] = [0, 1].map((i) => discs.reduce((sum, disc) => sum + disc[i], 0) / discs.length),
      area = Math.round(discs.reduce((sum, disc) => sum + Math.PI * disc[2] ** 2, 0)),
      cut = discs.some(([dx, dy, r]) => dx < r || dy < r || dx + r > width || dy + r > height);
    return {
      number,
      x,
      y,
      area,
      perimeter: 100,
      roundness: 1 / discs.length,
      disagreement: 9,
      cut,
      doubt,
      by,
    };
  });
  const arrays = {
    points: Float32Array.from(points),
    starts: Uint32Array.from(starts),
    of: Uint32Array.from(of),
  };
  return {
    type: "field",
    width,
    height,
    class: "cell",
    objects,
    ...arrays,
    undo: past.length,
    redo: future.length,
  };
}

// An ellipse of probabilities around the middle of the region. Its radius depends on class, rater
// and recurrence.
function radius({ kind, m = 0, i = 3, class: c }) {
  return (
    (c === 0 ? 0.25 : 0.13) *
    (kind === "rater" ? 1.12 - 0.05 * m : 1) *
    (kind === "recurrence" ? 0.9 + i / 30 : 1)
  );
}
function value(fields, u, v) {
  // u, v in −0.5…0.5 of the region
  const r = Math.hypot(u * 1.06 + 0.02 * Math.sin(7 * v), v),
    d = radius(fields) - r;
  const p = 1 / (1 + Math.exp(-d * (fields.class === 0 ? 120 : 60)));
  return fields.kind === "disagreement" ? 4 * p * (1 - p) : p;
}

// clinical are the figures beside the ratio, by what the file's name and the user say. Who drew has
// a rim that is wider by a half.
function clinical(name, eye, mm, drawn) {
  const rim = [20, 21, 22, 23, 24, 25, 24, 23, 12, 18, 19, 20].map((width) =>
      drawn ? 1.5 * width : width,
    ),
    named = /OD/.test(name) ? "right" : /OS/.test(name) ? "left" : "",
    side = eye || named;
  return {
    rim,
    rimLow: rim.map((width) => width - 2),
    rimHigh: rim.map((width) => width + 3),
    narrowestRim: { value: drawn ? 0.1 : 0.07, low: 0.05, high: 0.08, hour: 8, absent: 0 },
    eye: {
      side,
      ...(side ? { by: eye ? "user" : "name" } : {}),
      ...(eye && named && named !== eye ? { against: ["name"] } : {}),
    },
    ...(side
      ? {
          isnt: {
            inferior: rim[6],
            superior: rim[0],
            nasal: rim[side === "right" ? 3 : 9],
            temporal: rim[side === "right" ? 9 : 3],
            holds: false,
            agree: 3,
            of: 4,
          },
        }
      : {}),
    ddls: mm
      ? { stage: 5, low: 5, high: 6, size: "average" }
      : { stage: null, low: null, high: null, withheld: "There is no scale in millimetres." },
  };
}

// thumbOf is the small picture of a canvas.
function thumbOf(canvas) {
  const k = Math.min(1, 96 / Math.max(canvas.width, canvas.height)),
    small = new OffscreenCanvas(Math.round(k * canvas.width), Math.round(k * canvas.height)),
    context = small.getContext("2d");
  context.drawImage(canvas, 0, 0, small.width, small.height);
  return {
    pixelsWide: small.width,
    pixelsHigh: small.height,
    rgba: new Uint8Array(context.getImageData(0, 0, small.width, small.height).data.buffer),
  };
}

// The series of the page: { files, order, drawn }, where order are numbers of files, from 0.
let series = null;
// ofSeries is the answer to "series". Files whose names say "mixed" are of two series.
function ofSeries(data) {
  const n = series?.order.length;
  if (data.do === "open") {
    const { files } = data,
      one = files.length === 1,
      order = one ? Array(12).fill(0) : [...files.keys()].reverse(); // as they lie, not as they are named
    if (data.files.some(({ name }) => name.includes("mixed")))
      return {
        type: "error",
        code: "series",
        message:
          "series has more than one size: [4 3] (2 slices, as a) and [8 6] (1 slices, as b); keep one in a folder of its own.",
        next: "One by one, its pictures can be segmented all the same.",
      };
    series = { files, order, drawn: new Map(), added: order.map(() => false) };
    const slices = order.map((part, i) => ({ part, slice: one ? i + 1 : 1, position: 2 * i })),
      gaps = files[0].name.includes("gap")
        ? ["4 mm between slice number 2 and slice number 3, and elsewhere 2 mm"]
        : [];
    return { type: "series", said: { slices, step: 2, gaps } };
  }
  if (data.do === "measure") {
    const structures = shape.levels.classes.map((name) => ({
        class: name,
        ml: 1.234,
        low: 1.1,
        high: 1.4,
      })),
      lack = series.added.filter((is) => !is).length,
      withheld = lack ? `${lack} of ${n} slices are not computed: there are no volumes in ml.` : "";
    for (const one of withheld ? structures : []) one.ml = null;
    return { type: "series", said: { volumes: { structures, withheld }, added: series.added } };
  }
  if (data.do === "draw") {
    if (data.mask) series.drawn.set(`${data.index} ${data.class}`, data.mask);
    else series.drawn.delete(`${data.index} ${data.class}`);
    return { type: "series" };
  }
  if (data.do === "fill")
    // each slice gets the mask of the first
    return {
      type: "series",
      masks: Array.from({ length: data.to - data.from - 1 }, () =>
        series.drawn.get(`${data.from} ${data.class}`),
      ),
    };
  const text = JSON.stringify({ ...data, drawn: [...series.drawn.keys()], added: series.added });
  return { type: "series", bytes: new TextEncoder().encode(text) };
}

// It answers one message after the other, as the real worker does, and hears "cancel" at once.
// After a crash each message fails, as in wasm_exec.js.
let turn = Promise.resolve(),
  crashed = false;
onmessage = ({ data }) => {
  if (crashed) throw new Error("Go program has already exited");
  if (data.type === "ping") postMessage({ type: "alive" });
  else if (data.type === "cancel") cancelled.add(data.request);
  else turn = turn.then(() => work(data));
};
async function work(data) {
  const answer = (fields, transfer = []) =>
    postMessage({ request: data.request, ...fields }, transfer);
  if (data.type === "table")
    return answer({ type: "table", bytes: new TextEncoder().encode(data.records) });
  if (data.type === "zip")
    return answer({
      type: "zip",
      bytes: new TextEncoder().encode(
        data.step === "add" ? `${data.name} ${data.blob.byteLength}\n` : "",
      ),
    }); // a list of the files
  if (data.type === "correct") return answer({ type: "correct", bytes: new Uint8Array(data.blob) });
  if (data.type === "recognise")
    return answer({
      type: "recognise",
      are: data.heads.map((head) => new Uint8Array(head)[0] === 0x89),
    });
  if (data.type === "series") return answer(ofSeries(data));
  if (data.part && !data.blob && data.key !== current?.key)
    data.blob = await series.files[data.part - 1].blob.arrayBuffer();
  if (data.type === "prepare") return answer({ type: "prepare" });
  if (data.type === "weights") return answer({ type: "weights", name: "own-1", title: data.name });
  if (data.type === "saveField" && data.format === "labels-png")
    return answer({ type: "saveField", bytes: labelsOf(fields.get(data.key), current) });
  if (data.type === "saveField")
    return answer({ type: "saveField", bytes: new TextEncoder().encode(JSON.stringify(data)) });
  if (data.type === "segment" || data.type === "picture" || data.type === "field") {
    if (data.name.includes("crash")) {
      crashed = true;
      return postMessage({ type: "crashed", message: "as asked" });
    }
    if (data.name.includes("queued")) await wait(1000);
    if (data.name.includes("hangs")) busy(Infinity);
    for (let i = 0; i < 3 && data.name.includes("beats"); i++) {
      // as Go says in the middle of a computation
      busy(300);
      postMessage({ type: "alive" });
    }
    if (cancelled.has(data.request))
      return answer({ type: "error", code: "cancelled", message: "Cancelled." });
    if (data.name.includes("gpulost")) {
      // it is back for the whole image
      const back = data.roi === "none";
      postMessage({
        type: "adapter",
        adapter: back ? "Test adapter [mock]" : "Go float32 [processor, processor]",
        gpu: back,
        software: false,
        reason: back ? "" : "GPU device lost: reading: as asked",
        note: back
          ? ""
          : "The graphics processor failed twice; the processor computes meanwhile. It takes longer, with the same result.",
        next: "",
      });
    }
    if (!data.blob && data.key !== current?.key)
      return answer({
        type: "error",
        code: "image",
        message: `${data.name} is no longer in memory.`,
        next: "Open it again.",
      });
    if (data.blob) {
      const bitmap = await createImageBitmap(new Blob([data.blob])).catch(() => null);
      if (!bitmap)
        return answer({
          type: "error",
          code: "image",
          message: `${data.name}: this is a text file, not an image, whatever its name says.`,
          next: "Open a PNG, JPEG, TIFF, BMP, WebP, DICOM or NIfTI image.",
        });
      const [wide, high] =
        data.turn % 2 ? [bitmap.height, bitmap.width] : [bitmap.width, bitmap.height];
      const canvas = new OffscreenCanvas(wide, high),
        context = canvas.getContext("2d", { willReadFrequently: true });
      context.translate(wide / 2, high / 2);
      context.rotate(((data.turn ?? 0) * Math.PI) / 2);
      context.drawImage(bitmap, -bitmap.width / 2, -bitmap.height / 2);
      current = { key: data.key, width: wide, height: high, turn: data.turn, canvas };
    }
    const picture = {
      width: current.width,
      height: current.height,
      ...(data.name.includes("volume")
        ? { slice: data.slice || 6, slices: 12 }
        : { slice: 1, slices: 1 }),
    };
    if (data.wantThumb) answer({ type: "thumb", ...picture, ...thumbOf(current.canvas) });
    if (data.wantImage) {
      const { width, height, canvas } = current,
        rgba = new Uint8Array(
          canvas.getContext("2d").getImageData(0, 0, width, height).data.buffer,
        );
      answer(
        {
          type: "image",
          ...picture,
          drawnWidth: width,
          drawnHeight: height,
          pixelsWide: width,
          pixelsHigh: height,
          rgba,
        },
        [rgba.buffer],
      );
    }
    if (data.type === "picture" && data.wantIdentity)
      return answer({ type: "picture", identity: new TextEncoder().encode(identity) });
    if (data.type === "picture") return answer({ type: "picture" });
    const slow = data.name.includes("slow") ? 400 : 15;
    if (data.type === "field") {
      const many = data.name.includes("nocells") ? 0 : data.name.includes("crowd") ? 300 : 24;
      for (const stage of data.do === "find" ? ["find", "outline"] : [])
        for (let i = 0; i < 3; i++) {
          answer({ type: "progress", stage, done: i, total: 3 });
          await (data.name.includes("stepwise") ? told() : wait(slow));
          if (cancelled.has(data.request))
            return answer({ type: "error", code: "cancelled", message: "Cancelled." });
        }
      if (data.do !== "find" && data.name.includes("slow")) await wait(slow);
      if (data.do === "give") {
        try {
          fields.set(data.key, { now: givenOf(data.labels), past: [], future: [] });
        } catch {
          return answer({ type: "error", code: "labels", message: "Damaged.", next: "" });
        }
      } else changed(data, current, many);
      return answer(objectsOf(fields.get(data.key), current));
    }
    for (const [stage, steps] of [
      ["download", 4],
      ["search", 1],
      ["segment", 4],
    ])
      for (let i = 0; i < steps; i++) {
        answer({
          type: "progress",
          stage,
          done: stage === "download" ? i * 1.6e6 : i,
          total: stage === "download" ? 6.2e6 : steps,
        });
        await (data.name.includes("stepwise") && i === 0
          ? told()
          : wait(stage === "download" ? slow / 4 : slow));
        if (cancelled.has(data.request))
          return answer({ type: "error", code: "cancelled", message: "Cancelled." });
      }
    if (data.name.includes("unready") && data.model === "raters")
      return answer({
        type: "error",
        code: "weights",
        message: "The model could not be downloaded.",
        next: "Try again.",
      });
    const { width, height } = current,
      s = data.name.includes("cells") ? cells : shape[data.model],
      weighed = s.panels ?? s.raters;
    if (data.raterWeights && !(s.steered && data.raterWeights.length === weighed.length)) {
      return answer({
        type: "error",
        code: "options",
        message: `${data.raterWeights.length} weights of raters do not fit ${data.model}.`,
        next: "Correct the options.",
      });
    }
    if (data.evidence.some(({ name }) => name.includes("bad")))
      return answer({
        type: "error",
        code: "evidence",
        message: "bad.png: the pixel at 3, 4 has the value 77.",
        next: "Draw the mark without soft edges.",
      });
    const recurrences = !s.takesMarks ? 3 : data.evidence.length ? 2 : 0;
    const found = !(data.name.includes("nodisc") && data.roi === "auto");
    const side = Math.round(height * 0.32);
    let roi = {
      x: Math.round(width * 0.68 - side / 2),
      y: Math.round(height * 0.5 - side / 2),
      side,
      whole: false,
    };
    if (data.roi === "none" || !found)
      roi = {
        x: Math.round((width - Math.max(width, height)) / 2),
        y: Math.round((height - Math.max(width, height)) / 2),
        side: Math.max(width, height),
        whole: true,
      };
    else if (data.roi !== "auto") {
      const [x, y, square] = data.roi.split(",").map(Number);
      roi = { x, y, side: square, whole: false };
    }
    if (data.part)
      series.added[
        series.files.length > 1 ? series.order.indexOf(data.part - 1) : picture.slice - 1
      ] = true;
    results.set(data.request, {
      width,
      height,
      roi,
      name: data.name,
      turn: current.turn,
      passing: data.passing,
    });
    const kept = [...results].filter(
      ([, { passing }]) => Boolean(passing) === Boolean(data.passing),
    );
    if (kept.length > (data.passing ? 1 : 4)) results.delete(kept[0][0]);
    const missing = (c) => !found || (data.name.includes("nocup") && s.classes[c] === "cup");
    const area = (c) =>
      missing(c)
        ? 0
        : Math.round(Math.PI * (radius({ kind: "probability", class: c }) * roi.side) ** 2);
    // The weights of "levels" can tell what is odd, and have intervals.
    const tells = data.model === "levels",
      odd = data.name.includes("odd") && tells;
    const interval = (low, high, c) =>
      !tells
        ? { withheld: "These weights have learned no interval." }
        : odd && c
          ? { withheld: doubts[0].text }
          : { interval: { low, high, coverage: 0.9 } };
    // A file named so is from a camera whose cups were not learned.
    const word = (c) =>
      missing(c)
        ? {}
        : !tells
          ? {
              trust: {
                word: "check",
                reason: "These weights cannot tell whether a picture is of their kind.",
              },
            }
          : {
              trust: odd
                ? { word: "do not use", reason: doubts[0].text }
                : data.name.includes("camera") && c
                  ? { word: "check", reason: "The cup of this camera was not learned." }
                  : { word: "trusted" },
            };
    const outlines = (c) =>
      tells && !missing(c)
        ? {
            outlines:
              odd || word(c).trust.reason
                ? { margin: 0, coverage: 0, withheld: word(c).trust.reason }
                : { margin: 9, coverage: 0.9 },
          }
        : {};
    const doubts = [
      ...(found
        ? []
        : [{ code: "not-found", text: `No ${s.classes[0]} was found in this picture.` }]),
      ...(odd
        ? [
            {
              code: "unfamiliar",
              text: "This picture is unlike those that the model has learned from.",
            },
            { code: "blurred", text: `The border of the ${s.classes[0]} is not distinct.` },
          ]
        : []),
    ];
    answer({
      type: "result",
      id: data.request,
      width,
      height,
      ...s,
      model: data.model,
      title: models.find((m) => m.name === data.model).title,
      roi,
      recurrences,
      adapter: gpu ? "Test adapter [mock]" : "Go float32 [processor, processor]",
      timings: { total: 1234 },
      precision: "f32",
      formats: [
        "png",
        "png-mask",
        "tiff",
        "tiff-mask",
        "nifti",
        "nifti-mask",
        ...(data.name.endsWith(".dcm") && !data.name.includes("poor")
          ? ["dicom-seg", "dicom-seg-fractional", "dicom-sr", "dicom-sc"]
          : []),
        "svg",
        "geojson",
      ],
      findsMany: data.name.includes("cells"),
      lacks: data.name.includes("poor")
        ? "the file has no valid SOP Instance UID (0008,0018), Study Instance UID (0020,000D), by which a DICOM SEG refers to it; save the masks as NIfTI or TIFF"
        : "",
      found,
      doubts,
      doubt: !tells ? null : odd ? 1.75 : 0.25,
      quality: data.name.includes("camera")
        ? { gradable: false, faults: [{ code: "blurred", text: "This photograph is not sharp." }] }
        : null,
      sha256: "ab12",
      shipped: true,
      measurements: {
        structures: s.classes.map((cls, c) => ({
          class: cls,
          area: area(c),
          ...(s.raters.length
            ? { low: area(c) * 0.94, high: area(c) * 1.05 }
            : { low: null, high: null }),
          share: area(c) / width / height,
          height: missing(c) ? 0 : 2 * radius({ class: c }) * roi.side,
          width: missing(c) ? 0 : 2 * radius({ class: c }) * roi.side,
          pieces: missing(c) ? 0 : 1,
          ...(data.name.includes("many") && !c ? { others: 3 } : {}),
          ...interval(area(c) * 0.9, area(c) * 1.12, c),
          ...word(c),
          ...outlines(c),
        })),
        verticalRatio:
          found && s.classes.length > 1
            ? {
                inner: "cup",
                outer: "disc",
                ...(missing(1)
                  ? { value: null, low: null, high: null }
                  : {
                      value: data.name.includes("high") ? 0.75 : 0.52,
                      low: 0.47,
                      high: 0.58,
                      ...interval(0.42, 0.66, 1),
                      ...word(1),
                    }),
              }
            : undefined,
        ...(found && s.classes.length > 1 && !missing(1)
          ? {
              horizontalRatio: { inner: "cup", outer: "disc", value: 0.5, low: 0.45, high: 0.55 },
              ...clinical(data.name, "", data.name.includes("spaced")),
            }
          : {}),
        ...(data.name.includes("spaced") ? { spacing: [0.02, 0.01] } : {}),
      },
    });
    return;
  }
  if (!results.has(data.id))
    return answer({
      type: "error",
      code: "gone",
      message: "That result is no longer in memory.",
      next: "Segment the image again.",
    });
  const { width, height, roi, name, turn } = results.get(data.id);
  if (data.type === "repeat") {
    const sd = { area: 90, height: 3, width: 3 };
    return answer(
      data.name.includes("visit")
        ? {
            type: "repeat",
            said: {
              repeats: {
                views: 8,
                verticalRatio: 0.02,
                horizontalRatio: 0.03,
                structures: [sd, sd],
              },
            },
          }
        : {
            type: "error",
            code: "repeat",
            message:
              "3 of 8 turned, shifted and dimmed views show all structures: too few to say how figures repeat.",
            next: "",
          },
    );
  }
  if (data.type === "clinical") {
    if (name.includes("large")) await wait(200);
    return answer({
      type: "clinical",
      figures: clinical(name, data.eye, data.mm || name.includes("spaced"), data.drawn.length),
    });
  }
  if (data.type === "view") {
    if (name.includes("large")) await wait(200);
    const x = Math.max(0, roi.x),
      y = Math.max(0, roi.y),
      w = Math.min(width, roi.x + roi.side) - x,
      h = Math.min(height, roi.y + roi.side) - y;
    const values = new Uint8Array(w * h),
      points = [];
    for (let py = 0; py < h; py++)
      for (let px = 0; px < w; px++)
        values[py * w + px] =
          255 *
          value(
            data,
            (px + 0.5 + x - roi.x) / roi.side - 0.5,
            (py + 0.5 + y - roi.y) / roi.side - 0.5,
          );
    const rings = data.kind === "between" ? [1.15, 0.85] : [1];
    for (const ring of rings)
      for (let t = 0; t < 240; t++) {
        const a = (t / 240) * 2 * Math.PI;
        let lo = 0,
          hi = 0.7;
        for (let k = 0; k < 30; k++) {
          const mid = (lo + hi) / 2;
          value(
            { ...data, kind: data.kind === "disagreement" ? "probability" : data.kind },
            mid * Math.cos(a),
            mid * Math.sin(a),
          ) > 0.5
            ? (lo = mid)
            : (hi = mid);
        }
        points.push(
          roi.x + (0.5 + ring * lo * Math.cos(a)) * roi.side,
          roi.y + (0.5 + ring * lo * Math.sin(a)) * roi.side,
        );
      }
    answer({
      type: "view",
      x,
      y,
      width: w,
      height: h,
      pixelsWide: w,
      pixelsHigh: h,
      values,
      points: Float32Array.from(points),
      starts: Uint32Array.from(rings.keys(), (i) => 240 * i),
    });
  } else if (data.type === "map") {
    const values = new Float32Array(width * height);
    for (let py = 0; py < height; py++)
      for (let px = 0; px < width; px++)
        values[py * width + px] = value(
          data,
          (px + 0.5 - roi.x) / roi.side - 0.5,
          (py + 0.5 - roi.y) / roi.side - 0.5,
        );
    answer({ type: "map", values }, [values.buffer]);
  } else if (data.type === "save") {
    const {
        format,
        reader,
        i,
        classes: [c],
        drawn,
      } = data,
      of = reader
        ? { kind: "rater", m: reader - 1, class: c }
        : { kind: "recurrence", i, class: c };
    // A PNG has the map's pixels in a colour canvas, as the file lies; other formats have the question.
    if (!format.startsWith("png"))
      return answer({
        type: "save",
        bytes: new TextEncoder().encode(
          JSON.stringify({
            ...data,
            drawn: drawn.map((one) => one.class),
            ...(data.shown && { shown: { ...data.shown, rgba: data.shown.rgba.length } }),
          }),
        ),
      });
    const picture = new ImageData(width, height);
    for (let py = 0, at = 0; py < height; py++)
      for (let px = 0; px < width; px++, at++) {
        // Masks have the areas of the figures, but not the sample, whose mask is drawn on.
        const stretch =
          format === "png-mask" && of.kind === "recurrence" && name !== "sample.jpg" ? 1.06 : 1;
        const p = value(
            of,
            ((px + 0.5 - roi.x) / roi.side - 0.5) / stretch,
            (py + 0.5 - roi.y) / roi.side - 0.5,
          ),
          said = drawn[0]?.mask[at] ?? 128;
        const v = said !== 128 ? said : format === "png" ? 255 * p : p > 0.5 ? 255 : 0;
        picture.data.set([v, v, v, 255], 4 * at);
      }
    const shown = new OffscreenCanvas(width, height);
    shown.getContext("2d").putImageData(picture, 0, 0);
    const [wide, high] = turn % 2 ? [height, width] : [width, height],
      canvas = new OffscreenCanvas(wide, high),
      context = canvas.getContext("2d");
    context.translate(wide / 2, high / 2);
    context.rotate((-(turn ?? 0) * Math.PI) / 2);
    context.drawImage(shown, -width / 2, -height / 2);
    const blob = await canvas.convertToBlob({ type: "image/png" });
    answer({ type: "save", bytes: new Uint8Array(await blob.arrayBuffer()) });
  }
}

if (new URLSearchParams(name).has("archive")) postMessage({ type: "archive" });
postMessage({
  type: "ready",
  adapter: gpu ? "Test adapter [mock]" : "Go float32 [processor, processor]",
  gpu,
  software: false,
  reason: gpu ? "" : "no GPU adapter: opening the device: this browser has no WebGPU",
  models,
});
