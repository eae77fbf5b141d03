// Part of conv2d_tiles.wgsl and conv2d_blocks.wgsl: storage is read and written four channels at a time; inputs and outputs are multiples of four.

alias element = real4;
alias stored = real4;
alias floats = vec4<f32>;
const CHANNELS: u32 = 4u; // of an element
const WIDTH: u32 = 4u;    // outputs at a time

// terms are those of four channels from a on.
alias Terms = Term;

fn terms(g: Geometry, a: Term) -> Terms { return a; }

// load_terms are four terms of a pixel of x, the first of which is number `at`; zero beyond the last.
fn load_terms(g: Geometry, p: Position, a: Terms, at: i32, length: i32) -> real4 {
  return load_x(g, p, a, at < length);
}

// load_weights and load_gradients are the four outputs from n on of a row of the weights and of a pixel, if it is ok. Otherwise, and beyond the last output, they are
// anything: x is zero there, or the result is not stored.
fn load_weights(row: i32, ok: bool, n: i32) -> real4 {
  let quads = i32(params.outputs) / 4;
  return w[select(0, row * quads, ok) + min(n / 4, quads - 1)];
}

fn load_gradients(pixel: i32, ok: bool, n: i32) -> real4 {
  let quads = i32(params.outputs) / 4;
  return dy[select(0, pixel * quads, ok) + min(n / 4, quads - 1)];
}

fn store(pixel: i32, column: i32, sum: vec4<f32>) {
  if (column < i32(params.outputs)) {
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
