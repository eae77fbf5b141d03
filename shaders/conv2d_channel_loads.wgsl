// Part of conv2d_registers.wgsl and conv2d_subgroups.wgsl: how they load any number of inputs, one at a time. Beside conv2d_quads.wgsl.

alias element = real;
alias Values = f32;        // inputs that are loaded together
alias Weights = vec4<f32>; // those of a quad of outputs for them: weights times values are the outputs' terms
const TERMS: i32 = 1;      // of Values

// load is channel k of the pixel whose first channel is at base, zero where base is negative.
fn load(base: i32, k: i32) -> Values {
  return select(0.0, f32(x[max(base, 0) + k]), base >= 0);
}

fn load_weights(at: i32, quads: i32) -> Weights {
  return vec4<f32>(w[at]);
}

fn load_row(rows: Rows, j: i32) -> f32 {
  let inside = (j >= rows.low) & (j < rows.high);
  return select(0.0, f32(x[select(0, rows.base + j, inside)]), inside);
}

// load_rows are four rows from j on.
fn load_rows(rows: Rows, j: i32) -> vec4<f32> {
  return vec4<f32>(load_row(rows, j), load_row(rows, j + 1), load_row(rows, j + 2), load_row(rows, j + 3));
}
