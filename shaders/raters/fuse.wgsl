// Fusion of the raters' labels under confidences (PAPER.md §3.3, the paper's ⊙).
//
//   y[b,p,k] = Σ_m s_m z[b,p,m,k],   s_m = v[b,m,k] e^ℓ[b,p,m,k] / Σ_j v[b,j,k] e^ℓ[b,p,j,k]
//
// ℓ, z (B, P, M, K); v (B, M, K) is 1 where rater m labelled structure k of image b, else 0, and a
// missing rater drops out; y (B, P, K), P pixels. A structure that nobody labelled gives 0.
//
//   dz += s_m dy        dℓ += s_m (z_m - y) dy
//
// Below raters_common.wgsl.

const NOBODY: f32 = -1.0e30; // stands for ℓ of raters who did not label

@group(0) @binding(1) var<storage, read> confidence: array<stored>; // ℓ
@group(0) @binding(2) var<storage, read> z: array<stored>;
@group(0) @binding(3) var<storage, read> valid: array<real>;
@group(0) @binding(4) var<storage, read_write> y: array<stored>;
@group(0) @binding(4) var<storage, read> dy: array<stored>;
@group(0) @binding(5) var<storage, read_write> dz: array<stored>;
@group(0) @binding(5) var<storage, read_write> dconfidence: array<stored>;

// s of a block.
fn shares(block: u32, image: u32) -> array<f32, VALUES> {
  var s: array<f32, VALUES>;
  for (var q = 0u; q < QUADS; q++) {
    let l = floats(confidence[block * QUADS + q]);
    for (var n = 0u; n < WIDTH; n++) {
      let j = q * WIDTH + n;
      s[j] = select(NOBODY, lane(l, n), f32(valid[label_of(j, image)]) > 0.0);
    }
  }
  for (var r = 0u; r < RESULTS; r++) {
    let first = r / CLASSES * LABELS + r % CLASSES;
    var largest = NOBODY;
    for (var m = 0u; m < RATERS; m++) { largest = max(largest, s[first + m * CLASSES]); }
    var sum = 0.0;
    for (var m = 0u; m < RATERS; m++) {
      let e = exp(s[first + m * CLASSES] - largest);
      s[first + m * CLASSES] = e;
      sum += e;
    }
    let scale = select(0.0, 1.0 / sum, largest > NOBODY);
    for (var m = 0u; m < RATERS; m++) { s[first + m * CLASSES] *= scale; }
  }
  return s;
}

// dy of a block.
fn gradients(block: u32) -> array<f32, RESULTS> {
  var d: array<f32, RESULTS>;
  for (var q = 0u; q < RESULT_QUADS; q++) {
    let v = floats(dy[block * RESULT_QUADS + q]);
    for (var n = 0u; n < WIDTH; n++) { d[q * WIDTH + n] = lane(v, n); }
  }
  return d;
}

// y of a block with these shares.
fn fused(block: u32, s: array<f32, VALUES>) -> array<f32, RESULTS> {
  var share = s;
  var sums: array<f32, RESULTS>;
  for (var q = 0u; q < QUADS; q++) {
    let labels = floats(z[block * QUADS + q]);
    for (var n = 0u; n < WIDTH; n++) {
      let j = q * WIDTH + n;
      sums[result_of(j)] += share[j] * lane(labels, n);
    }
  }
  return sums;
}

@compute @workgroup_size(SIZE)
fn fuse_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= blocks()) { return; }
  let block = id.group.z * blocks() + i;
  var sums = fused(block, shares(block, id.group.z));
  for (var q = 0u; q < RESULT_QUADS; q++) {
    var v = floats();
    for (var n = 0u; n < WIDTH; n++) { v = with_lane(v, n, sums[q * WIDTH + n]); }
    y[block * RESULT_QUADS + q] = stored(v);
  }
}

@compute @workgroup_size(SIZE)
fn fuse_backward_z(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= blocks()) { return; }
  let block = id.group.z * blocks() + i;
  var s = shares(block, id.group.z);
  var d = gradients(block);
  for (var q = 0u; q < QUADS; q++) {
    var v = select(floats(dz[block * QUADS + q]), floats(), FRESH);
    for (var n = 0u; n < WIDTH; n++) {
      let j = q * WIDTH + n;
      v = with_lane(v, n, lane(v, n) + s[j] * d[result_of(j)]);
    }
    dz[block * QUADS + q] = stored(v);
  }
}

@compute @workgroup_size(SIZE)
fn fuse_backward_confidence(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= blocks()) { return; }
  let block = id.group.z * blocks() + i;
  var s = shares(block, id.group.z);
  var d = gradients(block);
  var sums = fused(block, s);
  for (var q = 0u; q < QUADS; q++) {
    let labels = floats(z[block * QUADS + q]);
    var v = select(floats(dconfidence[block * QUADS + q]), floats(), FRESH);
    for (var n = 0u; n < WIDTH; n++) {
      let j = q * WIDTH + n;
      let r = result_of(j);
      v = with_lane(v, n, lane(v, n) + s[j] * (lane(labels, n) - sums[r]) * d[r]);
    }
    dconfidence[block * QUADS + q] = stored(v);
  }
}
