// Runs the tests of modules, named as arguments, in Node, and prints a line of JSON for each:
// { file, name, error }.
import { basename, resolve } from "node:path";
import { inflateSync } from "node:zlib";

// What Node 20 lacks of a browser.
globalThis.navigator ??= { languages: [] };
Map.groupBy ??= (all, keyOf) => {
  const groups = new Map();
  for (const one of all) {
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  }
  return groups;
};
// A picture is a grey PNG of study/zip.js, whose rows are not filtered.
globalThis.createImageBitmap = async (blob) => {
  const file = Buffer.from(await blob.arrayBuffer()),
    width = file.readUInt32BE(16),
    height = file.readUInt32BE(20);
  const packed = file.subarray(41, 41 + file.readUInt32BE(33)),
    rows = inflateSync(packed),
    data = new Uint8Array(4 * width * height).fill(255);
  for (let i = 0; i < width * height; i++)
    data.fill(rows[i + Math.floor(i / width) + 1], 4 * i, 4 * i + 3);
  return { width, height, data, close() {} };
};
globalThis.OffscreenCanvas = class {
  getContext = () => ({
    drawImage: ({ data }) => {
      this.data = data;
    },
    getImageData: () => ({ data: this.data }),
  });
};

for (const path of process.argv.slice(2)) {
  const { tests } = await import(resolve(path));
  for (const [name, test] of Object.entries(tests)) {
    let error = "";
    try {
      await test();
    } catch (thrown) {
      error = String(thrown?.stack ?? thrown);
    }
    console.log(JSON.stringify({ file: basename(path), name, error }));
  }
}
