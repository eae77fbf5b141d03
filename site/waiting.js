// The acts that a person requests by keys and buttons, in order: the part `waiting` of the state
// (state.js). An act is an event: decide, step, pick or edit. Decisions and corrections are about
// an image that is seen, and wait for it. Later acts wait behind them, so that each act meets the
// image that the person meant.
import { resting } from "./worklist.js";

// ready says whether a person sees the image of an act, or never will because no job will show it.
function ready(s, { type }) {
  if (type === "step" || type === "pick") return true;
  return !resting(s) && (!s.job || (type === "edit" && s.job.picture === s.result?.asked.picture));
}

// pressed is the state with one more act. If there are several decisions about an image, the last
// one counts.
export function pressed(s, act) {
  const { waiting } = s, waited = waiting.length > 0 || !ready(s, act), again = act.type === "decide" && waiting.at(-1)?.type === "decide";
  const list = [...(again ? waiting.slice(0, -1) : waiting), { ...act, waited }];
  return { ...s, waiting: list, status: waited ? "It follows once the image is shown." : s.status };
}

// due is the first act if it is ready. Otherwise it is the pick of the image that keys have
// reached, or null.
export function due(s) {
  const [act] = s.waiting;
  if (!act || ready(s, act)) return act ?? null;
  return resting(s) ? { type: "pick", key: resting(s) } : null;
}
