// What is done rater by rater to maps (B, P, M, K), P pixels (PAPER.md §3.3, §3.8).
//
//   shuffle   y[b,p,m,k] = scale[m] x[b,p,order[m],k] + offset[m]     no gradient: weights are detached
//   weigh     y[b,p,m,k] = x[b,p,m,k] share[b,m,k]                    dx += dy share
//   disputed  y[b,p,k] = 1 where two raters who labelled differ, else 0
//
// order (M) u32 is a permutation, scale and offset (M); share and valid (B, M, K).

const SIZE: u32 = 64u;

struct Params {
  batch: u32,
  pixels: u32,
  raters: u32,
  classes: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>; // backward: dy
@group(0) @binding(2) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> share: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // backward: dx

@group(0) @binding(3) var<storage, read> scale: array<f32>;
@group(0) @binding(4) var<storage, read> offset: array<f32>;
@group(0) @binding(5) var<storage, read_write> shuffled: array<f32>;

// Index in (B, M, K) of element i of (B, P, M, K).
fn label_of(i: u32) -> u32 {
  let labels = params.raters * params.classes;
  return i / (labels * params.pixels) * labels + i % labels;
}

@compute @workgroup_size(SIZE)
fn shuffle_raters(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                  @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.raters * params.classes) { return; }
  let rater = i / params.classes % params.raters;
  let source = i - rater * params.classes + order[rater] * params.classes;
  shuffled[i] = scale[rater] * x[source] + offset[rater];
}

@compute @workgroup_size(SIZE)
fn weigh_raters_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                        @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.raters * params.classes) { return; }
  y[i] = x[i] * share[label_of(i)];
}

@compute @workgroup_size(SIZE)
fn weigh_raters_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                         @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.raters * params.classes) { return; }
  y[i] += x[i] * share[label_of(i)];
}

@compute @workgroup_size(SIZE)
fn disputed(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.classes) { return; }
  let pixel = i / params.classes;
  let first = pixel / params.pixels * params.raters * params.classes + i % params.classes;
  var least = 2.0;
  var most = -1.0;
  for (var m = 0u; m < params.raters; m++) {
    if (share[first + m * params.classes] > 0.0) {
      let label = x[(pixel * params.raters + m) * params.classes + i % params.classes];
      least = min(least, label);
      most = max(most, label);
    }
  }
  y[i] = select(0.0, 1.0, most > least);
}
