package site

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// looked writes what people see of a state in four sizes to MRPRISM_SCREENSHOTS, and runs axe over
// it, if MRPRISM_AXE names it.
func (p *page) looked(state string) {
	p.t.Helper()
	folder := os.Getenv("MRPRISM_SCREENSHOTS")
	if folder == "" {
		return
	}
	require.NoError(p.t, os.MkdirAll(folder, 0o755))
	axe, _ := os.ReadFile(os.Getenv("MRPRISM_AXE"))
	for name, size := range map[string][2]int64{"1440": {1440, 900}, "1024": {1024, 768}, "390": {390, 844}, "kiosk": {1080, 1920}} {
		p.run(chromedp.EmulateViewport(size[0], size[1]))
		for _, theme := range []string{"light", "dark"} {
			p.run(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}))
			p.still()
			p.shot(filepath.Join(folder, state+"-"+name+"-"+theme+".png"))
			if axe != nil {
				assert.Empty(p.t, get[[]string](p, string(axe)+`; axe.run({ exclude: [["#language"]] }, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 160)).join(" | ")))`), "%s, %s, %s", state, name, theme)
			}
		}
	}
	p.run(chromedp.EmulateViewport(1366, 768))
}

// fill fills in the form over the page, and sends it.
func (p *page) fill(values map[string]string) {
	p.t.Helper()
	p.until(`document.getElementById("ask")?.open`)
	for name, value := range values {
		p.do(fmt.Sprintf(`(() => { const field = document.querySelector("#ask [name=%s]"); if (field.type === "checkbox") field.checked = %[2]q === "yes"; else field.value = "%[2]s"; field.oninput?.(); field.onchange?.(); })()`, name, value))
	}
	p.do(`document.querySelector("#ask button[value=go]").click()`)
}

// leaks is what a page of a blind study must not have anywhere: files' names, figures and what the
// model thinks.
const leaks = `(document.documentElement.outerHTML.replace(/<(head|script)[^]*?<\/\1>/g, "").match(/eye-\w+\.png|0\.52|trusted|do not use|, consensus|Rater\d|at least \d of \d experts, |percent of the image/g) ?? []).join()`

// read waits until the grader may draw on an image, and has read so many.
func (p *page) read(name, progress string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.getElementById("file-line").textContent.startsWith("%s ") && document.getElementById("reading-line")?.textContent === %q && document.getElementById("stage").classList.contains("editing")`, name, progress))
	assert.Empty(p.t, get[string](p, leaks), name)
}

// answer answers a choice and a number.
func (p *page) answer(choice, number string) {
	p.t.Helper()
	p.do(fmt.Sprintf(`(() => { for (const [kind, value] of [["#reading label:not(:has(#reading-reason)) > select", %q], ["#reading [type=number]", %q]]) { const one = document.querySelector(kind); one.value = value; one.onchange(); } })()`, choice, number))
}

// followed says what is wrong with the answers of a segmenter that follows a blind study from the
// model.
const followed = `import("./reading.js").then(async ({ Answers }) => {
	const figure = { class: "disc", area: 9, share: 0.1, height: 3, width: 3, pieces: 1, low: 8, high: 10, trust: { word: "trusted" } };
	const answer = { id: 7, width: 30, height: 20, classes: ["disc"], raters: ["ann"], found: true, doubts: [{ code: "odd", text: "odd" }], doubt: 2, roi: { x: 3, y: 4, side: 5, whole: false }, formats: ["png"], measurements: { structures: [figure], verticalRatio: { value: 0.5 } } };
	const made = (structures, result) => {
		const answers = new Answers({ decode: async () => ({ width: 30, height: 20 }) }, { structures, start: "model", blind: true }, { name: "levels", title: "Levels" });
		return { segment: () => answers.segment(async () => result, {}), show: (...of) => answers.show(...of) ?? "the model's" };
	};
	const wrong = [], is = (what, value, wanted) => { if (JSON.stringify(value) !== JSON.stringify(wanted)) wrong.push(what + ": " + JSON.stringify(value)); };
	const bare = await made(["disc"], answer).segment({}, {});
	is("bare", [bare.raters, bare.doubts, bare.doubt, bare.roi, bare.formats, bare.measurements], [[], [], null, { x: 0, y: 0, side: 30, whole: true }, [], { structures: [{ class: "disc", area: 9, share: 0.1, height: 3, width: 3, pieces: 1 }] }]);
	is("its mask", await made(["disc"], answer).show("map", bare, {}), "the model's");
	const lost = made(["disc"], { ...answer, found: false }), none = await lost.segment({}, {});
	is("nothing found", [none.found, (await lost.show("map", none, {})).values.length], [true, 600]);
	is("other structures", await made(["rim"], answer).segment({}, {}).catch(({ message }) => message), "The study is of rim, and this model is of disc.");
	return wrong.join("; ");
})`

// An organiser makes a study of the open list. A grader reads it blind, stops, goes on in another
// page, and sends back a session. What does not belong to the study is named, and changes nothing.
func TestReadingStudy(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	p := open(t, s, 1366, 768)
	p.ready()
	p.saving()
	paths := differing(t, "eye-one.png", "eye-two.png", "eye-three.png")
	p.upload("file", append(paths, paths[0])...)
	p.allComputed()
	p.press("a", false)
	p.click("study-make")
	p.until(`document.getElementById("ask")?.open`)
	p.looked("study-plan")
	assert.Equal(t, "disc, cup", get[string](p, `document.querySelector("#ask [name=structures]").value`), "those of the model")
	p.fill(map[string]string{"name": "Two discs", "order": "fixed", "questions": "Glaucoma: 1 no | 2 yes\\nSure: 0 to 9"})
	study := p.savedAs(".mrprism")
	p.until(`document.getElementById("banner-message").textContent === "The study is saved, with 3 images. Left out, as it cannot be read or is there twice: eye-one.png."`)
	files, session := unpacked(t, study)
	plan := session["study"].(map[string]any)
	assert.Equal(t, map[string]any{
		"id": plan["id"], "name": "Two discs", "structures": []any{"disc", "cup"}, "start": "empty", "order": "fixed", "seed": plan["seed"], "repeats": 1., "blind": true, "days": 28., "readers": []any{}, "each": 4., "anchors": 4.,
		"questions": []any{map[string]any{"name": "Glaucoma", "options": []any{"1 no", "2 yes"}}, map[string]any{"name": "Sure", "low": 0., "high": 9.}},
	}, plan)
	assert.NotContains(t, string(files["session.json"]), "eye-", "no file's name")
	assert.NotContains(t, files, "log/1.jsonl", "nothing of what the organiser did")
	assert.Len(t, files, 1+3, "the images are in the file, each once")
	for i, one := range session["readings"].([]any) {
		reading := one.(map[string]any)
		assert.Equal(t, []any{fmt.Sprintf("#%d", i+1), "", nil}, []any{reading["image"].(map[string]any)["name"], reading["review"], reading["result"]}, "nothing of what the organiser did")
	}
	p.do(`Object.keys(saved).forEach((name) => delete saved[name])`)
	p.click("study-make")
	p.fill(map[string]string{"name": "From the model", "start": "model", "images": "no"})
	_, other := unpacked(t, p.savedAs(".mrprism"))
	assert.Equal(t, map[string]any{"name": "levels", "title": "Fundus: optic disc and cup", "sha256": "ab12"}, other["model"])
	assert.Empty(t, get[string](p, followed))
	p.clean()

	profile := chromedp.UserDataDir(t.TempDir())
	grader := open(t, s, 1366, 768, profile)
	grader.ready()
	grader.saving()
	grader.drop("study.mrprism", study)
	grader.until(`document.getElementById("ask")?.open`)
	grader.looked("study-begin")
	grader.fill(map[string]string{"by": " EM ", "keep": "yes"})
	grader.read("#1", "0 of 4 read")
	for _, id := range []string{"measurements", "experts", "region", "save", "model", "compare-open", "work-zip", "work-sort", "study-make"} {
		assert.False(t, grader.visible(id), id)
	}
	answers := grader.answering(true, false, true)
	grader.press(" ", false)
	grader.said("#1", "drawn")
	grader.until(`document.getElementById("correct-line").textContent.includes("disc")`)
	grader.looked("study-reading")
	grader.press("a", false)
	grader.until(`document.getElementById("banner-message").textContent === "“Glaucoma” is not answered."`)
	grader.answer("2 yes", "7")
	grader.click("reading-done")
	assert.Equal(t, "Nothing is drawn of: cup. Is there none in this image?", <-answers)
	grader.read("#2", "1 of 4 read")
	grader.answer("1 no", "0")
	grader.click("reading-done") // nothing is drawn
	assert.Equal(t, "Nothing is drawn of: disc, cup. Is there none in this image?", <-answers)
	grader.press("x", false)
	assert.Equal(t, "reading-reason", get[string](grader, `document.activeElement.id`))
	grader.do(`(() => { const reason = document.getElementById("reading-reason"); reason.value = "blurred"; reason.onchange(); const comment = document.getElementById("work-comment"); comment.value = "Motion"; comment.oninput(); })()`)
	grader.said("#2", "cannot be graded")
	grader.looked("study-refused")
	grader.click("reading-done")
	grader.read("#3", "2 of 4 read")
	grader.click("reading-save")
	half := grader.savedAs(".mrprism")
	assert.Regexp(t, `^mrprism-Two_discs-EM-2\d{3}-`, get[string](grader, `Object.keys(saved).find((name) => name.endsWith(".mrprism"))`))
	grader.do(`(async () => { // what is kept has the last decision
		const kept = async () => {
			const sessions = await (await navigator.storage.getDirectory()).getDirectoryHandle("sessions");
			for await (const place of sessions.values()) {
				const said = await (await (await place.getFileHandle("session.json")).getFile()).text();
				return said.includes("Motion") && said.includes('"at":2');
			}
		};
		while (!await kept().catch(() => false)) await new Promise((resolve) => setTimeout(resolve, 50));
	})()`)
	grader.run(chromedp.Reload())
	grader.until(`document.querySelectorAll("#session-kept li").length === 1`)
	grader.goOn()
	grader.read("#3", "2 of 4 read") // the images are kept
	grader.clean()

	again := open(t, s, 1366, 768)
	again.ready()
	again.saving()
	again.drop("of-em.mrprism", half)
	again.until(`document.getElementById("banner-next").textContent === "4 images are not attached. Open the file of the study, which may have them, or the images."`)
	again.drop("study.mrprism", study)
	again.read("#3", "2 of 4 read")
	assert.Equal(t, "Two discs · EM", again.text("reading-who"))
	again.pick("#1")
	again.until(`document.getElementById("correct-line").textContent.includes("disc")`)
	again.said("#4", "not graded")
	before := again.lines()
	changed := func(change func(plan map[string]any)) []byte {
		return repacked(t, study, func(s map[string]any) { change(s["study"].(map[string]any)) })
	}
	for _, c := range []struct {
		says string
		data []byte
	}{
		{"x.mrprism is not of the study that is open.", changed(func(plan map[string]any) { plan["id"] = "another" })},
		{"x.mrprism is not of the study that is open.", repacked(t, half, func(s map[string]any) { s["study"] = nil })},
		{"x.mrprism has rim, which is no structure of the study: disc, cup.", changed(func(plan map[string]any) { plan["structures"] = []string{"disc", "rim"} })},
		{"x.mrprism has rim, which is no structure of the study: disc, cup.", repacked(t, half, func(s map[string]any) {
			s["readings"].([]any)[0].(map[string]any)["drawn"].([]any)[0].(map[string]any)["class"] = "rim"
		})},
		{"The plan of the study in x.mrprism is damaged.", changed(func(plan map[string]any) { plan["structures"] = "disc" })},
		{"x.mrprism is the session of AB, and this one is of EM.", repacked(t, half, func(s map[string]any) { s["grader"] = "AB" })},
		{"x.mrprism was saved by a later version of MrPrism.", repacked(t, half, func(s map[string]any) { s["version"] = 2 })},
		{"1 file is of no image of the session, and was passed over.", photo(t, 64, 64)},
	} {
		name := "x.mrprism"
		if bytes.HasPrefix(c.data, []byte("\x89PNG")) {
			name = "eye-four.png"
		}
		again.do(`document.getElementById("banner-close").click()`)
		again.drop(name, c.data)
		again.until(fmt.Sprintf(`document.getElementById("banner-message").textContent.startsWith(%q)`, c.says))
		assert.Equal(t, before, again.lines(), c.says)
	}
	again.do(`document.getElementById("banner-close").click()`)
	questions := again.answering(true, true)
	for i, name := range []string{"#3", "#4"} {
		again.pick(name)
		again.read(name, fmt.Sprintf("%d of 4 read", 2+i))
		again.answer("1 no", "9")
		again.press("a", false)
		<-questions
	}
	again.until(`document.getElementById("banner-message").textContent === "All 4 images are read."`)
	again.looked("study-all-read")
	sent, back := unpacked(t, again.sessionOf())
	assert.Equal(t, session["study"], back["study"])
	assert.Equal(t, "EM", back["grader"])
	assert.NotEqual(t, session["id"], back["id"])
	said, seconds := []any{}, 0.
	for _, one := range back["readings"].([]any) {
		reading := one.(map[string]any)
		said = append(said, []any{reading["review"], reading["reason"], reading["comment"], len(reading["drawn"].([]any)), fmt.Sprint(reading["answers"])})
		seconds += reading["seconds"].(float64) // in tenths; one may be read in less
	}
	assert.Positive(t, seconds)
	assert.Equal(t, []any{
		[]any{"accepted", "", "", 1, "map[Glaucoma:2 yes Sure:7]"}, []any{"rejected", "blurred", "Motion", 0, "map[Glaucoma:1 no Sure:0]"},
		[]any{"accepted", "", "", 0, "map[Glaucoma:1 no Sure:9]"}, []any{"accepted", "", "", 0, "map[Glaucoma:1 no Sure:9]"},
	}, said)
	assert.Contains(t, pixelsOf(t, sent["drawn/1_1.png"]), byte(255))
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if strings.HasPrefix(name, "masks/") {
			assert.NotContains(t, pixelsOf(t, sent[name]), byte(255), "the masks started empty")
		}
	}
	guide, err := os.ReadFile("guide/study.md")
	require.NoError(t, err)
	for field := range session["study"].(map[string]any) {
		assert.Contains(t, string(guide), "`"+field+"`", "a field that the guide does not explain")
	}
	again.clean()
}
