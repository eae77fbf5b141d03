// Structural similarity (Wang et al. 2004; PAPER.md §3.9) of maps a and b of N elements, windowed
// moments by blur.wgsl.
//
//   moments   m = (a, b, a² + b², ab), stored (N, 4)
//             da += dm₀ + 2a dm₂ + b dm₃,  db += dm₁ + 2b dm₂ + a dm₃
//   loss      l = 1 - S,  S = (2 μa μb + C1)(2 σab + C2) / ((μa² + μb² + C1)(σa² + σb² + C2))
//             from windowed moments m: μa = m₀, μb = m₁, σa² + σb² = m₂ - μa² - μb²,
//             σab = m₃ - μa μb
//
// C1 = 0.01², C2 = 0.03² for values in 0..1.
//
// Header (go doc ./shaders): Invocation.

const SIZE: u32 = 64u;
const C1: f32 = 0.0001;
const C2: f32 = 0.0009;

struct Params {
  n: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> moments: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> dmoments: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> dx: array<f32>; // of a, or of b

@group(0) @binding(1) var<storage, read> windowed: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> loss: array<f32>;
@group(0) @binding(2) var<storage, read> dloss: array<f32>;
@group(0) @binding(3) var<storage, read_write> dwindowed: array<vec4<f32>>;

// Factors of S = l c / (p q).
struct Factors {
  l: f32,
  c: f32,
  p: f32,
  q: f32,
}

fn factors(m: vec4<f32>) -> Factors {
  let squares = m.x * m.x + m.y * m.y;
  return Factors(2.0 * m.x * m.y + C1, 2.0 * (m.w - m.x * m.y) + C2, squares + C1, m.z - squares + C2);
}

@compute @workgroup_size(SIZE)
fn ssim_moments_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= params.n) { return; }
  let va = a[i];
  let vb = b[i];
  moments[i] = vec4<f32>(va, vb, va * va + vb * vb, va * vb);
}

@compute @workgroup_size(SIZE)
fn ssim_moments_backward_a(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= params.n) { return; }
  let d = dmoments[i];
  dx[i] = select(dx[i], 0.0, FRESH) + d.x + 2.0 * a[i] * d.z + b[i] * d.w;
}

@compute @workgroup_size(SIZE)
fn ssim_moments_backward_b(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= params.n) { return; }
  let d = dmoments[i];
  dx[i] = select(dx[i], 0.0, FRESH) + d.y + 2.0 * b[i] * d.z + a[i] * d.w;
}

@compute @workgroup_size(SIZE)
fn ssim_loss_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= params.n) { return; }
  let f = factors(windowed[i]);
  loss[i] = 1.0 - f.l * f.c / (f.p * f.q);
}

@compute @workgroup_size(SIZE)
fn ssim_loss_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= params.n) { return; }
  let m = windowed[i];
  let f = factors(m);
  let g = -dloss[i] / (f.p * f.q); // by l c
  let s = f.l * f.c;
  // S as a function of l, c, p, q; each of those as a function of the moments.
  let by_l = g * f.c;
  let by_c = g * f.l;
  let by_p = -g * s / f.p;
  let by_q = -g * s / f.q;
  let means = 2.0 * (by_l - by_c) * m.yx + 2.0 * (by_p - by_q) * m.xy;
  dwindowed[i] = select(dwindowed[i], vec4<f32>(), FRESH) + vec4<f32>(means, by_q, 2.0 * by_c);
}
