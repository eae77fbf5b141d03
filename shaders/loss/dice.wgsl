// Dice semimetric loss of probabilities p against soft targets t (Wang et al. 2023), maps (B, P, K)
// of P pixels, one loss for each of B·K.
//
//   dice_partial   partials[c, b, k] = (Σ_j |p - t|, Σ_j p + t) over pixels c + j chunks;
//     reduce_rows_write adds them up to sums (B, K, 2)
//   dice_forward   l = n / (d + 1) of sums (n, d)            dp += dl (sign(p - t) - l) / (d + 1)
//
// Sums are in a fixed order, so that they repeat bit by bit. No gradient by t.
//
// Header (go doc ./shaders): Invocation.

const SIZE: u32 = 64u;

struct Params {
  maps: u32, // B·K
  pixels: u32,
  classes: u32,
  chunks: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> p: array<f32>;
@group(0) @binding(2) var<storage, read> t: array<f32>;
@group(0) @binding(3) var<storage, read_write> partials: array<vec2<f32>>;

@group(0) @binding(1) var<storage, read> totals: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> l: array<f32>;

@group(0) @binding(3) var<storage, read> sums: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read> dl: array<f32>;
@group(0) @binding(5) var<storage, read_write> dp: array<f32>;

fn loss(s: vec2<f32>) -> f32 { return s.x / (s.y + 1.0); }

@compute @workgroup_size(SIZE)
fn dice_partial(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= params.chunks * params.maps) { return; }
  let chunk = i / params.maps;
  let map = i % params.maps;
  let first = map / params.classes * params.pixels * params.classes + map % params.classes;
  let pixels = params.pixels;
  let chunks = params.chunks;
  let turns = (pixels - chunk + chunks - 1u) / chunks;
  var sum = vec2<f32>();
  for (var turn = 0u; turn < turns; turn++) {
    let at = first + (chunk + turn * chunks) * params.classes;
    sum += vec2<f32>(abs(p[at] - t[at]), p[at] + t[at]);
  }
  partials[i] = sum;
}

@compute @workgroup_size(SIZE)
fn dice_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= params.maps) { return; }
  l[i] = loss(totals[i]);
}

@compute @workgroup_size(SIZE)
fn dice_backward(id: Invocation) {
  let i = number(id, SIZE);
  let row = params.pixels * params.classes;
  if (i >= params.maps / params.classes * row) { return; }
  let map = i / row * params.classes + i % params.classes;
  let s = sums[map];
  dp[i] = select(dp[i], 0.0, FRESH) + dl[map] * (sign(p[i] - t[i]) - loss(s)) / (s.y + 1.0);
}
