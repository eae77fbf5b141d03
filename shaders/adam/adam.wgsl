// One step of Adam with decoupled weight decay (Kingma & Ba 2015; Loshchilov & Hutter 2019), N
// elements.
//
//   g' = factor g      m = β₁ m + (1 - β₁) g'        v = β₂ v + (1 - β₂) g'²
//   x -= rate (m c₁ / (√(v c₂) + ε) + decay x),      c₁ = 1 / (1 - β₁ᵗ), c₂ = 1 / (1 - β₂ᵗ)
//   average = μ average + (1 - μ) x
//
// The values that change from step to step are in a tensor: schedule = (rate, c₁, c₂, factor, μ).
// If factor is 0, nothing changes. All tensors are f32.
//
// Header (go doc ./shaders): Invocation, floats, WIDTH.

const SIZE: u32 = 64u;

struct Params {
  n: u32,
  beta1: f32,
  beta2: f32,
  epsilon: f32,
  decay: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gradient: array<floats>;
@group(0) @binding(2) var<storage, read> schedule: array<f32>;
@group(0) @binding(3) var<storage, read_write> m: array<floats>;
@group(0) @binding(4) var<storage, read_write> v: array<floats>;
@group(0) @binding(5) var<storage, read_write> x: array<floats>;
@group(0) @binding(6) var<storage, read_write> average: array<floats>;

@compute @workgroup_size(SIZE)
fn adam_step(id: Invocation) {
  let i = number(id, SIZE);
  let factor = schedule[3];
  if (i * WIDTH >= params.n || factor == 0.0) { return; }
  let g = gradient[i] * factor;
  let first = params.beta1 * m[i] + (1.0 - params.beta1) * g;
  let second = params.beta2 * v[i] + (1.0 - params.beta2) * g * g;
  let step = first * schedule[1] / (sqrt(second * schedule[2]) + params.epsilon);
  let before = x[i];
  let after = before - schedule[0] * (step + params.decay * before);
  m[i] = first;
  v[i] = second;
  x[i] = after;
  average[i] = schedule[4] * average[i] + (1.0 - schedule[4]) * after;
}
