// Fusion of the raters' labels under confidences (PAPER.md §3.3, the paper's ⊙).
//
//   y[b,p,k] = Σ_m s_m z[b,p,m,k],   s_m = v[b,m,k] e^ℓ[b,p,m,k] / Σ_j v[b,j,k] e^ℓ[b,p,j,k]
//
// ℓ, z (B, P, M, K); v (B, M, K) is 1 where rater m labelled structure k of image b, else 0, and a missing rater drops out;
// y (B, P, K), P pixels. A structure that nobody labelled gives 0.
//
//   dz += s_m dy        dℓ += s_m (z_m - y) dy

const SIZE: u32 = 64u;

struct Params {
  batch: u32,
  pixels: u32,
  raters: u32,
  classes: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> confidence: array<f32>; // ℓ
@group(0) @binding(2) var<storage, read> z: array<f32>;
@group(0) @binding(3) var<storage, read> valid: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<storage, read> dy: array<f32>;
@group(0) @binding(5) var<storage, read_write> dz: array<f32>;
@group(0) @binding(5) var<storage, read_write> dconfidence: array<f32>;

struct Softmax {
  largest: f32,
  sum: f32,
}

// Largest ℓ over the raters who labelled, and Σ e^(ℓ - largest).
fn softmax(label: u32, first: u32) -> Softmax {
  var largest = -3.0e38;
  for (var m = 0u; m < params.raters; m++) {
    if (valid[label + m * params.classes] > 0.0) { largest = max(largest, confidence[first + m * params.classes]); }
  }
  var sum = 0.0;
  for (var m = 0u; m < params.raters; m++) {
    if (valid[label + m * params.classes] > 0.0) { sum += exp(confidence[first + m * params.classes] - largest); }
  }
  return Softmax(largest, sum);
}

fn fused(label: u32, first: u32, s: Softmax) -> f32 {
  var total = 0.0;
  for (var m = 0u; m < params.raters; m++) {
    if (valid[label + m * params.classes] > 0.0) {
      let j = first + m * params.classes;
      total += exp(confidence[j] - s.largest) * z[j];
    }
  }
  return select(0.0, total / s.sum, s.sum > 0.0);
}

@compute @workgroup_size(SIZE)
fn fuse_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.classes) { return; }
  let pixel = i / params.classes;
  let label = pixel / params.pixels * params.raters * params.classes + i % params.classes;
  let first = pixel * params.raters * params.classes + i % params.classes;
  y[i] = fused(label, first, softmax(label, first));
}

@compute @workgroup_size(SIZE)
fn fuse_backward_z(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                   @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.classes) { return; }
  let pixel = i / params.classes;
  let label = pixel / params.pixels * params.raters * params.classes + i % params.classes;
  let first = pixel * params.raters * params.classes + i % params.classes;
  let s = softmax(label, first);
  for (var m = 0u; m < params.raters; m++) {
    if (valid[label + m * params.classes] > 0.0) {
      let j = first + m * params.classes;
      dz[j] += exp(confidence[j] - s.largest) / s.sum * dy[i];
    }
  }
}

@compute @workgroup_size(SIZE)
fn fuse_backward_confidence(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                            @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.classes) { return; }
  let pixel = i / params.classes;
  let label = pixel / params.pixels * params.raters * params.classes + i % params.classes;
  let first = pixel * params.raters * params.classes + i % params.classes;
  let s = softmax(label, first);
  let value = fused(label, first, s);
  for (var m = 0u; m < params.raters; m++) {
    if (valid[label + m * params.classes] > 0.0) {
      let j = first + m * params.classes;
      dconfidence[j] += exp(confidence[j] - s.largest) / s.sum * (z[j] - value) * dy[i];
    }
  }
}
