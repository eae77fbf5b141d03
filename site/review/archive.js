// What readers send to a DICOM archive: the files of the image on the stage, or of each of a list.
// page.js loads this module with the first result of a DICOM file if the site's serve has an
// archive (serve -dicomweb). serve takes the files, sends them on, and says what has become of
// each image.
import { YOU } from "../draw/correct.js";
import { $ } from "../page/dom.js";
import { t } from "../words/words.js";
import { title } from "./measurements.js";
import { acceptedBy, toReview } from "./worklist.js";

const EVERY = 2000; // ms between two questions
const MOST = 50; // images in a question
const FORMATS = ["dicom-seg", "dicom-sr"]; // of package masks
const WORDS = {
  making: "its files are being made",
  queued: "waits for the archive",
  sent: "waits for the archive",
  stored: "stored in the archive",
  refused: "refused by the archive",
  untaken: "not taken by serve",
};

const COUNTS =
  "{stored} of {n} finished images are in the archive, {waiting} wait, {refused} are refused.";
const TICK = "An archive files by patient and study: tick above that files keep them.";

// write says whether a button can be pressed, and what there is to say beside it.
function write(id, can, text) {
  $(id).ariaDisabled = can ? null : "true";
  const says = $(`${id}-says`);
  if (says.textContent !== text) says.textContent = text; // a screen reader says it once
}
const formatsOf = (result) =>
  result?.found ? FORMATS.filter((name) => result.formats.includes(name)) : [];
const finished = (line) =>
  formatsOf(line.result).length && line.review !== "rejected" && !toReview(line);

export class Archive {
  #sent = new WeakMap(); // by picture: { id, state, why }, and of what: result, its id, corrections
  #open = new Map(); // pictures that wait for the archive, by ID
  #asks = false;
  // seen(s) resolves to the picture and the report of a state, each as segmenter.save takes it, if
  // the person ticked them.
  constructor(state, send, segmenter, work, seen) {
    Object.assign(this, { state, send, segmenter, work });
    $("archive-send").onclick = () => this.#can("archive-send") && this.#give(state(), seen);
    $("archive-all").onclick = () => this.#can("archive-all") && this.#giveAll();
    $("archive-identity").onchange = () => this.draw(state());
  }
  #can = (id) => !$(id).ariaDisabled;

  // of is what has become of the present result of a picture; undefined: it was not sent.
  #of({ picture, result, corrections }) {
    const entry = this.#sent.get(picture);
    return entry?.result === result?.id && entry?.corrections === corrections ? entry : undefined;
  }
  #tell(picture, entry) {
    const { state, why, id } = entry;
    this.#sent.set(picture, entry);
    if (state === "queued" || state === "sent") this.#open.set(id, picture);
    this.send({ type: "archived", picture, archived: [WORDS[state], why].filter(Boolean) });
    this.draw(this.state());
  }

  // give gives serve the files of a line, or of the state, and what seen resolves to.
  async #give(line, seen = () => []) {
    const { picture, result, corrections } = line,
      entry = { result: result.id, corrections, why: "" },
      form = new FormData();
    this.#tell(picture, { ...entry, state: "making" });
    try {
      for (const bytes of await this.#files(line, await seen(line)))
        form.append("file", new Blob([bytes], { type: "application/dicom" }));
      const answer = await fetch("archive/", { method: "POST", body: form }),
        text = await answer.text();
      if (!answer.ok) throw new Error(text);
      this.#tell(picture, { ...entry, state: "queued", ...JSON.parse(text) });
      this.send({ type: "log", did: "exported", what: "archive", picture });
      if (!this.#asks) this.#ask();
    } catch ({ message }) {
      this.#tell(picture, { ...entry, state: "untaken", why: message });
    }
  }
  async #files(line, seen) {
    const list = this.state().worklist;
    await this.work.drawn(line.picture);
    const made = (result) => {
      const { classes, recurrences: i } = result,
        drawn = line.corrections.filter((c) => c.rater === YOU && classes.includes(c.class)),
        person = acceptedBy(list, line.picture),
        about = { result, drawn, identity: true, eye: line.eye ?? "", person },
        all = { ...about, i, classes: [...classes.keys()] },
        kinds = [...formatsOf(result).map((made) => ({ made })), ...seen];
      return Promise.all(kinds.map((kind) => this.segmenter.save({ ...all, ...kind })));
    };
    return made(line.result).catch(async (error) => {
      if (error.code !== "gone") throw error;
      return made(await this.work.again(line));
    });
  }
  async #giveAll() {
    for (const { key } of this.state().worklist.lines) {
      const line = this.state().worklist.lines.find((one) => one.key === key);
      if (line && finished(line) && !["queued", "sent", "stored"].includes(this.#of(line)?.state))
        await this.#give(line);
    }
  }
  // ask asks what has become of what waits, as long as something does.
  async #ask() {
    for (this.#asks = true; this.#open.size;) {
      await new Promise((done) => setTimeout(done, EVERY));
      const asked = [...this.#open].slice(0, MOST),
        answer = await fetch(`archive/?ids=${asked.map(([id]) => id)}`).catch(() => null),
        said = answer?.ok ? await answer.json() : {}; // serve may be away, and goes on later
      for (const [id, picture] of asked) {
        const before = this.#sent.get(picture),
          now = said[id] ?? before;
        this.#open.delete(id);
        if (before.id !== id) continue; // it was changed, and sent again
        if (now.state !== before.state || now.why !== before.why)
          this.#tell(picture, { ...before, ...now });
        else this.#open.set(id, picture); // behind the others
      }
    }
    this.#asks = false;
  }

  // draw brings the controls to a state.
  draw(s) {
    const { result, identity, worklist: list } = s,
      entry = this.#of(s),
      lines = list && !list.study && !list.series ? list.lines.filter(finished) : [],
      all = lines.map((line) => this.#of(line)?.state),
      count = (...states) => all.filter((state) => states.includes(state)).length,
      counts = {
        n: all.length,
        stored: count("stored"),
        waiting: count("queued", "sent"),
        refused: count("refused", "untaken"),
      };
    $("archive").hidden = Boolean(list?.study) || !formatsOf(result).length;
    $("archive-list").hidden = !all.length;
    const says = entry ? [title(t(WORDS[entry.state])), t(entry.why)] : [identity ? "" : t(TICK)];
    write("archive-send", identity && entry?.state !== "making", says.filter(Boolean).join(": "));
    const ticked = $("archive-identity").checked;
    write("archive-all", ticked && !count("making"), t(ticked ? COUNTS : TICK, counts));
  }
}
