// Part of conv2d*.wgsl: the first outputs of the result, params.chunk of them, are y, the others `rest`. Beside conv2d_finish.wgsl.

@group(0) @binding(7) var<storage, read_write> rest: array<stored>;

// put finishes the sum of output (or quad) n of a pixel and writes it.
fn put(pixel: i32, n: i32, sum: floats) {
  let outputs = i32(params.outputs) / i32(WIDTH);
  let first = i32(params.chunk) / i32(WIDTH);
  let value = stored(finished(pixel * outputs + n, n, sum));
  if (n < first) {
    y[pixel * first + n] = value;
  } else {
    rest[pixel * (outputs - first) + n - first] = value;
  }
}
