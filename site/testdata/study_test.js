// Tests of study.js, which TestInNode runs.
import { assigned, firstOf, questionsOf, secondFrom, secondOf } from "../study/study.js";
import { equal } from "./state_test.js";

const plan = (fields) => ({
  ...{
    order: "shuffled",
    start: "empty",
    seed: 7,
    repeats: 0,
    readers: [],
    each: 1e9,
    anchors: 1e9,
    days: 28,
  },
  ...fields,
});
const images = (n, of, reader) => assigned(n, plan(of), reader).map(({ image }) => image);
const sorted = (list) => list.toSorted((a, b) => a - b);
const counted = (n) => [...Array(n).keys()];

let keys = 100;
const keyed = () => ({ key: ++keys });
const lines = counted(12).map((i) => ({
  key: i,
  picture: {
    key: i,
    blob: null,
    missing: { sha256: `sum${i}`, bytes: 1 },
    name: `eye${i}.png`,
    turn: 0,
  },
}));

export const tests = {
  "every image is read, some of them twice, and never twice in a row"() {
    for (let n = 1; n < 60; n++)
      for (const order of ["fixed", "shuffled"])
        for (const reader of ["ann", "ben", "É"]) {
          const repeats = Math.floor(n / 5),
            list = images(n, { order, repeats }, reader),
            what = JSON.stringify({ n, order, reader });
          equal(
            [new Set(list).size, Math.max(...list), list.length],
            [n, n - 1, n + repeats],
            what,
          );
          equal(
            list.some((one, i) => i && one === list[i - 1]),
            false,
            `twice in a row, ${what}`,
          );
          equal(list, images(n, { order, repeats }, reader), `the same reader, ${what}`);
        }
  },
  "the order is the list's, or one of the reader"() {
    equal(images(50, { order: "fixed" }, "ann"), counted(50), "fixed");
    equal(sorted(images(50, {}, "ann")), counted(50), "shuffled");
    const [ann, ben, other] = [
      images(50, {}, "ann"),
      images(50, {}, "ben"),
      images(50, { seed: 8 }, "ann"),
    ];
    equal(
      [ben, other, counted(50)].some((one) => one.join() === ann.join()),
      false,
      "another order",
    );
  },
  "ten readers of fifty images cover three hundred, and all read the anchors"() {
    const readers = counted(10).map((i) => `r${i}`),
      times = Array(300).fill(0);
    for (const reader of readers) {
      const list = images(300, { readers, each: 50, anchors: 20, repeats: 10 }, reader);
      equal([list.length, new Set(list).size], [60, 50], reader);
      for (const image of new Set(list)) times[image]++;
    }
    equal(times.filter((n) => n === 10).length, 20, "anchors");
    equal(sorted([...new Set(times)]), [1, 2, 10], "the others once or twice");
  },
  "each image is read both ways, the other way round by the next reader"() {
    const both = plan({ start: "both", readers: ["ann", "ben"], repeats: 3, blind: true });
    const [ann, ben] = both.readers.map((reader) => firstOf(lines, both, reader, keyed));
    const way = (list, i) =>
      list.find(({ picture }) => picture.missing.sha256 === `sum${i}`).picture.aided;
    for (const i of counted(12)) equal(way(ann, i), !way(ben, i), `image ${i}`);
    equal(ann.filter(({ picture }) => picture.aided).length >= 5, true, "about half of them");
    equal([ann.length, ann[14].picture.name, ann[0].sitting], [15, "#15", 1], "names");
    equal(secondFrom(ann, both), null, "nothing is read");
    const read = ann.map((line, i) => ({
      ...line,
      review: "accepted",
      answers: { a: 1 },
      decided: `2026-11-0${1 + (i % 9)}T00:00:00Z`,
    }));
    equal(
      new Date(secondFrom(read, both)).toISOString(),
      "2026-12-07T00:00:00.000Z",
      "28 days after the last one",
    );
    const second = secondOf(read, both, "ann", keyed);
    equal(
      [
        second.length,
        second[0].picture.name,
        second[0].review,
        second[0].answers,
        second[0].sitting,
      ],
      [12, "#16", "", undefined, 2],
      "each once",
    );
    for (const i of counted(12)) equal(way(second, i), !way(ann, i), `the other way, image ${i}`);
    equal(
      second.map(({ key }) => key).some((key) => ann.some((line) => line.key === key)),
      false,
      "keys of their own",
    );
    equal(
      [secondFrom([...read, ...second], both), secondFrom(read, plan())],
      [null, null],
      "no third one, and none where there is one",
    );
  },
  "questions are lines"() {
    equal(
      questionsOf("Glaucoma: 1 no | 2 yes\n\nSure: 0 to 9.5\nRemark"),
      [
        { name: "Glaucoma", options: ["1 no", "2 yes"] },
        { name: "Sure", low: 0, high: 9.5 },
        { name: "Remark" },
      ],
      "three",
    );
    for (const wrong of [
      "A: 1",
      "A: 5 to 1",
      "A\nA",
      "ratio",
      "Area of disc",
      ": 1 | 2",
      "A: 1 | ",
      "A: ",
    ])
      equal(questionsOf(wrong), null, wrong);
    equal(questionsOf(" "), [], "none");
  },
};
