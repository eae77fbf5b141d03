// Part of conv2d_tiles.wgsl: storage is read and written one channel at a time, of which there may be any number.

alias element = real;
alias stored = real;
alias floats = f32;
const CHANNELS: u32 = 1u; // of an element
const WIDTH: u32 = 1u;    // outputs at a time

// load_step fills `left` with the terms from start on of the workgroup's pixels; neighbours load neighbouring inputs.
fn load_step(g: Geometry, start: i32, length: i32, first_row: i32, local: u32) {
  for (var turn = 0u; turn < (LEFT + SIZE - 1u) / SIZE; turn++) {
    let i = turn * SIZE + local;
    if (i < LEFT) {
      let at = start + i32(i % STEP);
      let a = term(g, at);
      let p0 = position(g, first_row + i32(i / STEP) * 4);
      let p1 = next(g, p0);
      let p2 = next(g, p1);
      let p3 = next(g, p2);
      let ok = at < length;
      left[(i % STEP) * ROWS + i / STEP] = real4(load_x(g, p0, a, ok), load_x(g, p1, a, ok), load_x(g, p2, a, ok), load_x(g, p3, a, ok));
    }
  }
}

// load_inputs are the four inputs of a pixel from row on, of the rows (t, s, input), zero beyond the last.
fn load_inputs(g: Geometry, p: Position, row: i32, length: i32, ok: bool) -> real4 {
  return real4(load_x(g, p, term(g, row), ok & (row < length)), load_x(g, p, term(g, row + 1), ok & (row + 1 < length)),
               load_x(g, p, term(g, row + 2), ok & (row + 2 < length)), load_x(g, p, term(g, row + 3), ok & (row + 3 < length)));
}

// load_weights and load_gradients are the four outputs from n on of a row of the weights and of a pixel; beyond the last it is anything: those results are not stored.
fn load_weights(row: i32, n: i32) -> real4 {
  let at = row * i32(params.outputs);
  let end = i32(params.outputs) - 1;
  return real4(w[at + min(n, end)], w[at + min(n + 1, end)], w[at + min(n + 2, end)], w[at + min(n + 3, end)]);
}

fn load_gradients(pixel: i32, n: i32) -> real4 {
  let at = pixel * i32(params.outputs);
  let end = i32(params.outputs) - 1;
  return real4(dy[at + min(n, end)], dy[at + min(n + 1, end)], dy[at + min(n + 2, end)], dy[at + min(n + 3, end)]);
}

fn store(pixel: i32, column: i32, sum: vec4<f32>) {
  var values = sum;
  for (var c = 0; c < 4; c++) {
    let n = column + c;
    if ((pixel >= 0) & (n < i32(params.outputs))) {
      var v = values[c];
      if (params.has_bias == 1u) { v += f32(bias[n]); }
      put(pixel, n, v);
    }
  }
}

// store_weights writes or adds to four outputs of a row of dw.
fn store_weights(row: i32, column: i32, sum: vec4<f32>) {
  var values = sum;
  for (var c = 0; c < 4; c++) {
    let n = column + c;
    if (n < i32(params.outputs)) {
      let i = row * i32(params.outputs) + n;
      dw[i] = values[c] + select(0.0, dw[i], params.adds == 1u);
    }
  }
}
