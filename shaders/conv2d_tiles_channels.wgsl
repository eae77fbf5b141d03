// Part of conv2d_tiles.wgsl: storage is read and written one channel at a time, of which there may be any number.

alias element = real;
alias stored = real;
alias floats = f32;
const CHANNELS: u32 = 1u; // of an element
const WIDTH: u32 = 1u;    // outputs at a time

// Terms are those of four channels.
struct Terms {
  a: Term,
  b: Term,
  c: Term,
  d: Term,
}

// terms are those from a on.
fn terms(g: Geometry, a: Term) -> Terms {
  let b = term_after(g, a, 1);
  let c = term_after(g, b, 1);
  return Terms(a, b, c, term_after(g, c, 1));
}

// load_terms are four terms of a pixel of x, the first of which is number `at`; zero beyond the last.
fn load_terms(g: Geometry, p: Position, i: Terms, at: i32, length: i32) -> real4 {
  return real4(load_x(g, p, i.a, at < length), load_x(g, p, i.b, at + 1 < length), load_x(g, p, i.c, at + 2 < length), load_x(g, p, i.d, at + 3 < length));
}

// load_weights and load_gradients are the four outputs from n on of a row of the weights and of a pixel, if it is ok. Otherwise, and beyond the last output, they are
// anything: x is zero there, or the result is not stored.
fn load_weights(row: i32, ok: bool, n: i32) -> real4 {
  let at = select(0, row * i32(params.outputs), ok);
  let end = i32(params.outputs) - 1;
  return real4(w[at + min(n, end)], w[at + min(n + 1, end)], w[at + min(n + 2, end)], w[at + min(n + 3, end)]);
}

fn load_gradients(pixel: i32, ok: bool, n: i32) -> real4 {
  let at = select(0, pixel * i32(params.outputs), ok);
  let end = i32(params.outputs) - 1;
  return real4(dy[at + min(n, end)], dy[at + min(n + 1, end)], dy[at + min(n + 2, end)], dy[at + min(n + 3, end)]);
}

fn store(pixel: i32, column: i32, sum: vec4<f32>) {
  var values = sum;
  let last = min(column + 4, i32(params.outputs));
  for (var n = column; n < last; n++) {
    var v = values[n - column];
    if (params.has_bias == 1u) { v += f32(bias[n]); }
    put(pixel, n, v);
  }
}

// store_weights writes or adds to four outputs of a row of dw.
fn store_weights(row: i32, column: i32, sum: vec4<f32>) {
  var values = sum;
  let last = min(column + 4, i32(params.outputs));
  for (var n = column; n < last; n++) {
    let i = row * i32(params.outputs) + n;
    dw[i] = values[n - column] + select(0.0, dw[i], params.adds == 1u);
  }
}
