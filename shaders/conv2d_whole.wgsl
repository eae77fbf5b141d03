// Part of conv2d*.wgsl: the result is y. Beside conv2d_finish.wgsl.

// put finishes the sum of output (or quad) n of a pixel and writes it.
fn put(pixel: i32, n: i32, sum: floats) {
  let i = pixel * (i32(params.outputs) / i32(WIDTH)) + n;
  y[i] = stored(finished(i, n, sum));
}
