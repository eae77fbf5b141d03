package site

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// strokes draws a disc and a cup with the mouse, wider by the reader and the image.
func (p *page) strokes(reader, image int) {
	p.t.Helper()
	box := get[[]float64](p, `(() => { const { left, top, width, height } = document.getElementById("stage").getBoundingClientRect(); return [left + width / 2, top + height / 2]; })()`)
	for _, class := range []string{"disc", "cup"} {
		p.option("correct-class", class)
		wide := float64(20 + 6*reader + 3*(image%5))
		if class == "cup" {
			wide /= 2
		}
		p.drag([2]float64{box[0] - wide, box[1]}, [2]float64{box[0] + wide, box[1]}, [2]float64{box[0], box[1] + wide})
		p.until(fmt.Sprintf(`document.getElementById("correct-line").textContent.includes(%q)`, class))
	}
}

// readAll reads the images of a sitting that are not read, from number on.
func (p *page) readAll(reader, from, to int, sitting int, of int) {
	p.t.Helper()
	for i := from; i <= to; i++ {
		p.until(fmt.Sprintf(`document.getElementById("file-line").textContent.startsWith("#%d ") && document.getElementById("reading-line")?.textContent.startsWith("Sitting %d · with") && document.getElementById("reading-line").textContent.endsWith("%d of %d read") && [...document.querySelectorAll("#reading :is(select:not(#reading-reason), [type=number])")].every((one) => !one.value) && document.getElementById("stage").classList.contains("editing")`, i, sitting, i-from, of))
		p.strokes(reader, i)
		p.answer([]string{"1 no", "2 perhaps", "3 yes"}[(i+reader)%3], strconv.Itoa(10*(i%10)))
		p.do(`document.querySelector("#reading [type=number]").focus()`) // its answer does not stay for the next image
		p.click("reading-done")
	}
	p.until(`document.getElementById("banner-message").textContent.startsWith("All ")`)
}

// Readers read each image with the model and without, in two sittings weeks apart, some twice. Their
// sessions come together as a table of readings, which goes to MRPRISM_STUDY_OUT too.
func TestStudyInTwoArms(t *testing.T) {
	t.Parallel()
	readers, n, again := 3, 50, 10
	if testing.Short() {
		readers, n, again = 2, 3, 1
	}
	s := mock(t, nil)
	p := open(t, s, 1366, 768)
	p.ready()
	p.saving()
	var names, codes []string
	for i := range n {
		names = append(names, fmt.Sprintf("eye-%02d.png", i))
	}
	for i := range readers {
		codes = append(codes, fmt.Sprintf("r%d", i))
	}
	p.upload("file", differing(t, names...)...)
	p.allComputed()
	p.click("study-make")
	p.fill(map[string]string{
		"name": "Arms", "start": "both", "days": "21", "repeats": strconv.Itoa(again), "readers": "r0, r1, r2"[:4*readers-2], "each": strconv.Itoa(n), "anchors": strconv.Itoa(n),
		"questions": `Glaucoma: 1 no | 2 perhaps | 3 yes\nSure: 0 to 100`,
	})
	study := p.savedAs(".mrprism")
	folder := t.TempDir()
	paths := []string{filepath.Join(folder, "study.mrprism")}
	require.NoError(t, os.WriteFile(paths[0], study, 0o644))
	p.clean()

	for i, code := range codes {
		one := open(t, s, 1366, 768)
		one.ready()
		one.saving()
		one.drop("study.mrprism", study)
		one.fill(map[string]string{"by": code})
		one.readAll(i, 1, n+again, 1, n+again)
		assert.Contains(t, one.text("banner-next"), "for the second sitting")
		first := one.sessionOf()

		if i == 0 { // too early
			one.run(chromedp.Reload())
			one.ready()
			one.drop("r.mrprism", first)
			one.until(fmt.Sprintf(`document.getElementById("reading-line")?.textContent.endsWith("%[1]d of %[1]d read") && document.getElementById("banner-message").textContent.startsWith("The second sitting may begin on ")`, n+again))
		}

		later := open(t, s, 1366, 768)
		later.ready()
		later.saving()
		later.drop("r.mrprism", repacked(t, first, func(session map[string]any) {
			for _, r := range session["readings"].([]any) {
				reading := r.(map[string]any)
				reading["decided"] = time.Now().AddDate(0, 0, -22).UTC().Format(time.RFC3339)
			}
		}))
		later.until(`document.getElementById("banner-next").textContent.includes("not attached")`)
		later.drop("study.mrprism", study)
		assert.Len(t, later.lines(), n, "the first sitting is closed")
		later.readAll(i, n+again+1, 2*n+again, 2, n)
		assert.Contains(t, later.text("banner-next"), "send it back")
		later.do(`Object.defineProperty(performance, "now", { value: ((now) => () => now.call(performance) + 30000)(performance.now) })`) // half a minute passes
		later.do(`dispatchEvent(new PointerEvent("pointermove"))`)
		path := filepath.Join(folder, code+".mrprism")
		require.NoError(t, os.WriteFile(path, later.sessionOf(), 0o644))
		paths = append(paths, path)
		one.clean()
		later.clean()
	}

	real := serve(t, built(t, map[string][]byte{"sw.js": noKeeper}), nil)
	real.wishes, real.patience = "?device=processor", 2*deadline
	together := open(t, real, 1366, 900)
	together.ready()
	together.saving()
	together.click("together-open")
	together.until(`document.getElementById("together")?.open`)
	together.upload("together input[type=file]", paths...)
	together.until(fmt.Sprintf(`/Ready\./.test(document.getElementById("together")?.innerText) && /r0\s+%[1]d of %[1]d\s+0\s+20/.test(document.getElementById("together").innerText)`, 2*n+again))
	together.do(`[...document.querySelectorAll("#together button")].find((one) => one.textContent === "Save as data set").click()`)
	data := together.savedAs(".zip")
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	table, err := fs.ReadFile(archive, "readings.csv")
	require.NoError(t, err)
	if out := os.Getenv("MRPRISM_STUDY_OUT"); out != "" {
		require.NoError(t, os.WriteFile(out, table, 0o644))
	}
	lines, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	require.NoError(t, err)
	column := func(name string) int { return slices.Index(lines[0], name) }
	count := map[string]int{}
	for _, line := range lines[1:] {
		count[fmt.Sprintf("%s %s %s", line[column("reader")], line[column("modality")], line[column("repeat")])]++
		assert.Equal(t, "accepted", line[column("decision")])
		area, err := strconv.Atoi(line[column("area_disc")])
		require.NoError(t, err)
		assert.Positive(t, area)
		assert.Contains(t, []string{"1 no", "2 perhaps", "3 yes"}, line[column("Glaucoma")])
		seconds, err := strconv.ParseFloat(line[column("seconds")], 64)
		require.NoError(t, err)
		assert.Less(t, seconds, 20., "what comes after a decision is no reading")
		drawing, err := strconv.ParseFloat(line[column("seconds_drawing")], 64)
		require.NoError(t, err)
		assert.LessOrEqual(t, drawing, seconds)
	}
	assert.Len(t, lines, 1+readers*(2*n+again))
	for _, code := range codes {
		with, without := count[code+" with 0"], count[code+" without 0"]
		assert.Equal(t, []int{n, n}, []int{with, without}, code)
		assert.Equal(t, again, count[code+" with 1"]+count[code+" without 1"], code)
	}
	together.clean()
}
