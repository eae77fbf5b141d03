// Part: the activations that a kernel's result goes through, and the erf that GELU needs, by Abramowitz & Stegun 7.1.26, whose absolute error is
// below 1.5e-7. What is joined with it declares `floats`: f32 or vec4<f32>.

const ACTIVATION: u32 = 0u; // 1 ReLU, 2 GELU, 3 sigmoid

// erf_above is erf of a, which is not negative.
fn erf_above(a: floats) -> floats {
  let t = 1.0 / (1.0 + 0.3275911 * a);
  let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return 1.0 - poly * exp(-a * a);
}

fn activated(v: floats) -> floats {
  if (ACTIVATION == 1u) { return select(v, floats(), v <= floats()); } // a NaN passes, unlike with max()
  if (ACTIVATION == 2u) { return v * 0.5 * (1.0 + sign(v) * erf_above(abs(v) * 0.70710678)); }
  if (ACTIVATION == 3u) { return 1.0 / (1.0 + exp(-v)); }
  return v;
}
