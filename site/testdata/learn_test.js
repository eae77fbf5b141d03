// Tests of learn.js, which TestInNode runs.
import { described } from "../learn/learn.js";
import { equal } from "./state_test.js";

const files = ["dataset.json", "images/a.png", "raters/ann/disc/a.png", "thesis.doc"].map(
  (name) => ({ name }),
);
const said = (about) => {
  try {
    return described(about, files).name;
  } catch (error) {
    return error.code;
  }
};

export const tests = {
  "a description is refused that has no lists of names"() {
    for (const raters of [null, 5, "ann", {}, [null], [["ann"]], [5]])
      equal(said({ name: "x", classes: ["disc"], raters }), "data", JSON.stringify(raters));
    for (const classes of [null, 5, "disc", {}, [null]])
      equal(said({ name: "x", classes, raters: ["ann"] }), "data", JSON.stringify(classes));
    for (const classes of [["../disc"], ["disc", "__proto__"], ["disc/"], [""]])
      equal(said({ name: "x", classes, raters: ["ann"] }), "data", `nobody marked ${classes}`);
    for (const about of [null, 5, [], "x", {}]) equal(said(about), "marks", JSON.stringify(about));
  },
  "a name fits a file, whatever the description says"() {
    for (const name of ["../../x", "a\u001b[31m", "", {}, [], 0, "n".repeat(1e5)])
      equal(/^[\w-]{0,50}$/.test(said({ name })), true, String(name));
  },
  "raters without marks, and files that are none of the data, are left out"() {
    const {
      raters,
      images,
      files: needed,
    } = described(
      { classes: ["disc"], raters: ["bob", "ann", ...Array(5000).fill("../ann")] },
      files,
    );
    equal([raters, images, needed.length], [["ann"], 1, 3]);
  },
};
