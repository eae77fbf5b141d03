// What a person asks for by keys and buttons, in order: the part waiting of the state (state.js), a
// list of acts. An act is an event: decide, step, pick or edit. A decision and a correction are
// about an image that is seen, and wait for it. What is asked for after them waits behind them:
// each act meets the image that the person meant.
import { resting } from "./worklist.js";

// ready says whether a person sees what an act is about, or never will: no job is about to show it.
function ready(s, { type }) {
  if (type === "step" || type === "pick") return true;
  return !resting(s) && (!s.job || (type === "edit" && s.job.picture === s.result?.asked.picture));
}

// pressed is the state with one more act. Of decisions about one image the last one counts.
export function pressed(s, act) {
  const { waiting } = s, waited = waiting.length > 0 || !ready(s, act), again = act.type === "decide" && waiting.at(-1)?.type === "decide";
  const list = [...(again ? waiting.slice(0, -1) : waiting), { ...act, waited }];
  return { ...s, waiting: list, status: waited ? "It follows once the image is shown." : s.status };
}

// due is the first act if it is ready. It is else the choice of the image that keys have come to,
// or null.
export function due(s) {
  const [act] = s.waiting;
  if (!act || ready(s, act)) return act ?? null;
  return resting(s) ? { type: "pick", key: resting(s) } : null;
}
