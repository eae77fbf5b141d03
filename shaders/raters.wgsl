// What is done rater by rater to maps (B, P, M, K), P pixels (PAPER.md §3.3, §3.8).
//
//   permute   y[b,p,m,k] = x[b,p,order[b,m],k]           dx[b,p,order[b,m],k] += dy[b,p,m,k]
//   weigh     y[b,p,m,k] = x[b,p,m,k] share[b,m]         dx += dy share
//   disputed  y[b,p,k] = 1 where two raters who labelled differ, else 0
//
// order (B, M) u32 is a permutation for each image; share and valid (B, M).

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

@compute @workgroup_size(SIZE)
fn permute_raters_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                          @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.raters * params.classes) { return; }
  let rater = i / params.classes % params.raters;
  let pixel = i / (params.classes * params.raters);
  let from_rater = order[pixel / params.pixels * params.raters + rater];
  y[i] = x[(pixel * params.raters + from_rater) * params.classes + i % params.classes];
}

@compute @workgroup_size(SIZE)
fn permute_raters_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                           @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.raters * params.classes) { return; }
  let rater = i / params.classes % params.raters;
  let pixel = i / (params.classes * params.raters);
  let to_rater = order[pixel / params.pixels * params.raters + rater];
  y[(pixel * params.raters + to_rater) * params.classes + i % params.classes] += x[i];
}

@compute @workgroup_size(SIZE)
fn weigh_raters_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                        @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.raters * params.classes) { return; }
  let rater = i / params.classes % params.raters;
  y[i] = x[i] * share[i / (params.classes * params.raters * params.pixels) * params.raters + rater];
}

@compute @workgroup_size(SIZE)
fn weigh_raters_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                         @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.raters * params.classes) { return; }
  let rater = i / params.classes % params.raters;
  y[i] += x[i] * share[i / (params.classes * params.raters * params.pixels) * params.raters + rater];
}

@compute @workgroup_size(SIZE)
fn disputed(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.batch * params.pixels * params.classes) { return; }
  let pixel = i / params.classes;
  let image = pixel / params.pixels;
  var least = 2.0;
  var most = -1.0;
  for (var m = 0u; m < params.raters; m++) {
    if (share[image * params.raters + m] > 0.0) {
      let label = x[(pixel * params.raters + m) * params.classes + i % params.classes];
      least = min(least, label);
      most = max(most, label);
    }
  }
  y[i] = select(0.0, 1.0, most > least);
}
