// Tests of keeping.js, which TestKeeping runs in a page: what the browser's file system has after
// it was killed, had no space left, or was damaged.
import { Stroke, blank } from "../draw/correct.js";
import * as keeping from "../study/keeping.js";
import { filesOf, readSession } from "../study/session.js";
import { equal } from "./state_test.js";
import { newList } from "../review/worklist.js";

const size = { width: 64, height: 48 };
const result = {
  ...size,
  classes: ["disc"],
  raters: [],
  model: "levels",
  found: true,
  doubts: [],
  doubt: null,
  roi: { x: 0, y: 0, side: 48 },
  measurements: { structures: [] },
};
const drawing = (side) => {
  const stroke = new Stroke(blank("you", "disc", size));
  stroke.polygon(
    [
      [4, 4],
      [side, 4],
      [side, side],
    ],
    255,
  );
  return stroke.correction;
};
let keys = 0;
const picture = (blob, name, slice = 0, turn = 0) => ({ blob, name, slice, turn, key: ++keys });
const image = new Blob(["image"]);
// stateOf resolves to the files of a session of n images, a drawing of a side on each.
const stateOf = (n, side) => {
  const lines = Array.from({ length: n }, (_, i) => {
    const of = picture(image, `${i}.png`);
    return {
      key: of.key,
      picture: of,
      slice: 0,
      slices: 1,
      review: "accepted",
      decided: String(side),
      corrections: [drawing(side)],
      result: { ...result, asked: { roi: "auto", weights: null, evidence: [] } },
    };
  });
  return filesOf(
    { ...newList, lines, at: lines[0].key, by: "EM" },
    { name: "levels", title: "", sha256: "" },
    true,
    [[{ did: "accepted", n: side }]],
    true,
  );
};
// seen resolves to what is read of a kept session, with all its drawings and its image.
async function seen(id) {
  const { lines, damaged, logs } = await readSession(await keeping.filesOf(id), id, picture);
  for (const {
    corrections: [one],
    picture: { blob },
  } of lines) {
    await one.open();
    await blob.arrayBuffer();
  }
  return [
    damaged,
    lines.map(({ review, corrections: [{ tiles }] }) => [
      review,
      [...tiles.get(0)].filter((v) => v === 255).length,
    ]),
    logs[0].entries[0].n,
  ];
}
const places = async (id) =>
  (
    await (await navigator.storage.getDirectory()).getDirectoryHandle("sessions", { create: true })
  ).getDirectoryHandle(id, { create: true });
// names are the files of a kept session. A writer that a test has cut off is still there: its file
// is none.
const names = async (id) => {
  const all = [];
  for await (const name of (await places(id)).keys()) if (!name.endsWith(".crswap")) all.push(name);
  return all.sort();
};

// STEPS are the calls that change something in the file system.
const STEPS = [
  [FileSystemDirectoryHandle, "getFileHandle"],
  [FileSystemFileHandle, "createWritable"],
  [FileSystemWritableFileStream, "write"],
  [FileSystemWritableFileStream, "close"],
  [FileSystemFileHandle, "move"],
  [FileSystemDirectoryHandle, "removeEntry"],
];
// failing runs act, of which the file system does only the first n steps. It resolves to whether
// that was all. full: a write fails, and what comes after it does not.
async function failing(n, error, full, act) {
  const before = STEPS.map(([{ prototype }, name]) => prototype[name]);
  let left = n,
    failed = false;
  STEPS.forEach(([{ prototype }, name], i) => {
    prototype[name] = function (...all) {
      if ((!full || name === "write") && left-- <= 0 && !(full && failed)) {
        failed = true;
        return Promise.reject(error);
      }
      return before[i].apply(this, all);
    };
  });
  try {
    await act().catch((thrown) => {
      if (thrown !== error) throw thrown;
    });
  } finally {
    STEPS.forEach(([{ prototype }, name], i) => {
      prototype[name] = before[i];
    });
  }
  return !failed;
}

export const tests = {
  async "a save that ends anywhere leaves the state before or the one after"() {
    const [first, second] = [await stateOf(2, 20), await stateOf(2, 30)];
    await keeping.put("whole", second);
    const after = JSON.stringify(await seen("whole"));
    for (const [error, full] of [
      [new Error("killed"), false],
      [new DOMException("no space", "QuotaExceededError"), true],
    ]) {
      let n = 0,
        all = false;
      for (const states = new Set(); !all; n++) {
        const id = `cut-${full}-${n}`;
        await keeping.put(id, first);
        states.add(JSON.stringify(await seen(id)));
        all = await failing(n, error, full, () => keeping.put(id, second));
        states.add(JSON.stringify(await seen(id)));
        equal(
          states.size,
          states.has(after) ? 2 : 1,
          `after ${n} steps: ${[...states].join(" or ")}`,
        );
        await failing(n, error, full, () => keeping.put(`${id}-new`, second));
        if ((await names(`${id}-new`)).includes("session.json"))
          equal(JSON.stringify(await seen(`${id}-new`)), after, `a first save of ${n} steps`);
        await keeping.put(id, second);
        equal(JSON.stringify(await seen(id)), after, `the next save after ${n} steps`);
      }
      equal(
        [n > (full ? 3 : 13), await names(`cut-${full}-${n - 1}`)],
        [true, [...new Set(second.map(({ name }) => name.replace("/", "_")))].sort()],
        "the last save",
      );
    }
  },
  async "a session that an older page kept goes on, and loses nothing while it is kept anew"() {
    const files = await stateOf(2, 20),
      place = await places("older");
    const older = JSON.parse(await files[0].blob.text()),
      renamed = new Map();
    older.readings.forEach(({ drawn: [one] }, i) => {
      renamed.set(`drawn_${i + 1}_1.png`, files.find(({ name }) => name === one.file).blob);
      one.file = `drawn/${i + 1}_1.png`;
    });
    for (const { name, blob } of files)
      if (name.startsWith("images") || name.startsWith("log"))
        renamed.set(name.replace("/", "_"), blob);
    for (const [name, blob] of [...renamed, ["session.json", new Blob([JSON.stringify(older)])]]) {
      const writing = await (await place.getFileHandle(name, { create: true })).createWritable();
      await writing.write(blob);
      await writing.close();
    }
    const before = await seen("older");
    equal(
      before,
      [
        [],
        [
          ["accepted", 136],
          ["accepted", 136],
        ],
        20,
      ],
      "before",
    );
    await failing(3, new Error("killed"), false, async () =>
      keeping.put("older", await stateOf(2, 30)),
    );
    equal(await seen("older"), before, "killed");
    await keeping.put("older", await stateOf(2, 30));
    equal((await seen("older"))[2], 30, "after");
  },
  async "a session that cannot be read is named and stays, and the others are offered"() {
    await keeping.put("good", await stateOf(1, 20));
    const good = await (
        await (await (await places("good")).getFileHandle("session.json")).getFile()
      ).text(),
      newer = good.replace('"version":1', '"version":2');
    const broken = {
      "cut-short": good.slice(0, 100),
      empty: "",
      none: null,
      newer,
      "no-readings": '{"format":"MrPrism session","version":1}',
      "no-date": good.replace(/"saved":"[^"]*"/, '"saved":7'),
      null: "null",
    };
    for (const [id, text] of Object.entries(broken)) {
      const place = await places(id);
      if (text === null) continue;
      const writing = await (
        await place.getFileHandle("session.json", { create: true })
      ).createWritable();
      await writing.write(text);
      await writing.close();
    }
    const all = (await keeping.all()).filter(({ id }) => id === "good" || id in broken);
    equal(
      all.filter(({ refused }) => !refused).map(({ id, readings }) => [id, readings.length]),
      [["good", 1]],
      "offered",
    );
    equal(
      all
        .filter(({ refused }) => refused)
        .map(({ id }) => id)
        .sort(),
      Object.keys(broken).sort(),
      "named",
    );
    equal(
      all.find(({ id }) => id === "newer").refused.message,
      "newer was saved by a later version of MrPrism.",
      "newer",
    );
    equal(await names("empty"), ["session.json"], "nothing is removed");
    for (const { id } of all) await keeping.forget(id);
    equal(
      (await keeping.all()).filter(({ id }) => id in broken),
      [],
      "forgotten",
    );
  },
};
