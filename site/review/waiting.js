// The acts that a person requests by keys and buttons, in order: the part `waiting` of the state
// (state.js). An act is an event: decide, step, pick or edit. Decisions and corrections are about
// an image that is seen, and wait for it. Later acts wait behind them.
//
// Each act is bound when it is requested: from is the line that it is about, to the line that keys
// have reached with it, by the lines between. Images that fail or come late, and another order of
// the list, thus bring no act to another image.
import { neighbour, resting } from "./worklist.js";

// reached is the key of the line that the next act will be about.
export const reached = ({ waiting, worklist }) => waiting.at(-1)?.to ?? worklist?.at ?? 0;

// away says whether an act is about another line of the list than the chosen one.
const away = ({ worklist }, { from }) =>
  Boolean(worklist) && worklist.at !== from && worklist.lines.some(({ key }) => key === from);

// ready says whether a person sees the image of an act, or never will because no job will show it.
function ready(s, act) {
  if (act.type === "step" || act.type === "pick") return true;
  return (
    !resting(s) &&
    !away(s, act) &&
    (!s.job || (act.type === "edit" && s.job.picture === s.result?.asked.picture))
  );
}

// pressed is the state with one more act.
export function pressed(s, act) {
  const { worklist, waiting } = s,
    from = reached(s),
    by = act.type === "decide" && worklist.onward ? 1 : (act.by ?? 0);
  const bound = {
    ...act,
    from,
    by,
    to: act.type === "pick" ? act.key : by ? neighbour({ ...worklist, at: from }, by).key : from,
  };
  const waited = waiting.length > 0 || !ready(s, bound);
  return {
    ...s,
    waiting: [...waiting, { ...bound, waited }],
    status: waited ? "It follows once the image is shown." : s.status,
  };
}

// due is the first act if it is ready. Otherwise it is the pick of the image that the act is about
// or that keys have reached, or null.
export function due(s) {
  const [act] = s.waiting;
  if (!act || ready(s, act)) return act ?? null;
  const key = away(s, act) ? act.from : resting(s);
  return key ? { type: "pick", key } : null;
}
