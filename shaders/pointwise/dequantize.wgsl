// int8 weights (…, C), packed four to a word, times the scale of their last-axis channel: y[i] =
// q[i] scale[i mod C]. An invocation has one word.
//
// Header (go doc ./shaders): Invocation, real.

const SIZE: u32 = 64u;

struct Params {
  n: u32, // elements
  channels: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
// ⌈n/4⌉ words, the first element in the low byte
@group(0) @binding(1) var<storage, read> q: array<u32>;
// f32 in a plan of halves too: a small scale would lose digits
@group(0) @binding(2) var<storage, read> scale: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<real>;

@compute @workgroup_size(SIZE)
fn dequantize(id: Invocation) {
  let first = 4u * (number(id, SIZE));
  if (first >= params.n) { return; }
  let word = q[first / 4u];
  for (var k = 0u; k < min(4u, params.n - first); k++) {
    // the shift to the right carries the sign
    let value = bitcast<i32>(word << (24u - 8u * k)) >> 24u;
    y[first + k] = real(f32(value) * scale[(first + k) % params.channels]);
  }
}
