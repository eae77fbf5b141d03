package site

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// marked is the site in a German in which every translated piece stands in brackets: what a page
// shows outside of them nobody has translated. Values in a text stand outside of its brackets.
func marked(t *testing.T) *server {
	t.Helper()
	files := map[string][]byte{"sw.js": noKeeper}
	bracketed := func(text string) string {
		return regexp.MustCompile(`\{\w+\}|[^{]+`).ReplaceAllStringFunc(text, func(part string) string {
			if place.MatchString(part) {
				return part
			}
			return "⟦" + part + "⟧"
		})
	}
	for _, name := range []string{"de.json", "de.programs.json", "de.sessions.json", "de.field.json", "de.series.json", "de.archive.json"} {
		texts := readTexts(t, name)
		for text, translated := range texts {
			switch translated := translated.(type) {
			case string:
				texts[text] = bracketed(translated)
			case map[string]any:
				for form, text := range translated {
					translated[form] = bracketed(text.(string))
				}
			}
		}
		var err error
		files[name], err = json.Marshal(texts)
		require.NoError(t, err)
	}
	worker, err := os.ReadFile("testdata/mock_worker.js")
	require.NoError(t, err)
	files["worker.js"] = worker
	s := serve(t, built(t, files), nil)
	s.wishes, s.plain = "?lang=de", true
	return s
}

// untranslated lists what the page shows or says without German. Names of files and raters, units
// and the like are no words of a language.
const untranslated = `(() => {
	const names = /MrPrism|Test adapter|GPU device lost: reading: as asked|as asked|\[[a-z, ]+\]|Go float32|Newborn brain, (three|seven) raters( and marks)?|Fundus: optic disc and cup|\b[\w.-]+\.(png|jpg|safetensors|dcm|mrprism)\b|Rater\s?\d|[A-Z]\w+ (Class|Instance) UID \([0-9A-F,]+\)|Ann|Bob|Eve|Rec\d?|\b[ISNT]\b|English|DE\b|EN\b|px|MB|kB|\bms\b|\bs\b|×|1:1|%/g;
	const rest = (text) => {
		for (let before = ""; before !== text;) [before, text] = [text, text.replace(/⟦[^⟦⟧]*⟧/g, " ")];
		return text.replace(names, " ");
	};
	const missing = new Set(), look = (text) => { if (/\p{L}/u.test(rest(text))) missing.add(text.trim().replace(/\s+/g, " ")); };
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
	for (let node = walker.nextNode(); node; node = walker.nextNode()) {
		if (node.nodeType === Node.TEXT_NODE) { if (!node.parentElement.closest("noscript, #changed")) look(node.data); continue; }
		for (const name of ["aria-label", "title", "placeholder", "aria-valuetext", "aria-roledescription"]) look(node.getAttribute(name) ?? "");
	}
	return [...missing];
})()`

// German lists what is missing in the state that the page is in.
func (p *page) german(state string) {
	p.t.Helper()
	assert.Empty(p.t, get[[]string](p, untranslated), state)
}

func TestEveryTextHasItsGerman(t *testing.T) {
	t.Parallel()
	s := marked(t)
	p := open(t, s, 1200, 800)
	p.ready()
	p.german("welcome")
	p.sample()
	p.german("result by levels")
	p.dropped("poor.dcm")
	p.german("a source without UIDs")
	p.dropped("scan.dcm")
	for _, format := range []string{"tiff", "nifti", "dicom-seg", "svg", "geojson", "overlay", "png"} {
		p.format(format)
		p.german("saving as " + format)
	}
	p.do(`document.querySelector("input[value=disagreement]").click(), document.getElementById("level-all").click()`)
	p.until(`document.getElementById("legend").innerText.includes("blass")`)
	p.german("levels")
	p.do(`document.querySelectorAll("details").forEach((one) => { one.open = true; })`)
	p.click("measure")
	p.german("measuring")
	x, y := get[float64](p, `innerWidth / 4`), get[float64](p, `innerHeight / 2`)
	p.drag([2]float64{x, y}, [2]float64{x + 100, y})
	p.do(`document.getElementById("ruler-known").value = "2", document.getElementById("ruler-use").click()`)
	p.german("measured")
	p.click("ruler-forget")
	p.click("measure")
	p.click("turn")
	p.until(`document.getElementById("file-line").textContent.includes("gedreht") && ` + sampleDone)
	p.do(`(() => { const eye = document.getElementById("eye"); eye.value = "right"; eye.dispatchEvent(new Event("change")); })()`)
	p.second("spaced-OS-high.jpg", readBuilt(t, "sample.jpg"))
	p.german("comparing")
	p.until(compareDone)
	p.click("comparison-mirror")
	p.until(`document.getElementById("comparison-note").textContent.includes("Ong 1999")`)
	p.german("compared")
	p.click("comparison-swap")
	p.do(`(() => { const eye = document.getElementById("eye"); eye.value = "right"; eye.dispatchEvent(new Event("change")); })()`)
	p.until(`document.getElementById("measure-remark").textContent.includes("Dateiname nennt das andere Auge")`)
	p.german("working on the second")
	p.click("comparison-swap")
	p.click("comparison-end")
	p.click("place")
	p.german("placing")
	p.click("place-cancel")
	p.click("correct-start")
	for _, tool := range []string{"eraser", "push", "polygon", "ellipse", "fill", "handles", "brush"} {
		p.do(`document.querySelector("#correct-tool input[value=` + tool + `]").click()`)
		p.german("correcting, " + tool)
	}
	p.do(`document.getElementById("stage").focus()`)
	p.press(" ", false)
	p.until(`!document.getElementById("correct-line").hidden`)
	p.german("corrected")
	p.press("t", false)
	p.until(`!document.getElementById("banner").hidden`)
	p.german("not turned")
	p.click("banner-close")
	p.click("correct-end")
	p.answering(true, true, true)
	p.choose("marks")
	p.until(`document.getElementById("advanced").hidden && ` + sampleDone)
	p.load("bob", "bob.png", []byte("bob"))
	p.load("you", "mine.png", []byte("mine"))
	p.until(`document.querySelectorAll("#mark-list li").length === 2 && ` + sampleDone)
	p.german("marks")
	p.choose("raters")
	p.until(`document.querySelectorAll("#rater-list li").length === 7 && ` + sampleDone)
	p.do(`document.querySelectorAll("input[name=rater]").forEach((box) => box.click())`)
	p.german("raters")
	p.choose("levels")
	p.until(`!document.getElementById("levels").hidden && ` + sampleDone)
	photo := readBuilt(t, "sample.jpg")
	for _, name := range []string{"odd.jpg", "nocup.jpg", "spaced.jpg", "volume.jpg", "many.jpg", "nodisc.jpg"} {
		p.drop(name, photo)
		p.until(fmt.Sprintf(`document.getElementById("file-line").textContent.includes(%q) && `, name) + sampleDone)
		p.german(name)
	}
	p.drop("cells-slow.jpg", photo)
	p.until(`!document.getElementById("field").hidden && ` + sampleDone)
	p.german("cells are offered")
	p.findAll()
	p.until(`document.getElementById("progress-text").textContent.includes("Umrisse")`)
	p.german("cells are found")
	p.until(fieldShown)
	for _, tool := range []string{"split", "add", "select"} {
		p.do(`document.querySelector("input[name=field-tool][value=` + tool + `]").click()`)
		p.german("cells, " + tool)
	}
	p.do(`document.getElementById("stage").focus()`)
	p.press("ArrowRight", false)
	p.press("Delete", false)
	p.german("a cell is deleted")
	p.press("Delete", false)
	p.until(`!document.getElementById("banner").hidden`)
	p.german("one change at a time")
	p.until(cellCount + ` === 23`)
	p.german("a cell is gone")
	p.click("undo")
	p.until(cellCount + ` === 24`)
	for _, name := range []string{"gpulost.jpg", "crash.jpg", "notes.png"} {
		content := photo
		if name == "notes.png" {
			content = []byte("not an image")
		}
		p.drop(name, content)
		p.until(`!document.getElementById("banner").hidden && document.getElementById("progress").hidden && !document.getElementById("model").disabled`)
		p.german(name)
		p.click("banner-close")
	}
	p.drop("stepwise.jpg", photo)
	for _, stage := range []string{"Modell", "Ausschnitt", "Segment"} {
		p.until(`document.getElementById("progress-text").textContent.includes("` + stage + `")`)
		p.german("progress: " + stage)
		p.do(`new BroadcastChannel("go on").postMessage("")`)
	}
	p.click("close")
	p.until(`document.getElementById("welcome")?.checkVisibility()`)
	p.ready()
	_, paths := folderOf(t, "one.png", "cut.png", "odd.png", "nodisc.png", "slow.png")
	p.upload("file", paths...)
	p.onStage("one.png")
	p.press("a", false)
	p.said("slow.png", "rechnet")
	p.german("list, computing")
	p.click("work-pause")
	p.click("correct-start")
	p.press(" ", false)
	p.said("one.png", "korrigiert")
	p.german("list, paused and corrected")
	p.press("Escape", false)
	p.press("x", false)
	p.click("work-pause")
	p.until(`document.getElementById("work-meter").hidden`)
	p.german("list, computed")
	p.click("work-filter")
	p.german("list, to review")
	p.saving()
	p.click("session-keep")
	p.until(`!document.getElementById("session-line").hidden`)
	data := p.sessionOf()
	p.drop("notes.mrprism", []byte("this is text"))
	p.until(`document.getElementById("banner-message").textContent.includes("notes.mrprism")`)
	p.german("no session")
	p.drop("other.mrprism", repacked(t, data, func(s map[string]any) {
		first, second := s["readings"].([]any)[0].(map[string]any), s["readings"].([]any)[1].(map[string]any)
		first["review"], first["comment"] = "accepted", ""
		second["image"].(map[string]any)["sha256"] = strings.Repeat("ab", 32)
	}))
	p.until(`document.getElementById("banner-message").textContent.includes("other.mrprism")`)
	p.german("two versions, and an image that is missing")
	p.drop("two.png", photo)
	p.until(`document.getElementById("banner-message").textContent.includes("übergangen")`)
	p.german("a file of no image")
	p.do(`Object.keys(saved).forEach((name) => delete saved[name])`)
	p.click("study-make")
	p.until(`document.getElementById("ask")?.open`)
	p.german("the plan of a study")
	p.fill(map[string]string{"name": "Ann"})
	study := p.savedAs(".mrprism")
	p.until(`document.getElementById("banner-message").textContent.includes("Studie ist gesichert")`)
	p.german("a study is saved")
	p.drop("study.mrprism", study)
	p.until(`document.getElementById("banner-message").textContent.includes("Lesestudie")`)
	p.german("a study, and other images are open")
	p.run(chromedp.Navigate(s.URL + "?lang=de&again"))
	p.ready()
	p.drop("study.mrprism", study)
	p.until(`document.getElementById("ask")?.open`)
	p.german("who reads")
	p.fill(map[string]string{"by": "Eve"})
	p.until(`document.getElementById("stage").classList.contains("editing")`)
	p.german("reading")
	p.do(`(() => { const reason = document.getElementById("reading-reason"); reason.value = "blurred"; reason.onchange(); })()`)
	p.click("reading-done")
	p.german("all is read")
	p.clean()
}

// The page speaks the browser's language, that of the address, or the one that the user chose last,
// and changes it without losing anything.
func TestLanguages(t *testing.T) {
	t.Parallel()
	s := mock(t, nil)
	p := open(t, s, 1200, 800)
	p.ready()
	lang := func() string { return get[string](p, `document.documentElement.lang`) }
	assert.Equal(t, "en", lang())
	p.drop("odd.jpg", readBuilt(t, "sample.jpg"))
	p.until(sampleDone)
	p.click("zoom-in")
	zoom, english := p.text("zoom"), get[string](p, `document.body.innerText`)
	p.click("language")
	p.until(`document.getElementById("doubt-title").textContent === "Das Modell zweifelt an diesem Ergebnis."`)
	assert.Equal(t, "de", lang())
	assert.Equal(t, zoom, p.text("zoom"), "the view stays")
	assert.Equal(t, "EN", p.text("language"))
	assert.Regexp(t, `^Exkavation/Papille, vertikal\s*0,52`, p.text("headline"), "numbers as Germans write them")
	assert.Contains(t, p.text("legend"), "Papille, Konsens")
	assert.Contains(t, get[string](p, `document.querySelector("#tools [id=zoom-in]").ariaLabel`), "Vergrößern")
	p.saving()
	p.click("save-csv")
	assert.Contains(t, p.record("odd.csv")["result"].(map[string]any)["doubts"].([]any)[0].(map[string]any)["text"], "This picture", "files stay English")
	p.run(chromedp.Reload())
	p.ready()
	assert.Equal(t, "de", lang(), "it is remembered")
	assert.Contains(t, p.text("welcome"), "Bild öffnen")
	p.click("language")
	p.until(`document.documentElement.lang === "en"`)
	p.drop("odd.jpg", readBuilt(t, "sample.jpg"))
	p.until(sampleDone)
	p.click("zoom-in")
	assert.Equal(t, english, get[string](p, `document.body.innerText`), "back in English everything is as it was")

	p.run(chromedp.Navigate(s.URL + "?lang=de"))
	p.ready()
	assert.Equal(t, "de", lang(), "the address comes before what is remembered")
	p.click("language")
	p.until(`document.documentElement.lang === "en" && location.search === "?lang=en"`)
	p.clean()

	s.before = `Object.defineProperty(navigator, "languages", { get: () => ["de-DE", "de"] })`
	german := open(t, s, 1200, 800)
	german.until(`document.documentElement.lang === "de"`)
	german.ready()
	assert.Contains(t, german.text("welcome"), "Bild öffnen", "the browser's language")
}

// Nothing is painted before the texts are in the user's language.
func TestNoFlashOfEnglish(t *testing.T) {
	t.Parallel()
	s, texts := mock(t, nil), make(chan struct{}) // closed when de.json may come
	s.wishes = "?lang=de"
	// Without this, style.css shows the texts after three seconds.
	s.before = `{ const sheet = new CSSStyleSheet(); sheet.replaceSync("body { animation: none !important; }"); document.adoptedStyleSheets = [sheet]; }`
	handler := s.http.Handler
	p := open(t, s, 1200, 800)
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/de.json" {
			<-texts
		}
		handler.ServeHTTP(w, r)
	})
	p.do(`(location.href = "?lang=de&again")`)
	p.until(`location.search.includes("again") && document.readyState !== "loading" && performance.getEntriesByName(new URL("de.json", location.href).href).length === 0`)
	p.still()
	assert.Zero(t, get[int](p, `performance.getEntriesByName("first-contentful-paint").length`))
	close(texts)
	p.ready()
	p.until(`performance.getEntriesByName("first-contentful-paint").length > 0`) // ready may come before a paint
	first := get[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	assert.Greater(t, first, get[float64](p, `performance.getEntriesByName(new URL("de.json", location.href).href)[0].responseEnd`))
	p.clean()
}
