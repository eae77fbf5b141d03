// Part of conv2d_tiles.wgsl: storage is read and written four channels at a time; inputs and outputs are multiples of four.

alias element = real4;
alias stored = real4;
alias floats = vec4<f32>;
const CHANNELS: u32 = 4u; // of an element
const WIDTH: u32 = 4u;    // outputs at a time
const ELEMENTS: u32 = STEP / 4u;

// load_step fills `left` with the terms from start on of the workgroup's pixels: four pixels × four channels an invocation.
fn load_step(g: Geometry, start: i32, length: i32, first_row: i32, local: u32) {
  for (var turn = 0u; turn < (ELEMENTS * ROWS + SIZE - 1u) / SIZE; turn++) {
    let i = turn * SIZE + local;
    if (i < ELEMENTS * ROWS) {
      let at = start / 4 + i32(i % ELEMENTS);
      let a = term(g, at);
      let p0 = position(g, first_row + i32(i / ELEMENTS) * 4);
      let p1 = next(g, p0);
      let p2 = next(g, p1);
      let p3 = next(g, p2);
      let ok = at < length / 4;
      let v0 = load_x(g, p0, a, ok);
      let v1 = load_x(g, p1, a, ok);
      let v2 = load_x(g, p2, a, ok);
      let v3 = load_x(g, p3, a, ok);
      let to = i % ELEMENTS * 4u * ROWS + i / ELEMENTS;
      left[to] = real4(v0.x, v1.x, v2.x, v3.x);
      left[to + ROWS] = real4(v0.y, v1.y, v2.y, v3.y);
      left[to + 2u * ROWS] = real4(v0.z, v1.z, v2.z, v3.z);
      left[to + 3u * ROWS] = real4(v0.w, v1.w, v2.w, v3.w);
    }
  }
}

// load_inputs are the four inputs of a pixel from row on, of the rows (t, s, input), zero beyond the last.
fn load_inputs(g: Geometry, p: Position, row: i32, length: i32, ok: bool) -> real4 {
  return load_x(g, p, term(g, row / 4), ok & (row < length));
}

// load_weights and load_gradients are the four outputs from n on of a row of the weights and of a pixel; beyond the last it is anything: those results are not stored.
fn load_weights(row: i32, n: i32) -> real4 {
  let quads = i32(params.outputs) / 4;
  return w[row * quads + min(n / 4, quads - 1)];
}

fn load_gradients(pixel: i32, n: i32) -> real4 {
  let quads = i32(params.outputs) / 4;
  return dy[pixel * quads + min(n / 4, quads - 1)];
}

fn store(pixel: i32, column: i32, sum: vec4<f32>) {
  if ((pixel >= 0) & (column < i32(params.outputs))) {
    let n = column / 4;
    var v = sum;
    if (params.has_bias == 1u) { v += vec4<f32>(bias[n]); }
    put(pixel, n, v);
  }
}

// store_weights writes or adds to four outputs of a row of dw.
fn store_weights(row: i32, column: i32, sum: vec4<f32>) {
  if (column < i32(params.outputs)) {
    let i = (row * i32(params.outputs) + column) / 4;
    dw[i] = sum + select(vec4<f32>(), dw[i], params.adds == 1u);
  }
}
