// Part of conv2d*.wgsl: their arguments, and what becomes of a sum: biases, residuals, an activation. Beside conv2d_params.wgsl,
// activation_functions.wgsl and conv2d_whole.wgsl or conv2d_split.wgsl. What is joined with it declares what it reads of x at a time, one input or a quad: `element` (real or real4); and what
// of the others: `stored` (real or real4), `floats` (f32 or vec4<f32>) and WIDTH (1 or 4).

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>; // the same, in quads

@group(0) @binding(1) var<storage, read> x: array<element>;
@group(0) @binding(2) var<storage, read> w: array<stored>;
@group(0) @binding(3) var<storage, read> bias: array<stored>;
@group(0) @binding(4) var<storage, read> residual: array<stored>;
@group(0) @binding(5) var<storage, read> shortcut: array<stored>;
@group(0) @binding(6) var<storage, read_write> y: array<stored>;
@group(0) @binding(2) var<storage, read> dy: array<stored>;
@group(0) @binding(3) var<storage, read_write> dw: array<floats>;

// finished is what element i of the result, of output (or quad) n, becomes.
fn finished(i: i32, n: i32, sum: floats) -> floats {
  var v = sum;
  let adds = params.adds & 3u;
  if (adds == 3u) { v += floats(residual[i]); }
  if (params.has_bias == 2u) { v = v * floats(bias[n]) + floats(bias[i32(params.outputs / WIDTH) + n]); }
  if (adds == 1u) { v += floats(y[i]); }
  if (adds == 2u) { v += floats(residual[i]); }
  v = activated(v);
  if ((params.adds & 4u) != 0u) { v += floats(shortcut[i]); }
  return v;
}
