// The photograph in other colours: brighter, with more contrast, or without red. Only the stage is
// affected; the model sees the photograph as it was taken.
export const asTaken = { brightness: 0, contrast: 0, redFree: false };

// looked is an image with its pixels, RGBA, in a look. brightness and contrast go from −100 to 100;
// a contrast of 100 is four times the image's. Red-free is the green channel in grey.
export function looked(image, { brightness, contrast, redFree }) {
  if (!brightness && !contrast && !redFree) return image;
  const gain = 4 ** (contrast / 100),
    shift = 127.5 * (1 - gain) + 1.275 * brightness * Math.max(1, gain);
  const table = Uint8ClampedArray.from({ length: 256 }, (_, v) => v * gain + shift),
    from = image.rgba,
    rgba = new Uint8Array(from.length);
  for (let i = 0; i < from.length; i += 4) {
    const green = table[from[i + 1]];
    rgba[i] = redFree ? green : table[from[i]];
    rgba[i + 1] = green;
    rgba[i + 2] = redFree ? green : table[from[i + 2]];
    rgba[i + 3] = from[i + 3];
  }
  return { ...image, rgba };
}
