// Part of the convolutions of floats: their parameters. Beside conv2d_geometry.wgsl.

struct Params {
  batch: u32,
  inputs: u32,   // channels of x
  outputs: u32,  // channels of y
  has_bias: u32, // 1: y starts from bias (C); 2: the sum is scaled by bias[0] and shifted by bias[1], of (2, C)
  adds: u32,     // what is added to the result: & 3: 1, what y holds; 2, the residual; 3, the residual, before scale and shift; & 4: the
                 // shortcut, after the activation
  parts: u32,    // backward_weight: parts of the sum, each with a result of its own; forward: phases of either axis, one a group.z:
                 // each begins a weight and a pixel of y further
  chunk: u32,    // backward_weight: pixels (b, u, v) of one part; forward: with conv2d_split.wgsl, outputs of the first result
  activation: u32, // ACTIVATION
  rows: Axis,
  cols: Axis,
}

@group(0) @binding(0) var<uniform> params: Params;
