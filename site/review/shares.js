// Raters' weights as people set them: shares in percent that add up to 100. The worker takes
// weights relative to the largest (internal/segment), or null if they are the model's own: equal, or
// those of its panels.
const ALIKE = 0.01; // percent: shares this near are equal

const sum = (list) => list.reduce((a, b) => a + b, 0);

// shared gives rater m a share. The others share the rest in their present proportions, or equally
// if they have nothing.
export function shared(shares, m, share) {
  const rest = 100 - share,
    others = sum(shares) - shares[m];
  return shares.map((one, i) =>
    i === m ? share : others > ALIKE ? (one * rest) / others : rest / (shares.length - 1),
  );
}

export const sharesOf = (weights) =>
  Array.from(weights, (weight) => (100 * weight) / sum([...weights]));

export function weightsOf(shares, own) {
  const largest = Math.max(...shares),
    model = sharesOf(own);
  return shares.every((one, i) => Math.abs(model[i] - one) < ALIKE)
    ? null
    : Float32Array.from(shares, (one) => one / largest);
}
export const sameWeights = (a, b) =>
  a === b || (Boolean(a && b) && a.length === b.length && a.every((weight, m) => weight === b[m]));

// inWhole are the shares in whole percent, which also add up to 100: shares with the largest
// fractions are rounded up.
export function inWhole(shares) {
  const whole = shares.map(Math.floor),
    up = Math.round(100 - sum(whole));
  const order = [...shares.keys()].sort((a, b) => shares[b] - whole[b] - (shares[a] - whole[a]));
  for (const m of order.slice(0, up)) whole[m]++;
  return whole;
}
