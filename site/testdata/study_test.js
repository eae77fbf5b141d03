// Tests of study.js, which TestInNode runs.
import { planned } from "../study/study.js";
import { equal } from "./state_test.js";

const plans = [];
for (let n = 1; n < 60; n++)
  for (const order of ["fixed", "shuffled"])
    for (const seed of [0, 7, 999999]) plans.push({ n, order, seed });

export const tests = {
  "every image is read, a tenth of them twice, and never twice in a row"() {
    for (const { n, ...plan } of plans) {
      const list = planned(n, { ...plan, repeats: true }),
        what = JSON.stringify({ n, ...plan });
      equal(
        [new Set(list).size, Math.max(...list), list.length],
        [n, n - 1, n > 2 ? n + Math.ceil(n / 10) : n],
        what,
      );
      equal(
        list.some((one, i) => i && one === list[i - 1]),
        false,
        `twice in a row, ${what}`,
      );
      equal(list, planned(n, { ...plan, repeats: true }), `the same seed, ${what}`);
    }
  },
  "the order is the list's, or the seed's"() {
    const list = [...Array(50).keys()],
      of = (order, seed) => planned(50, { order, seed, repeats: false });
    equal(of("fixed", 3), list, "fixed");
    equal(
      of("shuffled", 3).toSorted((a, b) => a - b),
      list,
      "shuffled",
    );
    equal(
      [list, of("shuffled", 4)].some((one) => one.join() === of("shuffled", 3).join()),
      false,
      "another seed",
    );
  },
};
