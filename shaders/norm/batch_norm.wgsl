// Batch normalisation (Ioffe & Szegedy 2015) of x (rows, C), rows = B H W, optionally followed by
// ReLU.
//
//   training:   μ, σ² over the rows;  running mean and variance move by momentum, the variance
//     unbiased, as in PyTorch
//   inference:  μ, σ² are the running ones
//   r = 1 / sqrt(σ² + eps)     x̂ = (x - μ) r     y = x̂ scale + bias, or max(0, that)
//
//   over several ranks: each computes the means of d = x - running mean and of d². The mean m of the
//     former over the ranks and s of the latter give μ = running mean + m, σ² = s - m²
//
//   dbias += Σ dy     dscale += Σ dy x̂     (dy counted where y > 0, if there is a ReLU)
//   dx += scale r (dy - Σ dy / rows - x̂ Σ dy x̂ / rows) in training,  scale r dy in inference
//
// Rows are cut into interleaved chunks (reduce.wgsl). An invocation keeps its channel. A chunk of n
// rows sums x - k and (x - k)², k being its own first element. Little cancels, since k lies within
// sqrt(n - 1) deviations of the chunk's mean. Chunks are merged as in Chan et al. 1983. Channels
// are a multiple of WIDTH. If there are up to 4,096 rows, one dispatch does all, …_whole: a workgroup
// has SLICES chunks, all rows of its channels.
//
// Header: Invocation (number(id, SIZE) is the index of its element), stored and floats (what an
// invocation reads, and what it computes with: real4 and vec4<f32>, or real and f32), WIDTH (the
// numbers in these: 4 or 1) and SUMS (forward adds the summand to y before the ReLU).

const SIZE: u32 = 64u;

struct Params {
  rows: u32,
  channels: u32,
  chunks: u32,
  relu: u32,     // 1: followed by ReLU
  training: u32, // 1: statistics of the batch
  eps: f32,
  momentum: f32,
  ranks: u32, // over whose rows the statistics are taken
  sums: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<stored>; // (rows, C)
// statistics of the batch
// (2, chunks, C): mean, Σ (x - mean)²
@group(0) @binding(2) var<storage, read_write> moments: array<floats>;
@group(0) @binding(1) var<storage, read> chunk_moments: array<floats>; // the same
@group(0) @binding(2) var<storage, read_write> saved: array<floats>; // (2, C): μ, r
@group(0) @binding(3) var<storage, read_write> moving_mean: array<floats>; // (C)
@group(0) @binding(4) var<storage, read_write> moving_variance: array<floats>;
// statistics of the batches of several ranks; bindings 2 to 4 as above
// (2, C): means of d = x - moving_mean and of d²
@group(0) @binding(2) var<storage, read_write> own_power: array<floats>;
@group(0) @binding(1) var<storage, read> all_power: array<floats>; // the same over all ranks
@group(0) @binding(3) var<storage, read> near_mean: array<floats>; // moving_mean
// running statistics
@group(0) @binding(1) var<storage, read> running_mean: array<stored>;
@group(0) @binding(3) var<storage, read> running_variance: array<stored>;
// forward
@group(0) @binding(2) var<storage, read> statistics: array<floats>; // (2, C)
@group(0) @binding(3) var<storage, read> scale: array<stored>; // (C)
@group(0) @binding(4) var<storage, read> bias: array<stored>;
@group(0) @binding(5) var<storage, read> summand: array<stored>;
@group(0) @binding(6) var<storage, read_write> y: array<stored>;
// statistics and forward; bindings 1 to 4 as for the statistics
@group(0) @binding(5) var<storage, read> whole_scale: array<stored>;
@group(0) @binding(6) var<storage, read> whole_bias: array<stored>;
@group(0) @binding(7) var<storage, read> whole_summand: array<stored>;
@group(0) @binding(8) var<storage, read_write> whole_y: array<stored>;
// forward in inference
// (2, C): r scale, bias - μ r scale
@group(0) @binding(1) var<storage, read_write> scale_shift_out: array<stored>;
@group(0) @binding(2) var<storage, read> scale_shift: array<stored>; // the same
@group(0) @binding(3) var<storage, read_write> shifted: array<stored>; // y
// backward; bindings 1 to 4 as in forward
@group(0) @binding(5) var<storage, read> dy: array<stored>;
// (2, chunks, C): Σ dy x̂, Σ dy
@group(0) @binding(6) var<storage, read_write> partials: array<floats>;
@group(0) @binding(1) var<storage, read> chunk_sums: array<floats>; // the same
@group(0) @binding(2) var<storage, read_write> sums: array<floats>; // (2, C)
@group(0) @binding(3) var<storage, read_write> dscale: array<floats>;
@group(0) @binding(4) var<storage, read_write> dbias: array<floats>;
@group(0) @binding(6) var<storage, read> totals: array<floats>; // (2, C)
@group(0) @binding(7) var<storage, read_write> dx: array<stored>;
// the whole of it
@group(0) @binding(6) var<storage, read_write> whole_dscale: array<floats>;
@group(0) @binding(7) var<storage, read_write> whole_dbias: array<floats>;
@group(0) @binding(8) var<storage, read_write> whole_dx: array<stored>;

// passed is g, or 0 if a ReLU follows and y is not above 0. A NaN passes.
fn passed(g: floats, y: floats) -> floats { return select(g, select(g, floats(), y <= floats()), params.relu == 1u); }

struct Moments {
  mean: floats,
  squares: floats, // Σ (x - mean)²
}

// chunk_moments_of are the moments of the elements i, i + step, …
fn chunk_moments_of(i: u32, step: u32) -> Moments {
  let k = floats(x[i]);
  var n = 0.0;
  var sum = floats();
  var squares = floats();
  let end = params.rows * (params.channels / WIDTH);
  let turns = (end - i + step - 1u) / step;
  for (var turn = 0u; turn < turns; turn++) {
    let at = i + turn * step;
    let d = floats(x[at]) - k;
    n += 1.0;
    sum += d;
    squares += d * d;
  }
  return Moments(k + sum / n, max(floats(), squares - sum * sum / n));
}

@compute @workgroup_size(SIZE)
fn batch_norm_partial(id: Invocation) {
  let i = number(id, SIZE);
  let step = params.chunks * (params.channels / WIDTH);
  if (i >= step) { return; }
  let m = chunk_moments_of(i, step);
  moments[i] = m.mean;
  moments[step + i] = m.squares;
}

// chunk_rows is the number of rows of chunk p.
fn chunk_rows(p: u32) -> f32 {
  return f32((params.rows - p + params.chunks - 1u) / params.chunks);
}

// all_mean is the mean of channel c over all rows.
fn all_mean(c: u32) -> floats {
  let channels = params.channels / WIDTH;
  let k = chunk_moments[c];
  var sum = floats();
  for (var p = 0u; p < params.chunks; p++) { sum += chunk_rows(p) * (chunk_moments[p * channels + c] - k); }
  return k + sum / f32(params.rows);
}

// all_squares is Σ (x - mean)² of channel c over all rows.
fn all_squares(c: u32, mean: floats) -> floats {
  let channels = params.channels / WIDTH;
  var squares = floats();
  for (var p = 0u; p < params.chunks; p++) {
    let d = chunk_moments[p * channels + c] - mean;
    squares += chunk_moments[(params.chunks + p) * channels + c] + chunk_rows(p) * d * d;
  }
  return squares;
}

@compute @workgroup_size(SIZE)
fn batch_norm_own_power(id: Invocation) {
  let c = number(id, SIZE);
  let channels = params.channels / WIDTH;
  if (c >= channels) { return; }
  let mean = all_mean(c);
  let d = mean - near_mean[c];
  own_power[c] = d;
  own_power[channels + c] = all_squares(c, mean) / f32(params.rows) + d * d;
}

@compute @workgroup_size(SIZE)
fn batch_norm_all_statistics(id: Invocation) {
  let c = number(id, SIZE);
  let channels = params.channels / WIDTH;
  if (c >= channels) { return; }
  let n = f32(params.rows * params.ranks);
  let d = all_power[c];
  let variance = max(floats(), all_power[channels + c] - d * d);
  saved[c] = moving_mean[c] + d;
  saved[channels + c] = inverseSqrt(variance + params.eps);
  moving_mean[c] += params.momentum * d;
  moving_variance[c] += params.momentum * (variance * (n / (n - 1.0)) - moving_variance[c]);
}

// save saves the statistics of channel c, and moves the running ones.
fn save(c: u32, mean: floats, squares: floats) {
  let n = f32(params.rows);
  saved[c] = mean;
  saved[params.channels / WIDTH + c] = inverseSqrt(squares / n + params.eps);
  moving_mean[c] += params.momentum * (mean - moving_mean[c]);
  moving_variance[c] += params.momentum * (squares / (n - 1.0) - moving_variance[c]);
}

@compute @workgroup_size(SIZE)
fn batch_norm_statistics(id: Invocation) {
  let c = number(id, SIZE);
  if (c >= params.channels / WIDTH) { return; }
  let mean = all_mean(c);
  save(c, mean, all_squares(c, mean));
}

// A workgroup has PLACES channels or quads, and for each SLICES invocations with a chunk of rows.
const PLACES: u32 = 4u;
const SLICES: u32 = 64u;

var<workgroup> slices: array<array<floats, 2>, 256>; // of each invocation's chunk; in the end of its channel

struct Place {
  c: u32, // channel or quad
  chunk: u32,
  inside: bool,
  last: bool, // merges the chunks of its channel
}

fn place_of(group: u32, local: u32) -> Place {
  let c = group * PLACES + local % PLACES;
  let inside = c < params.channels / WIDTH;
  return Place(c, local / PLACES, inside && local / PLACES < params.chunks, inside && local < PLACES);
}

// whole_affine computes the statistics of a workgroup's channels. It returns the mean, and scale r.
fn whole_affine(at: Place, local: u32) -> array<floats, 2> {
  let channels = params.channels / WIDTH;
  let chunks = params.chunks;
  if (at.inside) {
    let m = chunk_moments_of(at.chunk * channels + at.c, chunks * channels);
    slices[local] = array<floats, 2>(m.mean, m.squares);
  }
  workgroupBarrier();
  if (at.last) {
    let k = slices[local][0];
    var sum = floats();
    for (var p = 0u; p < chunks; p++) { sum += chunk_rows(p) * (slices[p * PLACES + local][0] - k); }
    let mean = k + sum / f32(params.rows);
    var squares = floats();
    for (var p = 0u; p < chunks; p++) {
      let d = slices[p * PLACES + local][0] - mean;
      squares += slices[p * PLACES + local][1] + chunk_rows(p) * d * d;
    }
    save(at.c, mean, squares);
    slices[local] = array<floats, 2>(mean, inverseSqrt(squares / f32(params.rows) + params.eps) * floats(whole_scale[at.c]));
  }
  workgroupBarrier();
  return slices[local % PLACES];
}

@compute @workgroup_size(256)
fn batch_norm_whole(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let at = place_of(group.x, local);
  let affine = whole_affine(at, local);
  if (!at.inside) { return; }
  let shift = floats(whole_bias[at.c]);
  let channels = params.channels / WIDTH;
  let end = params.rows * channels;
  for (var i = at.chunk * channels + at.c; i < end; i += params.chunks * channels) {
    var v = (floats(x[i]) - affine[0]) * affine[1] + shift;
    if (SUMS) { v += floats(whole_summand[i]); }
    whole_y[i] = stored(passed(v, v));
  }
}

@compute @workgroup_size(SIZE)
fn batch_norm_running(id: Invocation) {
  let c = number(id, SIZE);
  let channels = params.channels / WIDTH;
  if (c >= channels) { return; }
  saved[c] = floats(running_mean[c]);
  saved[channels + c] = inverseSqrt(floats(running_variance[c]) + params.eps);
}

@compute @workgroup_size(SIZE)
fn batch_norm_forward(id: Invocation) {
  let i = number(id, SIZE);
  let channels = params.channels / WIDTH;
  let step = params.chunks * channels;
  if (i >= step) { return; }
  let c = i % channels;
  let mean = statistics[c];
  let gain = statistics[channels + c] * floats(scale[c]);
  let shift = floats(bias[c]);
  let end = params.rows * channels;
  for (var at = i; at < end; at += step) {
    var v = (floats(x[at]) - mean) * gain + shift;
    if (SUMS) { v += floats(summand[at]); }
    y[at] = stored(passed(v, v));
  }
}

@compute @workgroup_size(SIZE)
fn batch_norm_scale_shift(id: Invocation) {
  let c = number(id, SIZE);
  let channels = params.channels / WIDTH;
  if (c >= channels) { return; }
  let gain = statistics[channels + c] * floats(scale[c]);
  scale_shift_out[c] = stored(gain);
  scale_shift_out[channels + c] = stored(floats(bias[c]) - statistics[c] * gain);
}

@compute @workgroup_size(SIZE)
fn scale_shift_forward(id: Invocation) {
  let i = number(id, SIZE);
  let channels = params.channels / WIDTH;
  let step = params.chunks * channels;
  if (i >= step) { return; }
  let gain = floats(scale_shift[i % channels]);
  let shift = floats(scale_shift[channels + i % channels]);
  let end = params.rows * channels;
  for (var at = i; at < end; at += step) {
    let v = floats(x[at]) * gain + shift;
    shifted[at] = stored(passed(v, v));
  }
}

// chunk_sums_of are Σ dy x̂ and Σ dy of the elements i, i + step, …
fn chunk_sums_of(i: u32, step: u32) -> array<floats, 2> {
  let channels = params.channels / WIDTH;
  let c = i % channels;
  let mean = statistics[c];
  let r = statistics[channels + c];
  let gain = r * floats(scale[c]);
  let shift = floats(bias[c]);
  var a = floats();
  var b = floats();
  let end = params.rows * channels;
  let turns = (end - i + step - 1u) / step;
  for (var turn = 0u; turn < turns; turn++) {
    let at = i + turn * step;
    let d = floats(x[at]) - mean;
    let g = passed(floats(dy[at]), d * gain + shift);
    a += g * d;
    b += g;
  }
  return array<floats, 2>(a * r, b);
}

@compute @workgroup_size(SIZE)
fn batch_norm_backward_partial(id: Invocation) {
  let i = number(id, SIZE);
  let step = params.chunks * (params.channels / WIDTH);
  if (i >= step) { return; }
  let sums = chunk_sums_of(i, step);
  partials[i] = sums[0];
  partials[step + i] = sums[1];
}

@compute @workgroup_size(256)
fn batch_norm_backward_whole(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let at = place_of(group.x, local);
  let channels = params.channels / WIDTH;
  let chunks = params.chunks;
  if (at.inside) { slices[local] = chunk_sums_of(at.chunk * channels + at.c, chunks * channels); }
  workgroupBarrier();
  if (at.last) {
    var a = floats();
    var b = floats();
    for (var p = 0u; p < chunks; p++) {
      a += slices[p * PLACES + local][0];
      b += slices[p * PLACES + local][1];
    }
    slices[local] = array<floats, 2>(a, b);
    whole_dscale[at.c] += a;
    whole_dbias[at.c] += b;
  }
  workgroupBarrier();
  if (!at.inside) { return; }
  let n = f32(params.rows);
  let mean = statistics[at.c];
  let r = statistics[channels + at.c];
  let gain = r * floats(scale[at.c]);
  let shift = floats(bias[at.c]);
  let slope = r * slices[local % PLACES][0] / n;
  let level = slices[local % PLACES][1] / n;
  let end = params.rows * channels;
  for (var i = at.chunk * channels + at.c; i < end; i += chunks * channels) {
    let d = floats(x[i]) - mean;
    let g = passed(floats(dy[i]), d * gain + shift);
    whole_dx[i] = stored(select(floats(whole_dx[i]), floats(), FRESH) + gain * (g - level - d * slope));
  }
}

@compute @workgroup_size(SIZE)
fn batch_norm_backward_sums(id: Invocation) {
  let c = number(id, SIZE);
  let channels = params.channels / WIDTH;
  if (c >= channels) { return; }
  let chunks = params.chunks;
  let step = chunks * channels;
  var a = floats();
  var b = floats();
  for (var p = 0u; p < chunks; p++) {
    let at = p * channels + c;
    a += chunk_sums[at];
    b += chunk_sums[step + at];
  }
  sums[c] = a;
  sums[channels + c] = b;
  dscale[c] += a;
  dbias[c] += b;
}

@compute @workgroup_size(SIZE)
fn batch_norm_backward_x(id: Invocation) {
  let i = number(id, SIZE);
  let channels = params.channels / WIDTH;
  let step = params.chunks * channels;
  if (i >= step) { return; }
  let c = i % channels;
  let n = f32(params.rows);
  let mean = statistics[c];
  let r = statistics[channels + c];
  let gain = r * floats(scale[c]);
  let shift = floats(bias[c]);
  let slope = select(floats(), r * totals[c] / n, params.training == 1u);
  let level = select(floats(), totals[channels + c] / n, params.training == 1u);
  let end = params.rows * channels;
  for (var at = i; at < end; at += step) {
    let d = floats(x[at]) - mean;
    let g = passed(floats(dy[at]), d * gain + shift);
    dx[at] = stored(select(floats(dx[at]), floats(), FRESH) + gain * (g - level - d * slope));
  }
}
