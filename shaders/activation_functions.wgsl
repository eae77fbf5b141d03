// Part: the activations that a kernel's result goes through (activated), and Φ. What is joined with it declares `floats`: f32 or vec4<f32>.
// Φ uses erf by Abramowitz & Stegun 7.1.26, whose absolute error is below 1.5e-7.

const ACTIVATION: u32 = 0u; // 1 ReLU, 2 GELU, 3 sigmoid

fn erf(v: floats) -> floats {
  let a = abs(v);
  let t = 1.0 / (1.0 + 0.3275911 * a);
  let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return sign(v) * (1.0 - poly * exp(-a * a));
}

fn normal_cdf(v: floats) -> floats {
  return 0.5 * (1.0 + erf(v * 0.70710678));
}

fn activated(v: floats) -> floats {
  if (ACTIVATION == 1u) { return select(v, floats(), v <= floats()); } // a NaN passes, unlike with max()
  if (ACTIVATION == 2u) { return v * normal_cdf(v); }
  if (ACTIVATION == 3u) { return 1.0 / (1.0 + exp(-v)); }
  return v;
}
