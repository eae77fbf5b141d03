// The confidence ℓ under which labels are fused (PAPER.md §3.3), from DivP's estimate z̃ (B, P, M,
// K), P pixels.
//
//   likelihood  ℓ = w (z log z̃ + (1 - z) log(1 - z̃))     dz̃ += w (z - z̃) / (z̃ (1 - z̃)) dℓ,
//     w = valid[b,m,k] disputed[b,p,k]
//   normalise   ℓ = n[b,p,m,k] / d[b,p,k] where d > 1e-12, else 0      dn = dℓ / d, the same of dℓ
//
// z (B, P, M, K) are labels; disputed and d (B, P, K). z̃ must lie inside (0, 1): it comes
// clamped. Below raters_common.wgsl.

@group(0) @binding(1) var<storage, read> x: array<stored>; // z̃, or n
@group(0) @binding(2) var<storage, read> fused: array<stored>; // disputed; d
@group(0) @binding(3) var<storage, read> z: array<stored>;
@group(0) @binding(4) var<storage, read> valid: array<real>;

@group(0) @binding(5) var<storage, read_write> likelihood: array<stored>;
@group(0) @binding(5) var<storage, read> dlikelihood: array<stored>;
@group(0) @binding(6) var<storage, read_write> likelihood_dx: array<stored>;

@group(0) @binding(3) var<storage, read_write> y: array<stored>;

// The fused map of a block.
fn results(block: u32) -> array<f32, RESULTS> {
  var all: array<f32, RESULTS>;
  for (var q = 0u; q < RESULT_QUADS; q++) {
    let v = floats(fused[block * RESULT_QUADS + q]);
    for (var n = 0u; n < WIDTH; n++) { all[q * WIDTH + n] = lane(v, n); }
  }
  return all;
}

// The values of the fused map that belong to the values of quad q.
fn beside(q: u32, all: array<f32, RESULTS>) -> floats {
  var map = all;
  var v = floats();
  for (var n = 0u; n < WIDTH; n++) { v = with_lane(v, n, map[result_of(q * WIDTH + n)]); }
  return v;
}

// w of quad q.
fn weights(q: u32, all: array<f32, RESULTS>, image: u32) -> floats {
  var v = floats();
  for (var n = 0u; n < WIDTH; n++) { v = with_lane(v, n, f32(valid[label_of(q * WIDTH + n, image)])); }
  return v * beside(q, all);
}

@compute @workgroup_size(SIZE)
fn likelihood_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= blocks()) { return; }
  let block = id.group.z * blocks() + i;
  let disputed = results(block);
  for (var q = 0u; q < QUADS; q++) {
    let p = floats(x[block * QUADS + q]);
    let label = floats(z[block * QUADS + q]);
    likelihood[block * QUADS + q] = stored(weights(q, disputed, id.group.z) * (label * log(p) + (1.0 - label) * log(1.0 - p)));
  }
}

@compute @workgroup_size(SIZE)
fn likelihood_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= blocks()) { return; }
  let block = id.group.z * blocks() + i;
  let disputed = results(block);
  for (var q = 0u; q < QUADS; q++) {
    let at = block * QUADS + q;
    let p = floats(x[at]);
    let slope = weights(q, disputed, id.group.z) * (floats(z[at]) - p) / (p * (1.0 - p));
    likelihood_dx[at] = stored(select(floats(likelihood_dx[at]), floats(), FRESH) + slope * floats(dlikelihood[at]));
  }
}

@compute @workgroup_size(SIZE)
fn normalise(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= blocks()) { return; }
  let block = id.group.z * blocks() + i;
  let sums = results(block);
  for (var q = 0u; q < QUADS; q++) {
    let d = beside(q, sums);
    y[block * QUADS + q] = stored(select(floats(), floats(x[block * QUADS + q]) / d, d > floats(1e-12)));
  }
}
