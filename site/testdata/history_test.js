// Tests of history.js, which TestInNode runs.
import { back, forth, noHistory, remember, same, trimmed } from "../page/history.js";

const equal = (is, wanted, what) => {
  if (JSON.stringify(is) !== JSON.stringify(wanted))
    throw new Error(`${what}: ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`);
};
// of is a moment with a region of its own; the other parts are shared.
const shared = { corrections: [], weights: null, evidence: [] };
const of = (roi) => ({ ...shared, roi });
const rois = (list) => list.map(({ roi }) => roi).join(" ");
const three = [of("a"), of("b"), of("c")].reduce(
  (history, moment) => remember(history, moment),
  noHistory,
);

export const tests = {
  "moments are the same if all their parts are"() {
    equal(
      [
        same(of("a"), of("a")),
        same(of("a"), of("b")),
        same(of("a"), { ...of("a"), corrections: [] }),
      ],
      [true, false, false],
      "same",
    );
  },
  "back and forth lead through all moments, and back again"() {
    equal(rois(three.past), "a b c", "past");
    let history = three,
      now = of("d");
    const seen = [];
    while (history.past.length) {
      ({ history, moment: now } = back(history, now));
      seen.push(now.roi);
    }
    equal([seen.join(" "), rois(history.future)], ["c b a", "b c d"], "back");
    while (history.future.length) {
      ({ history, moment: now } = forth(history, now));
      seen.push(now.roi);
    }
    equal([seen.slice(3).join(" "), rois(history.past)], ["b c d", "a b c"], "forth");
  },
  "a new step forgets what was undone"() {
    const { history, moment } = back(three, of("d"));
    equal(
      [
        rois(history.future),
        rois(remember(history, moment).past),
        remember(history, moment).future,
      ],
      ["d", "a b c", []],
      "future",
    );
  },
  "fifty steps are kept, and the last one whatever it takes"() {
    let history = noHistory;
    for (let i = 0; i < 60; i++) history = remember(history, of(i));
    equal(
      [history.past.length, history.past[0].roi, history.past.at(-1).roi],
      [50, 10, 59],
      "steps",
    );
    const large = 40 * 2 ** 20;
    history = remember(remember(history, of("x"), large), of("y"), large);
    equal(rois(history.past), "y", "two of 40 MiB are too many");
    equal(rois(remember(noHistory, of("z"), 2 ** 30).past), "z", "one of 1 GiB");
    equal(
      rois(remember(remember(noHistory, of("x"), 2 ** 20), of("y"), 2 ** 20).past),
      "x y",
      "two of 1 MiB",
    );
  },
  "steps that changed nothing are dropped on both sides"() {
    const history = { past: [of("a"), of("b"), of("b")], future: [of("b"), of("c")] };
    const { past, future } = trimmed(history, of("b"));
    equal([rois(past), rois(future)], ["a", "c"], "trimmed");
    equal(trimmed(three, of("d")) === three, true, "nothing to drop");
  },
  "bytes stay with their step"() {
    const history = remember(noHistory, of("a"), 7),
      undone = back(history, of("b")),
      redone = forth(undone.history, of("a"));
    equal([undone.history.future[0].bytes, redone.history.past[0].bytes], [7, 7], "bytes");
  },
};
