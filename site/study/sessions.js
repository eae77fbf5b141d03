// Saves, opens and keeps sessions, and attaches images to them. session.js has their form,
// keeping.js what the browser keeps. The page loads this module when a person wants a session.
import { wanted } from "../worker/scripts.js";
import { $, element, table } from "../page/dom.js";
import { download, pick, stem } from "../page/exports.js";
import * as keeping from "./keeping.js";
import { now } from "../page/opening.js";
import {
  Claimed,
  filesOf,
  fits,
  identity,
  joinedLogs,
  merged,
  missing,
  readSession,
  sumOf,
  touched,
} from "./session.js";
import { unsaved } from "../page/unsaved.js";
import { isolated, number, t } from "../words/words.js";
import { narrow } from "../review/work.js";
import { lacking } from "../review/workview.js";
import { newList, pictureIn } from "../review/worklist.js";
import { Refused, readZIP, writeZIP } from "./zip.js";

const DELAY = 1000; // ms from a change until it is kept
const DAMAGED = 5; // names in a message
const attachedText = (n) =>
  t({ one: "{n} image is attached.", other: "{n} images are attached." }, { n });
const SHOWN = 100; // entries of the log on the page
const named = (names) => names.slice(0, DAMAGED).join(", ") + (names.length > DAMAGED ? ", …" : "");

const notRead = (names) =>
  t("Not read, as it is missing or damaged: {files}.", { files: named(names) });
const changedText = (n) => t("The log was changed after entry {n}. All of it is kept.", { n });

const PART = 30; // letters of a study's or a person's name in a file's
// called begins the name of a file of these.
const called = (...parts) =>
  [
    "mrprism",
    ...parts.filter(Boolean).map((part) => stem([...part].slice(0, PART).join(""))),
    now(),
  ].join("-");

const TAB = [
  "This session is open in another tab of this browser.",
  "Go on there, or close it there first. What you do here is kept only if you save it.",
];

// Sessions needs state(), send(event), the segmenter, and told(error), an error with a message for
// people.
export class Sessions {
  #timer = 0;
  #writing = Promise.resolve();
  #reading = null;
  #seen = null;
  #sound = Promise.resolve();
  constructor(state, send, segmenter, told) {
    Object.assign(this, { state, send, segmenter, told });
  }

  #note(message, next = "") {
    this.send({ type: "note", message, next });
  }
  // tell notes sentences, those that are none left out, and what to do next.
  #tell(sentences, ...next) {
    const [message, then] = [sentences, next].map((all) => all.filter(Boolean).join(" "));
    if (message || then) this.#note(message, then);
  }
  // run does something and tells what went wrong.
  async #run(act) {
    try {
      if (!globalThis.crypto?.subtle)
        throw new Refused(
          "Sessions need a page from https, or from this machine.",
          "Ask who serves it.",
        );
      return await act();
    } catch (error) {
      this.send({ type: "failed", error: this.told(error) });
    }
  }
  // list is the list of images, or a new one with the image that is open, with an id.
  #list() {
    if (!this.state().worklist) this.send({ type: "add", pictures: [], along: true, open: false });
    if (!this.state().worklist.id) this.send({ type: "work", id: crypto.randomUUID() });
    return this.state().worklist;
  }
  // files resolves to the files of the session as it is, and what a person did until then.
  async #files(images, kept) {
    if (images || this.state().worklist?.measuring) await this.#sound;
    this.#list();
    await this.copyField();
    const list = this.#list(),
      { models, model: name } = this.state(),
      { title, sha256 = "" } =
        list.lines.find(({ result }) => result)?.result ??
        models.find((one) => one.name === name) ??
        {};
    const { entries, others } = this.state().log;
    return {
      list,
      files: await filesOf(list, { name, title, sha256 }, images, [entries, ...others], kept),
    };
  }

  // copyField gives the picture's line a copy of all objects that are shown, if it has none.
  async copyField() {
    const { worklist, field } = this.state();
    if (!worklist || !field?.answer || field.wish || field.kept) return;
    const { picture, answer, changed } = field,
      png = await this.segmenter.saveField(picture, "labels-png").catch(() => null);
    if (!png) return; // the worker has stopped, and the page says so
    const blob = new Blob([png], { type: "image/png" }),
      objects = answer.objects.map((one) => pick(one, ["number", "by", "disagreement", "doubt"])),
      kept = { class: answer.class, changed: changed || answer.undo > 0, objects, blob };
    await sumOf(blob);
    this.send({ type: "copied", picture, answer, kept });
  }

  save() {
    return this.#run(async () => {
      this.send({ type: "log", did: "exported", what: "session" });
      const { list, files } = await this.#files(this.state().session.images);
      await this.#write(files, called(list.study?.name, list.by));
      this.send({ type: "stored", list });
    });
  }
  async #write(files, stem) {
    const blob = await writeZIP(files).catch((error) => {
      throw error instanceof RangeError
        ? new Refused(
            "The session with its images is larger than 4 GB.",
            "Save it without the images.",
          )
        : error;
    });
    download(`${stem}.mrprism`, "application/zip", blob);
  }

  // makeStudy asks for the plan of a reading study of the open list, and saves it as a file.
  makeStudy() {
    return this.#run(async () => {
      const { BY_HAND, askPlan, linesOf } = await wanted("study.js"),
        { lines } = this.state().worklist,
        { result } = lines.find(({ result }) => result) ?? {};
      const { plan, images } = (await askPlan(result?.classes ?? null, lines.length)) ?? {};
      if (!plan) return;
      const made = await linesOf(lines, plan),
        model = plan.start === "empty" ? BY_HAND : { ...result, name: result.model };
      if (!made.lines.length)
        throw new Refused(
          "The list has no image that can be read.",
          "Open the images of the study first.",
        );
      const list = { ...newList, lines: made.lines, at: 1, study: plan };
      await this.#write(
        await filesOf(list, pick(model, ["name", "title", "sha256"]), images),
        called("study", plan.name),
      );
      this.#tell(
        [
          t(
            {
              one: "The study is saved, with {n} image.",
              other: "The study is saved, with {n} images.",
            },
            { n: made.lines.length },
          ),
          made.left.length &&
            t("Left out, as it cannot be read or is there twice: {files}.", {
              files: named(made.left),
            }),
        ],
        "Give the file to each grader. Each one sends back a session.",
      );
    });
  }

  // open opens session files, each { blob, name }, one after the other.
  open(list) {
    return this.#run(async () => {
      for (const { blob, name } of list) {
        const { files, whole } = await readZIP(blob, name);
        await this.#take(files, name, { whole });
      }
    });
  }

  // take opens a session, or joins it with the one that is open. kept is the id of one that this
  // browser keeps, and goes on to keep: what is damaged of it stays beside. same: it is another
  // state of the one that is open, as the person said.
  async #take(files, name, { whole = true, kept = "", same = false } = {}) {
    const session = await readSession(files, name, (...of) => this.segmenter.picture(...of)),
      { damaged, lines, logs, study } = session;
    if (kept) session.id = damaged.length ? crypto.randomUUID() : kept;
    else if (!/^[\w-]{1,64}$/.test(session.id)) session.id = ""; // it names a folder
    await this.segmenter.ready;
    if (!lines.length)
      throw new Refused(`${name} has no images that could be read.`, "Choose another copy of it.");
    if (unsaved(this.state()).length) this.#list(); // an open image joins
    await this.copyField();
    await this.#check(session, name);

    const { worklist } = this.state();
    const again = worklist || kept ? "" : await this.#again(session, name);
    if (again === "joined") return this.#take(files, name, { whole, same: true });
    if (again) session.id = "";
    if (worklist?.study?.readers && !session.grader) return this.#attached(lines);
    const begins = Boolean(study && !worklist),
      reading = begins && (await this.#enter(session));
    if (begins && !reading) return false;

    const alone = await keeping.hold(session.id),
      joined = await merged(worklist?.lines ?? [], session.lines, same),
      changed = logs.map((one) => one.changed).find((n) => n !== null) ?? null;
    this.#join(session, worklist, joined.lines, alone, changed);
    if (begins) this.#reading = new reading.Reading(this.state, this.send, study);
    if (alone && (kept || reading.keep)) {
      const { images } = this.state().session,
        inIt = lines.some(({ picture }) => !picture.missing);
      this.#set({ keeping: true, at: "", images: kept && !study ? inIt : images });
    }
    const empty = lines.some(touched) && !logs.some(({ entries }) => entries.length);
    this.#report(name, {
      whole,
      damaged,
      joined,
      alone,
      began: !worklist,
      changed,
      empty,
      unread: again === "unread",
      early: session.early,
    });
    this.#sound = this.#compare().then(() => this.#measure());
    return alone;
  }
  // check refuses a session that the open list cannot join: of another study, or of one that cannot
  // be followed, of another model or grader, or of a model that the page does not have.
  async #check(session, name) {
    const { model, grader } = session,
      open = this.state().worklist;
    if (session.study || open?.study) {
      const { BY_HAND, check } = await wanted("study.js"),
        { models } = this.state();
      check(session, name, open ? (open.study ?? null) : undefined);
      if (!models.includes(BY_HAND)) this.send({ type: "set", models: [...models, BY_HAND] });
    }
    const { models, worklist, model: computes } = this.state();
    if (!models.some((one) => one.name === model?.name))
      throw new Refused(
        `${name} is of a model that this page does not have: ${model?.title ?? model?.name}.`,
        "Open its weights file first, then the session again.",
      );
    if (!worklist) return;
    const close = "Save this list's session and close it first.",
      here = worklist.lines.find(({ result }) => result)?.result.model ?? computes;
    if (here && here !== model.name)
      throw new Refused(`${name} is of another model than this list.`, close);
    if (worklist.by && grader && worklist.by !== grader)
      throw new Refused(
        `${name} is the session of ${grader}, and this one is of ${worklist.by}.`,
        close,
      );
  }
  // join shows the lines of a session with those of the open list, if there is one, and both logs.
  // changed says after which entry a log of the session was changed.
  #join({ id, at, study, model, grader, logs, ...session }, worklist, lines, alone, changed) {
    const { log: mine } = this.state(),
      begun = (session.lines[at] ?? session.lines[0]).key,
      base = worklist ?? { ...newList, open: !narrow(), id: alone ? id : "", study, at: begun },
      entries = logs.map((one) => one.entries);
    const log = worklist
      ? { ...mine, others: joinedLogs(mine.entries, [...mine.others, ...entries]) }
      : { entries: entries[0] ?? [], others: entries.slice(1) };
    this.send({
      type: "restored",
      list: { ...base, lines, by: base.by || String(grader ?? "") },
      model: model.name,
      log: { ...log, changed: changed ?? mine.changed },
      entry: worklist
        ? { did: "merged", session: id, log: logs[0]?.last ?? "" }
        : { did: "opened", session: id },
    });
    if (!worklist) this.send({ type: "stored", list: this.state().worklist });
  }
  // again looks whether this browser keeps the session of a file, in another state. It asks whether
  // to join both, and resolves to "joined" once the kept one is open; to "apart" or "unread" if the
  // file has to be another session, so that it never takes the place of what is kept; else to "".
  async #again({ id, lines }, name) {
    const before =
      id && (await keeping.hold(id)) && (await keeping.all()).find((one) => one.id === id);
    if (!before || before.refused) return before ? "unread" : "";
    const decided = (list) => list.filter((one) => one?.review).length,
      { readings } = before;
    const go = confirm(
      t(
        "This browser keeps this session, with {decided} of {n} images decided; {name} has {other}. Join both? The later decision about an image counts. Cancel opens the file as another session.",
        { decided: decided(readings), n: readings.length, name, other: decided(lines) },
      ),
    );
    if (go && (await this.#take(await keeping.filesOf(id), t("The kept session"), { kept: id })))
      return "joined";
    keeping.release(id);
    return "apart";
  }
  // measure holds the masks of a file against its figures, one image after the other. Tables and
  // ZIPs wait for it. Where they differ nobody knows which are right: the image is computed again.
  async #measure() {
    const wrong = [];
    this.send({ type: "work", measuring: true });
    for (const { key, result, ...line } of this.state().worklist.lines) {
      if (!result?.fromFile || (await fits({ ...line, result }).catch(() => false))) continue;
      const { picture, result: now } =
        this.state().worklist?.lines.find((one) => one.key === key) ?? {};
      if (now?.fromFile)
        this.send({
          type: "line",
          key,
          result: null,
          masks: null,
          review: "",
          ...(picture.missing ? { state: "failed", error: picture.refused } : { state: "waiting" }),
        });
      wrong.push(line.picture.name);
    }
    if (!this.state().worklist) return;
    this.send({ type: "work", measuring: false });
    if (wrong.length)
      this.#note(
        t("The masks are not those of the figures: {files}. Both were dropped.", {
          files: named(wrong),
        }),
        "The images are computed again. Decide about them anew.",
      );
  }
  // compare reads the images that came with a session, one after the other, while a person may work
  // already. What is damaged is not attached any more.
  async #compare() {
    const line = (key) => this.state().worklist?.lines.find((one) => one.key === key),
      damaged = [];
    for (const { key } of this.state().worklist.lines) {
      const blob = line(key)?.picture.blob;
      if (
        !(blob instanceof Claimed) ||
        blob.sound ||
        (await blob.arrayBuffer().then(
          () => true,
          () => false,
        ))
      )
        continue;
      const {
        picture: { name, ...other },
        result,
      } = line(key) ?? { picture: {} };
      if (other.blob !== blob) continue;
      const picture = {
        ...other,
        name,
        blob: null,
        missing: { sha256: await sumOf(blob), bytes: blob.size },
        refused: missing(name, this.state().worklist.study),
      };
      this.send({ type: "line", key, picture, result: pictureIn(result, picture) });
      damaged.push(name);
    }
    if (damaged.length) this.#note(notRead(damaged), lacking(this.state().worklist));
  }
  // attached gives the open readings of a study the images of its file.
  #attached(lines) {
    const given = new Map(lines.map((line) => [identity(line), line.picture.blob])),
      blobs = new Map();
    for (const line of this.state().worklist.lines) {
      const blob = line.picture.missing && given.get(identity({ ...line, sitting: 1 }));
      if (blob) blobs.set(line.key, blob);
    }
    this.send({ type: "attached", blobs });
    this.#note(attachedText(blobs.size));
    return true;
  }
  // enter asks who reads a study, unless the session says so, and gives the session the lines that
  // he reads now. It resolves to the module reading.js, and keep, whether the reader wants it kept;
  // or to null if nobody reads it.
  async #enter(session) {
    let keep = false;
    const { askReader, firstOf, secondFrom, secondOf } = await wanted("study.js"),
      reading = await wanted("reading.js", "study.js"),
      { study, lines } = session,
      keyed = (...of) => this.segmenter.picture(...of);
    if (!session.grader) {
      const reader = await askReader(study, lines.length, keeping.can);
      if (!reader) return null;
      Object.assign(session, { grader: reader.by, id: crypto.randomUUID() });
      if (study.readers) session.lines = firstOf(lines, study, reader.by, keyed);
      keep = reader.keep && keeping.can;
    }
    const from = secondFrom(session.lines, study);
    if (from > Date.now()) session.early = reading.dayOf(from);
    else if (from !== null) {
      session.lines = [...lines, ...secondOf(lines, study, session.grader, keyed)];
      session.at = lines.length;
    }
    this.segmenter.study = new reading.Answers(this.segmenter, study, session.model);
    return { ...reading, keep };
  }
  #report(
    name,
    {
      whole,
      damaged,
      joined: { added, taken, conflicts },
      alone,
      began,
      changed,
      empty,
      unread,
      early,
    },
  ) {
    const said = [
        !whole && t("{name} was cut short: what could be read is here.", { name }),
        damaged.length && notRead(damaged),
        !began &&
          t(
            "{name} was joined: {added} images are new, {taken} were taken over, {conflicts} have two versions.",
            { name, added, taken, conflicts },
          ),
        empty && t("{name} has work, and an empty log: it does not say when.", { name }),
        changed !== null && changedText(changed),
        early && t("The second sitting may begin on {day}.", { day: early }),
        !alone && t(TAB[0]),
        unread &&
          t("What this browser keeps of the same session cannot be read, and stays as it is."),
      ],
      next = [
        conflicts && t("Choose a version where the list says so."),
        lacking(this.state().worklist),
        !alone && t(TAB[1]),
      ];
    if (!said.some(Boolean) && next.some(Boolean)) said.push(t("{name} is open.", { name }));
    this.#tell(said, ...next);
  }

  // attach gives lines their images, found by the content of files, each { blob, name }.
  attach(files) {
    return this.#run(async () => {
      const lacking = this.state().worklist.lines.filter(({ picture }) => picture.missing),
        sizes = new Set(lacking.map(({ picture }) => picture.missing.bytes)),
        blobs = new Map();
      let over = 0;
      const changed = [];
      for (const { blob, name } of files) {
        const sum = !blob.size || sizes.has(blob.size) ? await sumOf(blob) : "",
          found = lacking.filter(({ picture }) => picture.missing.sha256 === sum);
        for (const { key } of found) blobs.set(key, blob);
        if (found.length) continue;
        if (lacking.some(({ picture }) => picture.name === name)) changed.push(name);
        else over++;
      }
      const wrong = changed.filter((name) =>
        lacking.some((line) => line.picture.name === name && !blobs.has(line.key)),
      );
      this.send({ type: "attached", blobs });
      const some = (n, one, other) => n && t({ one, other }, { n });
      if (!files.length) return;
      this.#tell(
        [
          blobs.size && attachedText(blobs.size),
          wrong.length &&
            t("Not attached, as the content is another one: {files}.", { files: named(wrong) }),
          some(
            over,
            "{n} file is of no image of the session, and was passed over.",
            "{n} files are of no image of the session, and were passed over.",
          ),
        ],
        some(
          lacking.length - blobs.size,
          "{n} image is still missing.",
          "{n} images are still missing.",
        ),
      );
    });
  }

  // showLog shows the last entries of the log.
  showLog() {
    const {
        log: { entries, changed },
        worklist,
        picture,
        models,
      } = this.state(),
      last = entries.slice(-SHOWN),
      box = $("session-log");
    const nameOf = ({ reading }) =>
      reading === undefined
        ? ""
        : isolated((worklist?.lines[reading]?.picture ?? picture)?.name ?? "");
    const rows = last.map((one, i) => [
      entries.length - last.length + i + 1,
      String(one.time ?? "")
        .slice(0, 19)
        .replace("T", " "),
      isolated(String(one.by ?? "")),
      [
        t(String(one.did ?? "?")),
        one.structure && t(one.structure),
        one.model && t(models.find(({ name }) => name === one.model)?.title ?? String(one.model)),
        one.what,
        one.reason,
        one.mm > 0 &&
          t("{length} mm a pixel", { length: number(one.mm, { maximumSignificantDigits: 4 }) }),
        one.n > 1 && `× ${one.n}`,
      ]
        .filter(Boolean)
        .join(" "),
      nameOf(one),
    ]);
    box.replaceChildren(
      box.firstElementChild,
      ...(changed === null ? [] : [element("p", {}, changedText(changed))]),
      table(["№", t("Time (UTC)"), t("Who"), t("What"), t("Image")], rows.reverse()),
    );
  }

  // ---- what the browser keeps ----

  #set(values) {
    this.send({ type: "set", session: { ...this.state().session, ...values } });
  }
  // offer shows the sessions that the browser keeps, but for the one that is open.
  async offer() {
    const open = this.state().worklist?.id,
      all = (await keeping.all()).filter(({ id }) => id !== open);
    this.#set({
      kept: all.map(({ id, refused, grader, saved, readings = [] }) => ({
        id,
        refused: refused?.message ?? "",
        grader,
        saved,
        images: readings.length,
        decided: readings.filter((one) => one?.review).length,
      })),
    });
  }
  goOn(id) {
    return this.#run(async () => {
      if (!(await keeping.hold(id))) return this.#note(...TAB);
      try {
        await this.#take(await keeping.filesOf(id), t("The kept session"), {
          kept: this.state().worklist ? "" : id,
        });
      } finally {
        if (this.state().worklist?.id !== id) keeping.release(id);
      }
      await this.offer();
    });
  }
  // keep begins to keep the session, or ends it and forgets what was kept, which is then in no
  // file.
  keep(on) {
    return this.#run(async () => {
      if (!keeping.can) return;
      const { id } = this.#list();
      if (on && !(await keeping.hold(id))) {
        this.#set({ keeping: false });
        return this.#note(...TAB);
      }
      this.#seen = null;
      this.#set({ keeping: on, at: "" });
      if (on) {
        navigator.storage.persist?.().catch(() => {});
        this.changed();
      } else {
        clearTimeout(this.#timer);
        this.#timer = 0;
        this.send({ type: "set", safe: [] });
        await this.forget(id);
      }
    });
  }
  forget(id) {
    return this.#run(async () => {
      if (!(await keeping.hold(id))) return this.#note(...TAB); // it would vanish below that tab
      this.#writing = this.#writing.then(() => keeping.forget(id));
      await this.#writing;
      await this.offer();
    });
  }
  // changed keeps the session soon, if the list is another one.
  changed() {
    const { session, worklist } = this.state();
    this.#reading?.changed();
    if (!session.keeping || worklist === this.#seen) return;
    this.#seen = worklist;
    this.#timer ||= setTimeout(() => {
      this.#writing = this.#writing.then(() => this.#keepNow());
    }, DELAY);
  }
  async #keepNow() {
    this.#timer = 0;
    try {
      const { list, files } = await this.#files(
        this.state().session.images || Boolean(this.state().worklist?.study),
        true,
      ); // a grader may have no other file of them
      if (!this.state().session.keeping) return;
      await keeping.put(list.id, files);
      this.#set({ at: new Date().toISOString() });
      this.send({ type: "stored", list });
    } catch (error) {
      this.send({
        type: "failed",
        error: {
          message: `This browser could not keep the session: ${error?.message ?? error}`,
          next: "Save it as a file.",
        },
      });
    }
  }
}
