// Batch normalisation (Ioffe & Szegedy 2015) of x (rows, C), rows = B H W, optionally followed by ReLU.
//
//   training:   μ, σ² over the rows;  running mean and variance move by momentum, the variance unbiased, as in PyTorch
//   inference:  μ, σ² are the running ones
//   r = 1 / sqrt(σ² + eps)     x̂ = (x - μ) r     y = x̂ scale + bias, or max(0, that)
//
//   dbias += Σ dy     dscale += Σ dy x̂     (dy counted where y > 0, if there is a ReLU)
//   dx += scale r (dy - Σ dy / rows - x̂ Σ dy x̂ / rows) in training,  scale r dy in inference
//
// Rows are cut into interleaved chunks (reduce.wgsl); an invocation keeps its channel. A chunk sums x - k and (x - k)² about
// its own first element k, which lies within sqrt(n - 1) deviations of the mean of n, so little cancels; chunks are merged by
// Chan et al. 1983.

alias real = f32; // what storage holds; f16 where a plan asks for it
const SIZE: u32 = 64u;

struct Params {
  rows: u32,
  channels: u32,
  chunks: u32,
  relu: u32,     // 1: followed by ReLU
  training: u32, // 1: statistics of the batch
  eps: f32,
  momentum: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>; // (rows, C)
// statistics of the batch
@group(0) @binding(2) var<storage, read_write> moments: array<f32>; // (2, chunks, C): mean, Σ (x - mean)²
@group(0) @binding(1) var<storage, read> chunk_moments: array<f32>; // the same
@group(0) @binding(2) var<storage, read_write> saved: array<f32>; // (2, C): μ, r
@group(0) @binding(3) var<storage, read_write> moving_mean: array<f32>; // (C)
@group(0) @binding(4) var<storage, read_write> moving_variance: array<f32>;
// running statistics
@group(0) @binding(1) var<storage, read> running_mean: array<real>;
@group(0) @binding(3) var<storage, read> running_variance: array<real>;
// forward
@group(0) @binding(2) var<storage, read> statistics: array<f32>; // (2, C)
@group(0) @binding(3) var<storage, read> scale: array<real>; // (C)
@group(0) @binding(4) var<storage, read> bias: array<real>;
@group(0) @binding(5) var<storage, read_write> y: array<real>;
// forward in inference
@group(0) @binding(1) var<storage, read_write> scale_shift_out: array<real>; // (2, C): r scale, bias - μ r scale
@group(0) @binding(2) var<storage, read> scale_shift: array<real>; // the same
@group(0) @binding(3) var<storage, read_write> shifted: array<real>; // y
// backward; bindings 1 to 4 as in forward
@group(0) @binding(5) var<storage, read> dy: array<real>;
@group(0) @binding(6) var<storage, read_write> partials: array<f32>; // (2, chunks, C): Σ dy x̂, Σ dy
@group(0) @binding(1) var<storage, read> chunk_sums: array<f32>; // the same
@group(0) @binding(2) var<storage, read_write> sums: array<f32>; // (2, C)
@group(0) @binding(3) var<storage, read_write> dscale: array<f32>;
@group(0) @binding(4) var<storage, read_write> dbias: array<f32>;
@group(0) @binding(6) var<storage, read> totals: array<f32>; // (2, C)
@group(0) @binding(7) var<storage, read_write> dx: array<real>;

@compute @workgroup_size(SIZE)
fn batch_norm_partial(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let step = params.chunks * params.channels;
  if (i >= step) { return; }
  let k = f32(x[i]);
  var n = 0.0;
  var sum = 0.0;
  var squares = 0.0;
  for (var at = i; at < params.rows * params.channels; at += step) {
    let d = f32(x[at]) - k;
    n += 1.0;
    sum += d;
    squares += d * d;
  }
  moments[i] = k + sum / n;
  moments[step + i] = max(0.0, squares - sum * sum / n);
}

// rows in chunk p
fn chunk_rows(p: u32) -> f32 {
  return f32((params.rows - p + params.chunks - 1u) / params.chunks);
}

@compute @workgroup_size(SIZE)
fn batch_norm_statistics(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                         @builtin(local_invocation_index) local: u32) {
  let c = (group.y * groups.x + group.x) * SIZE + local;
  if (c >= params.channels) { return; }
  let n = f32(params.rows);
  let k = chunk_moments[c];
  var sum = 0.0;
  for (var p = 0u; p < params.chunks; p++) { sum += chunk_rows(p) * (chunk_moments[p * params.channels + c] - k); }
  let mean = k + sum / n;
  var squares = 0.0;
  for (var p = 0u; p < params.chunks; p++) {
    let d = chunk_moments[p * params.channels + c] - mean;
    squares += chunk_moments[(params.chunks + p) * params.channels + c] + chunk_rows(p) * d * d;
  }
  saved[c] = mean;
  saved[params.channels + c] = inverseSqrt(squares / n + params.eps);
  moving_mean[c] += params.momentum * (mean - moving_mean[c]);
  moving_variance[c] += params.momentum * (squares / (n - 1.0) - moving_variance[c]);
}

@compute @workgroup_size(SIZE)
fn batch_norm_running(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
  let c = (group.y * groups.x + group.x) * SIZE + local;
  if (c >= params.channels) { return; }
  saved[c] = f32(running_mean[c]);
  saved[params.channels + c] = inverseSqrt(f32(running_variance[c]) + params.eps);
}

@compute @workgroup_size(SIZE)
fn batch_norm_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let step = params.chunks * params.channels;
  if (i >= step) { return; }
  let c = i % params.channels;
  let mean = statistics[c];
  let gain = statistics[params.channels + c] * f32(scale[c]);
  let shift = f32(bias[c]);
  for (var at = i; at < params.rows * params.channels; at += step) {
    let v = (f32(x[at]) - mean) * gain + shift;
    y[at] = real(select(v, 0.0, params.relu == 1u && v <= 0.0)); // a NaN passes
  }
}

@compute @workgroup_size(SIZE)
fn batch_norm_scale_shift(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                          @builtin(local_invocation_index) local: u32) {
  let c = (group.y * groups.x + group.x) * SIZE + local;
  if (c >= params.channels) { return; }
  let gain = statistics[params.channels + c] * f32(scale[c]);
  scale_shift_out[c] = real(gain);
  scale_shift_out[params.channels + c] = real(f32(bias[c]) - statistics[c] * gain);
}

@compute @workgroup_size(SIZE)
fn scale_shift_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                       @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let step = params.chunks * params.channels;
  if (i >= step) { return; }
  let gain = f32(scale_shift[i % params.channels]);
  let shift = f32(scale_shift[params.channels + i % params.channels]);
  for (var at = i; at < params.rows * params.channels; at += step) {
    let v = f32(x[at]) * gain + shift;
    shifted[at] = real(select(v, 0.0, params.relu == 1u && v <= 0.0)); // a NaN passes
  }
}

@compute @workgroup_size(SIZE)
fn batch_norm_backward_partial(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                               @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let step = params.chunks * params.channels;
  if (i >= step) { return; }
  let c = i % params.channels;
  let mean = statistics[c];
  let r = statistics[params.channels + c];
  let gain = r * f32(scale[c]);
  let shift = f32(bias[c]);
  var a = 0.0;
  var b = 0.0;
  for (var at = i; at < params.rows * params.channels; at += step) {
    let d = f32(x[at]) - mean;
    let g = select(f32(dy[at]), 0.0, params.relu == 1u && d * gain + shift <= 0.0);
    a += g * d;
    b += g;
  }
  partials[i] = a * r;
  partials[step + i] = b;
}

@compute @workgroup_size(SIZE)
fn batch_norm_backward_sums(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                            @builtin(local_invocation_index) local: u32) {
  let c = (group.y * groups.x + group.x) * SIZE + local;
  if (c >= params.channels) { return; }
  let step = params.chunks * params.channels;
  var a = 0.0;
  var b = 0.0;
  for (var at = c; at < step; at += params.channels) {
    a += chunk_sums[at];
    b += chunk_sums[step + at];
  }
  sums[c] = a;
  sums[params.channels + c] = b;
  dscale[c] += a;
  dbias[c] += b;
}

@compute @workgroup_size(SIZE)
fn batch_norm_backward_x(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                         @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let step = params.chunks * params.channels;
  if (i >= step) { return; }
  let c = i % params.channels;
  let n = f32(params.rows);
  let mean = statistics[c];
  let r = statistics[params.channels + c];
  let gain = r * f32(scale[c]);
  let shift = f32(bias[c]);
  let slope = select(0.0, r * totals[c] / n, params.training == 1u);
  let level = select(0.0, totals[params.channels + c] / n, params.training == 1u);
  for (var at = i; at < params.rows * params.channels; at += step) {
    let d = f32(x[at]) - mean;
    let g = select(f32(dy[at]), 0.0, params.relu == 1u && d * gain + shift <= 0.0);
    dx[at] = real(f32(dx[at]) + gain * (g - level - d * slope));
  }
}
