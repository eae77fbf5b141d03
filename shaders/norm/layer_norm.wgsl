// Layer normalisation (Ba et al. 2016) of every row of x (rows, C).
//
//   μ = mean_c x     r = 1 / sqrt(mean_c (x - μ)² + eps)     x̂ = (x - μ) r     y = x̂ scale + bias
//   dx += r (g - mean_c g - x̂ mean_c (g x̂)),  g = dy scale
//   dscale += Σ_rows dy x̂     dbias += Σ_rows dy
//
// In the row kernels an invocation has a row. The sums over rows are taken in chunks of interleaved
// rows (reduce.wgsl).
//
// Header: Invocation (number(id, SIZE) is the index of its element) and real (a number in storage:
// f32; f16 in plans of halves).

const SIZE: u32 = 64u;

struct Params {
  rows: u32,
  channels: u32,
  chunks: u32,
  eps: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
// forward
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read> scale: array<real>;
@group(0) @binding(3) var<storage, read> bias: array<real>;
@group(0) @binding(4) var<storage, read_write> y: array<real>;
@group(0) @binding(5) var<storage, read_write> saved: array<f32>; // (2, rows): μ, r
// backward; binding 1 is x
@group(0) @binding(2) var<storage, read> dy: array<real>;
@group(0) @binding(3) var<storage, read> statistics: array<f32>; // (2, rows)
@group(0) @binding(4) var<storage, read> gain: array<real>; // scale
@group(0) @binding(5) var<storage, read_write> dx: array<real>;
// (2, chunks, C): of dy x̂, of dy
@group(0) @binding(4) var<storage, read_write> partials: array<f32>;
@group(0) @binding(1) var<storage, read> sums: array<f32>; // the same
@group(0) @binding(2) var<storage, read_write> dscale: array<f32>;
@group(0) @binding(3) var<storage, read_write> dbias: array<f32>;

@compute @workgroup_size(SIZE)
fn layer_norm_forward(id: Invocation) {
  let row = number(id, SIZE);
  if (row >= params.rows) { return; }
  let channels = params.channels;
  let first = row * channels;
  let n = f32(channels);
  var sum = 0.0;
  for (var c = 0u; c < channels; c++) { sum += f32(x[first + c]); }
  let mean = sum / n;
  var squares = 0.0;
  for (var c = 0u; c < channels; c++) {
    let d = f32(x[first + c]) - mean;
    squares += d * d;
  }
  let r = inverseSqrt(squares / n + params.eps);
  for (var c = 0u; c < channels; c++) { y[first + c] = real((f32(x[first + c]) - mean) * r * f32(scale[c]) + f32(bias[c])); }
  saved[row] = mean;
  saved[params.rows + row] = r;
}

@compute @workgroup_size(SIZE)
fn layer_norm_backward_x(id: Invocation) {
  let row = number(id, SIZE);
  if (row >= params.rows) { return; }
  let channels = params.channels;
  let first = row * channels;
  let n = f32(channels);
  let mean = statistics[row];
  let r = statistics[params.rows + row];
  var a = 0.0;
  var b = 0.0;
  for (var c = 0u; c < channels; c++) {
    let g = f32(dy[first + c]) * f32(gain[c]);
    a += g;
    b += g * (f32(x[first + c]) - mean);
  }
  a = a / n;
  b = b * r * r / n;
  for (var c = 0u; c < channels; c++) {
    dx[first + c] = real(f32(dx[first + c]) + r * (f32(dy[first + c]) * f32(gain[c]) - a - (f32(x[first + c]) - mean) * b));
  }
}

@compute @workgroup_size(SIZE)
fn layer_norm_backward_partial(id: Invocation) {
  let i = number(id, SIZE);
  let step = params.chunks * params.channels;
  if (i >= step) { return; }
  var a = 0.0;
  var b = 0.0;
  let chunk = i / params.channels;
  let chunks = params.chunks;
  let turns = (params.rows - chunk + chunks - 1u) / chunks;
  for (var turn = 0u; turn < turns; turn++) {
    let row = chunk + turn * chunks;
    let at = i + turn * step;
    let g = f32(dy[at]);
    a += g * (f32(x[at]) - statistics[row]) * statistics[params.rows + row];
    b += g;
  }
  partials[i] = a;
  partials[step + i] = b;
}

@compute @workgroup_size(SIZE)
fn layer_norm_backward_parameters(id: Invocation) {
  let c = number(id, SIZE);
  if (c >= params.channels) { return; }
  let channels = params.channels;
  let chunks = params.chunks;
  let step = chunks * channels;
  var a = 0.0;
  var b = 0.0;
  for (var p = 0u; p < chunks; p++) {
    let at = p * channels + c;
    a += sums[at];
    b += sums[step + at];
  }
  dscale[c] += a;
  dbias[c] += b;
}
