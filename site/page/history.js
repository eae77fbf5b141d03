// The history of the user's changes: corrections, region, raters' weights and marks. A moment is {
// corrections, roi, weights, evidence }. Moments share unchanged parts.
const STEPS = 50,
  BYTES = 64 * 2 ** 20; // of tiles that steps have changed
const PARTS = ["corrections", "roi", "weights", "evidence"];

// UNASKED is what is asked of a photograph unless a person says otherwise.
export const UNASKED = { roi: "auto", weights: null, evidence: [] };
// subject is the running job, or the job of the result on the stage.
export const subject = (s) => s.job ?? { picture: s.picture, ...(s.result?.asked ?? UNASKED) };

// fieldOf are all objects of the picture, if the stage shows them in place of the result, or null.
export const fieldOf = ({ field, picture, result }) =>
  result && field?.answer && field.picture === picture ? field : null;

// givable are the objects that the line of the picture has, if the worker has to be given them, or
// null.
export const givable = ({ worklist, picture, result, job, field }) =>
  !job && result?.findsMany && result.asked.picture === picture && field?.picture !== picture
    ? (worklist?.lines.find((line) => line.picture === picture)?.field ?? null)
    : null;

export const noHistory = { past: [], future: [] };
export const same = (a, b) => PARTS.every((part) => a[part] === b[part]);

// remember puts the moment before a step at the end of the past. bytes is what the step keeps.
export function remember({ past }, moment, bytes = 0) {
  const list = [...past, { ...moment, bytes }];
  let sum = list.reduce((sum, { bytes }) => sum + bytes, 0);
  while (list.length > STEPS || (sum > BYTES && list.length > 1)) sum -= list.shift().bytes;
  return { past: list, future: [] };
}
// trimmed drops neighbouring moments that equal the present one: a job that failed or was cancelled
// has changed nothing.
export function trimmed(history, now) {
  const { past, future } = history,
    undone = past.length && same(past.at(-1), now),
    redone = future.length && same(future[0], now);
  if (!undone && !redone) return history;
  return trimmed(
    { past: undone ? past.slice(0, -1) : past, future: redone ? future.slice(1) : future },
    now,
  );
}
// left adds a history to a list of histories, { picture, model, history }, in the order in which
// they were left. It drops the first ones if all together take too much memory.
export function left(list, one) {
  const all = [
    ...list.filter(({ picture }) => picture !== one.picture),
    ...(one.history === noHistory ? [] : [one]),
  ];
  const bytes = ({ history: { past, future } }) =>
    [...past, ...future].reduce((sum, step) => sum + step.bytes, 0);
  let sum = all.reduce((sum, one) => sum + bytes(one), 0);
  while (sum > BYTES) sum -= bytes(all.shift());
  return all;
}
// back and forth step through the history: { history, moment }.
export const back = ({ past, future }, now) => ({
  moment: past.at(-1),
  history: { past: past.slice(0, -1), future: [{ ...now, bytes: past.at(-1).bytes }, ...future] },
});
export const forth = ({ past, future }, now) => ({
  moment: future[0],
  history: { past: [...past, { ...now, bytes: future[0].bytes }], future: future.slice(1) },
});
