// Gaussian window along one axis, zeros outside the image; called twice it is the square window of SSIM and of disputed pixels.
//
//   y[o,q,i] = Σ_t g_t x[o,q+t-R,i],   g_t ∝ e^(-(t-R)²/2σ²), Σ g = 1, t = 0 … 2R
//
// x, y (outer, length, inner). The window is symmetric, so the gradient is the same sum: dx += blur(dy). An invocation computes RUN
// neighbours along the axis, so that a load of x serves all of them: s_k = y[q+k] takes window[j-k] of source j, and the weights move up
// from source to source.

const SIZE: u32 = 64u;
const RUN: u32 = 8u;

struct Params {
  outer: u32,
  length: u32,
  inner: u32,
  radius: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> window: array<f32>; // 2R + 1
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

// Run is RUN results, and where the first lies; of them `count` exist.
struct Run {
  at: u32,
  count: u32,
  a: vec4<f32>,
  b: vec4<f32>,
}

fn blurred(i: u32) -> Run {
  let runs = (params.length + RUN - 1u) / RUN;
  let first = i / params.inner % runs * RUN;
  let base = i / params.inner / runs * params.length * params.inner + i % params.inner;
  let width = 2u * params.radius + 1u;
  var weights_a = vec4<f32>();
  var weights_b = vec4<f32>();
  var a = vec4<f32>();
  var b = vec4<f32>();
  for (var j = 0u; j < width + RUN - 1u; j++) {
    weights_b = vec4<f32>(weights_a.w, weights_b.xyz);
    weights_a = vec4<f32>(select(0.0, window[min(j, width - 1u)], j < width), weights_a.xyz);
    let p = i32(first + j) - i32(params.radius);
    let inside = (p >= 0) & (p < i32(params.length));
    let v = select(0.0, x[base + select(0u, u32(p), inside) * params.inner], inside);
    a += weights_a * v;
    b += weights_b * v;
  }
  return Run(base + first * params.inner, min(RUN, params.length - first), a, b);
}

fn outside(i: u32) -> bool {
  return i >= params.outer * ((params.length + RUN - 1u) / RUN) * params.inner;
}

@compute @workgroup_size(SIZE)
fn blur_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (outside(i)) { return; }
  let r = blurred(i);
  y[r.at] = r.a.x;
  if (1u < r.count) { y[r.at + params.inner] = r.a.y; }
  if (2u < r.count) { y[r.at + 2u * params.inner] = r.a.z; }
  if (3u < r.count) { y[r.at + 3u * params.inner] = r.a.w; }
  if (4u < r.count) { y[r.at + 4u * params.inner] = r.b.x; }
  if (5u < r.count) { y[r.at + 5u * params.inner] = r.b.y; }
  if (6u < r.count) { y[r.at + 6u * params.inner] = r.b.z; }
  if (7u < r.count) { y[r.at + 7u * params.inner] = r.b.w; }
}

@compute @workgroup_size(SIZE)
fn blur_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (outside(i)) { return; }
  let r = blurred(i);
  y[r.at] += r.a.x;
  if (1u < r.count) { y[r.at + params.inner] += r.a.y; }
  if (2u < r.count) { y[r.at + 2u * params.inner] += r.a.z; }
  if (3u < r.count) { y[r.at + 3u * params.inner] += r.a.w; }
  if (4u < r.count) { y[r.at + 4u * params.inner] += r.b.x; }
  if (5u < r.count) { y[r.at + 5u * params.inner] += r.b.y; }
  if (6u < r.count) { y[r.at + 6u * params.inner] += r.b.z; }
  if (7u < r.count) { y[r.at + 7u * params.inner] += r.b.w; }
}
