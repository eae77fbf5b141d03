// Gaussian window along one axis, with zeros outside the image. Along both axes it is the square
// window of SSIM and of disputed pixels.
//
//   y[o,q,i] = Σ_t g_t x[o,q+t-R,i],   g_t ∝ e^(-(t-R)²/2σ²), Σ g = 1, t = 0 … 2R
//
// x, y (outer, length, inner). An invocation computes RUN neighbours along the axis, for WIDTH
// elements of inner side by side, so that one load of x serves all of them: s_k = y[q+k] takes
// source j with the weight window[j-k], and the weights move up by one from source to source.
//
// Header (go doc ./shaders): Invocation, real, stored, floats, WIDTH.

const SIZE: u32 = 64u;
const RUN: u32 = 8u;

struct Params {
  outer: u32,
  length: u32,
  inner: u32,
  radius: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<stored>;
@group(0) @binding(2) var<storage, read> window: array<real>; // 2R + 1
@group(0) @binding(3) var<storage, read_write> y: array<stored>;

@compute @workgroup_size(SIZE)
fn blur(id: Invocation) {
  let i = number(id, SIZE);
  let length = params.length;
  let inner = params.inner / WIDTH;
  let runs = (length + RUN - 1u) / RUN;
  if (i >= params.outer * runs * inner) { return; }
  let first = i / inner % runs * RUN;
  let base = i / inner / runs * length * inner + i % inner;
  let radius = params.radius;
  let width = 2u * radius + 1u;
  var weights_a = vec4<f32>();
  var weights_b = vec4<f32>();
  var s0 = floats();
  var s1 = floats();
  var s2 = floats();
  var s3 = floats();
  var s4 = floats();
  var s5 = floats();
  var s6 = floats();
  var s7 = floats();
  let sources = width + RUN - 1u;
  for (var j = 0u; j < sources; j++) {
    weights_b = vec4<f32>(weights_a.w, weights_b.xyz);
    weights_a = vec4<f32>(select(0.0, f32(window[min(j, width - 1u)]), j < width), weights_a.xyz);
    let p = i32(first + j) - i32(radius);
    let inside = (p >= 0) & (p < i32(length));
    let v = select(floats(), floats(x[base + select(0u, u32(p), inside) * inner]), inside);
    s0 += weights_a.x * v;
    s1 += weights_a.y * v;
    s2 += weights_a.z * v;
    s3 += weights_a.w * v;
    s4 += weights_b.x * v;
    s5 += weights_b.y * v;
    s6 += weights_b.z * v;
    s7 += weights_b.w * v;
  }
  let at = base + first * inner;
  let count = length - first;
  y[at] = stored(s0);
  if (1u < count) { y[at + inner] = stored(s1); }
  if (2u < count) { y[at + 2u * inner] = stored(s2); }
  if (3u < count) { y[at + 3u * inner] = stored(s3); }
  if (4u < count) { y[at + 4u * inner] = stored(s4); }
  if (5u < count) { y[at + 5u * inner] = stored(s5); }
  if (6u < count) { y[at + 6u * inner] = stored(s6); }
  if (7u < count) { y[at + 7u * inner] = stored(s7); }
}
