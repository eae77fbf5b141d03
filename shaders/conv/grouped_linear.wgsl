// Grouped linear layer: pixel p, group g, input i, output o; one result an invocation.
//
//   y[p, g, o]   = bias[g, o] + Σ_i x[p, g, i] w[g, i, o], or the sigmoid of that
//   dx[p, g, i] += Σ_o dy[p, g, o] w[g, i, o]
//   dw[s, g, i, o] = Σ_{p in part s} x[p, g, i] dy[p, g, o]
//
// Header: Invocation (number(id, SIZE) is the index of its element) and real (a number in storage:
// f32; f16 in plans of halves).

const SIZE: u32 = 64u;

struct Params {
  pixels: u32,
  groups: u32,
  inputs: u32,
  outputs: u32,
  has_bias: u32,
  splits: u32,
  chunk: u32, // pixels of one part
  sigmoid: u32, // forward, 1: of the result
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read> w: array<real>;
@group(0) @binding(3) var<storage, read> bias: array<real>;
@group(0) @binding(4) var<storage, read_write> y: array<real>;
@group(0) @binding(1) var<storage, read> dy: array<real>;
@group(0) @binding(3) var<storage, read_write> dx: array<real>;
@group(0) @binding(2) var<storage, read> x_of: array<real>;
@group(0) @binding(3) var<storage, read_write> dw: array<f32>;

@compute @workgroup_size(SIZE)
fn grouped_linear_forward(id: Invocation) {
  let index = number(id, SIZE);
  let p = params;
  if (index >= p.pixels * p.groups * p.outputs) { return; }
  let o = index % p.outputs;
  let g = (index / p.outputs) % p.groups;
  let pixel = index / p.outputs / p.groups;
  var sum = 0.0;
  if (p.has_bias == 1u) { sum = f32(bias[g * p.outputs + o]); }
  let inputs = p.inputs;
  for (var i = 0u; i < inputs; i++) {
    sum += f32(x[(pixel * p.groups + g) * p.inputs + i]) * f32(w[(g * p.inputs + i) * p.outputs + o]);
  }
  if (p.sigmoid == 1u) { sum = 1.0 / (1.0 + exp(-sum)); }
  y[index] = real(sum);
}

@compute @workgroup_size(SIZE)
fn grouped_linear_backward_x(id: Invocation) {
  let index = number(id, SIZE);
  let p = params;
  if (index >= p.pixels * p.groups * p.inputs) { return; }
  let i = index % p.inputs;
  let g = (index / p.inputs) % p.groups;
  let pixel = index / p.inputs / p.groups;
  var sum = 0.0;
  let outputs = p.outputs;
  for (var o = 0u; o < outputs; o++) {
    sum += f32(dy[(pixel * p.groups + g) * p.outputs + o]) * f32(w[(g * p.inputs + i) * p.outputs + o]);
  }
  dx[index] = real(select(f32(dx[index]), 0.0, FRESH) + sum);
}

@compute @workgroup_size(SIZE)
fn grouped_linear_backward_weight(id: Invocation) {
  let index = number(id, SIZE);
  let p = params;
  let o = index % p.outputs;
  let i = (index / p.outputs) % p.inputs;
  let g = (index / p.outputs / p.inputs) % p.groups;
  let split = index / p.outputs / p.inputs / p.groups;
  if (split >= p.splits) { return; }
  var sum = 0.0;
  let end = min(p.pixels, (split + 1u) * p.chunk);
  for (var pixel = split * p.chunk; pixel < end; pixel++) {
    sum += f32(dy[(pixel * p.groups + g) * p.outputs + o]) * f32(x_of[(pixel * p.groups + g) * p.inputs + i]);
  }
  dw[index] = sum;
}
