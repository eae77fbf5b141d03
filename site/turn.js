// Quarter turns of the photograph. The worker turns the pixels (imageio.Turned); here is what the page
// knows of a turned photograph, and of files that lie as the photograph did before.

// turnedSquare is a region "x,y,side" on a photograph of a height after a quarter turn clockwise.
export function turnedSquare(roi, height) {
  if (!roi.includes(",")) return roi;
  const [x, y, side] = roi.split(",").map(Number);
  return [height - y - side, x, side].join();
}

// unturned brings bytes of a turned photograph into the order that they had before.
export function unturned({ width, height, bytes }, turn) {
  if (!turn) return { width, height, bytes };
  const [w, h] = turn % 2 ? [height, width] : [width, height], out = new Uint8Array(bytes.length);
  const from = [null, (x, y) => x * width + width - 1 - y, (x, y) => (height - 1 - y) * width + width - 1 - x, (x, y) => (height - 1 - x) * width + y][turn];
  for (let y = 0, i = 0; y < h; y++) for (let x = 0; x < w; x++, i++) out[i] = bytes[from(x, y)];
  return { width: w, height: h, bytes: out };
}
// turned brings bytes of the file's photograph into the order that they have after its turns.
export const turned = (base, turn) => unturned(base, (4 - turn) % 4);
