// One step of Adam with decoupled weight decay (Kingma & Ba 2015; Loshchilov & Hutter 2019), N elements.
//
//   g' = factor g      m = β₁ m + (1 - β₁) g'        v = β₂ v + (1 - β₂) g'²
//   x -= rate (m c₁ / (√(v c₂) + ε) + decay x),      c₁ = 1 / (1 - β₁ᵗ), c₂ = 1 / (1 - β₂ᵗ)
//   average = μ average + (1 - μ) x
//
// What changes from step to step is data: schedule = (rate, c₁, c₂, factor, μ). With the factor 0 nothing changes.

const SIZE: u32 = 64u;

struct Params {
  n: u32,
  beta1: f32,
  beta2: f32,
  epsilon: f32,
  decay: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gradient: array<f32>;
@group(0) @binding(2) var<storage, read> schedule: array<f32>;
@group(0) @binding(3) var<storage, read_write> m: array<f32>;
@group(0) @binding(4) var<storage, read_write> v: array<f32>;
@group(0) @binding(5) var<storage, read_write> x: array<f32>;
@group(0) @binding(6) var<storage, read_write> average: array<f32>;

@compute @workgroup_size(SIZE)
fn adam_step(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
             @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n || schedule[3] == 0.0) { return; }
  let g = gradient[i] * schedule[3];
  m[i] = params.beta1 * m[i] + (1.0 - params.beta1) * g;
  v[i] = params.beta2 * v[i] + (1.0 - params.beta2) * g * g;
  let step = m[i] * schedule[1] / (sqrt(v[i] * schedule[2]) + params.epsilon);
  x[i] -= schedule[0] * (step + params.decay * x[i]);
  average[i] = schedule[4] * average[i] + (1.0 - schedule[4]) * x[i];
}
