// Colours of structures, raters and maps. They are visible on a fundus (orange) and on grey images,
// and colour-blind people can tell them apart (testdata/colours_test.js). A search found them.
export const STRUCTURES = [
  [63, 208, 255],
  [190, 245, 92],
  [245, 125, 183],
  [171, 154, 124],
  [106, 121, 255],
  [241, 218, 186],
];
export const RATERS = [
  [236, 143, 0],
  [89, 139, 168],
  [185, 178, 128],
  [230, 175, 186],
  [154, 130, 104],
  [135, 112, 255],
  [251, 229, 191],
];
export const you = [255, 255, 255];
export const css = (rgb) => `rgb(${rgb.join(" ")})`;
export const structure = (i) => STRUCTURES[i % STRUCTURES.length];
export const rater = (i) => RATERS[i % RATERS.length];

// Stops of the two ramps, from 0 to 1: [r, g, b, alpha 0…1]. The photograph shows through low
// values.
const RAMPS = {
  heat: [
    [20, 28, 110, 0],
    [48, 60, 180, 0.35],
    [40, 150, 190, 0.75],
    [120, 210, 130, 0.95],
    [250, 230, 90, 1],
  ],
  disagreement: [
    [8, 24, 120, 0],
    [16, 56, 200, 0.7],
    [36, 110, 255, 1],
    [120, 190, 255, 1],
    [240, 250, 255, 1],
  ],
};

// table is a ramp as 256 premultiplied colours of 4 bytes.
const tables = {};
function table(name) {
  if (tables[name]) return tables[name];
  const stops = RAMPS[name],
    out = new Uint8Array(1024);
  for (let v = 0; v < 256; v++) {
    const at = (v / 255) * (stops.length - 1),
      i = Math.min(stops.length - 2, Math.floor(at)),
      f = at - i;
    const [r, g, b, a] = stops[i].map((x, k) => x + (stops[i + 1][k] - x) * f);
    out.set([r * a, g * a, b * a, 255 * a].map(Math.round), 4 * v);
  }
  return (tables[name] = out);
}

// paint colours a map of bytes by a ramp: premultiplied RGBA. gain stretches the map's range.
export function paint(values, ramp, gain = 1) {
  const colours = new Uint32Array(table(ramp).buffer),
    out = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++)
    out[i] = colours[Math.min(255, Math.round(values[i] * gain))];
  return new Uint8Array(out.buffer);
}

// bar is a ramp as a canvas of the legend.
export function bar(ramp) {
  const canvas = Object.assign(document.createElement("canvas"), { width: 256, height: 1 });
  const colours = table(ramp),
    picture = new ImageData(256, 1);
  for (let v = 0; v < 256; v++) {
    const a = colours[4 * v + 3] / 255; // over a mid grey, as over a photograph
    for (let c = 0; c < 3; c++) picture.data[4 * v + c] = colours[4 * v + c] + 70 * (1 - a);
    picture.data[4 * v + 3] = 255;
  }
  canvas.getContext("2d").putImageData(picture, 0, 0);
  return canvas;
}
