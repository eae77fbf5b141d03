// Quarter turns of the photograph. The worker turns the pixels (imageio.Turned). The page turns the
// region.

// turnedSquare is a region "x,y,side" on a photograph of a height after a quarter turn clockwise.
export function turnedSquare(roi, height) {
  if (!roi.includes(",")) return roi;
  const [x, y, side] = roi.split(",").map(Number);
  return [height - y - side, x, side].join();
}
