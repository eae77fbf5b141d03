// Binary cross-entropy of probabilities p against targets t, element by element (PAPER.md §3.8,
// §3.12).
//
//   l = -(t log p̂ + (1 - t) log(1 - p̂)),  p̂ = clamp(p, low, 1 - low)      dp += (p̂ - t) / (p̂
//     (1 - p̂)) dl
//
// The gradient passes the clamp: a saturated p is still pulled back. No gradient by t. N elements
// of any shape.
//
// Header (go doc ./shaders): Invocation, stored, floats, WIDTH.

const SIZE: u32 = 64u;

struct Params {
  n: u32,
  low: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> p: array<stored>;
@group(0) @binding(2) var<storage, read> t: array<stored>;
@group(0) @binding(3) var<storage, read_write> l: array<stored>;
@group(0) @binding(3) var<storage, read> dl: array<stored>;
@group(0) @binding(4) var<storage, read_write> dp: array<stored>;

fn clamped(i: u32) -> floats { return clamp(floats(p[i]), floats(params.low), floats(1.0 - params.low)); }

@compute @workgroup_size(SIZE)
fn cross_entropy_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let q = clamped(i);
  let truth = floats(t[i]);
  l[i] = stored(-(truth * log(q) + (1.0 - truth) * log(1.0 - q)));
}

@compute @workgroup_size(SIZE)
fn cross_entropy_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let q = clamped(i);
  dp[i] = stored(select(floats(dp[i]), floats(), FRESH) + (q - floats(t[i])) / (q * (1.0 - q)) * floats(dl[i]));
}
