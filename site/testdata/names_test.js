// Tests of the names of files: what is saved of them, how they are shown, and which belong
// together.
import { stem } from "../page/exports.js";
import { paired } from "../page/opening.js";
import { equal } from "./state_test.js";
import { isolated, t } from "../words/words.js";

export const tests = {
  "a name loses an extension of the formats and nothing else"() {
    const names = {
      "CT.1.2.840.3": "CT.1.2.840.3",
      "IMG.ima": "IMG.ima",
      "day/x.PNG": "day_x",
      "v.nii.gz": "v",
      "1.2.dcm": "1.2",
      "con.png": "con_",
      "AUX.1.png": "AUX_.1",
      "...": "image",
      "a\u202egnp.jpg": "a_gnp",
    };
    for (const [name, wanted] of Object.entries(names)) equal(stem(name), wanted, name);
    equal(stem(`${"é".repeat(120)}.png`), "é".repeat(70), "140 bytes are left");
    equal(stem(`x${"é".repeat(120)}.png`), `x${"é".repeat(69)}`, "and no half of a letter");
  },
  "a NIfTI header and its values are one file"() {
    const file = (name, ...parts) => ({ name, blob: new Blob(parts) }),
      head = new Uint8Array(352).fill(1);
    const joined = paired([
      file("x/a.hdr", head),
      file("b.img", "b"),
      file("x/a.img", "values"),
      file("c.hdr", head),
    ]);
    equal(joined.map(({ name }) => name).join(" "), "x/a.hdr b.img c.hdr", "files");
    equal(
      joined.map(({ blob }) => blob.size).join(" "),
      "354 1 352",
      "bytes: 348 of a header, and its values",
    );
  },
  "what turns the order of writing stays in the name"() {
    equal(isolated("a.png"), "a.png", "plain");
    equal(isolated("a\u202egnp.exe"), "\u2068a\u202egnp.exe\u2069", "turned");
    equal(
      isolated("a\u2069\u202eb"),
      "\u2068a\ufffd\u202eb\u2069",
      "it cannot end its own isolation",
    );
    equal(
      t("{name} is not segmented.", { name: "a\u202eb" }),
      "\u2068a\u202eb\u2069 is not segmented.",
      "a value",
    );
    equal(
      t("a\u202eb: this is a text file"),
      "a\ufffdb: this is a text file",
      "a message of the worker",
    );
  },
};
