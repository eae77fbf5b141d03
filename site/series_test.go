package site

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment/segmenttest"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	stripSays = `(document.getElementById("strip")?.getAttribute("aria-valuetext") ?? "")`
	serialAll = `(document.getElementById("series-line")?.textContent ?? "")`
)

// serial is a page whose list is all slices of the mock's volume of a name: 12, of which the sixth
// is open.
func serial(t *testing.T, name string, width, height int, extra ...chromedp.ExecAllocatorOption) *page {
	t.Helper()
	p := open(t, mock(t, nil), width, height, extra...)
	p.ready()
	p.asking()
	p.saving()
	p.seen()
	p.dropped(name)
	p.click("series-all")
	p.until(stripSays + `.startsWith("6 of 12, disc ")`)
	return p
}

// at waits until a slice is on the stage.
func (p *page) at(slice int) {
	p.t.Helper()
	p.until(fmt.Sprintf(`%s.startsWith("%d of ") && document.getElementById("file-line").textContent.includes("Slice %d of 12") && %s`, stripSays, slice, slice, sampleDone))
}

// All slices of a volume become a list. The strip goes to a slice by keys, pointer and wheel.
func TestAllSlicesOfAVolume(t *testing.T) {
	t.Parallel()
	p := serial(t, "volume.nii", 1400, 900)
	p.allComputed()
	lines := p.lines()
	require.Len(t, lines, 12)
	assert.Contains(t, lines[0], "Slice 1 of 12")
	assert.Contains(t, lines[11], "Slice 12 of 12")
	assert.False(t, p.visible("series-offer"))
	assert.Equal(t, 0, get[int](p, `asked.filter(({ part, blob }) => part && blob).length`), "the worker has the file")
	assert.Equal(t, "12 slices · 2 mm apart · 12 computed", p.text("series-line"))

	p.do(`document.getElementById("strip").focus()`)
	p.press("ArrowRight", false)
	p.at(7)
	p.press("Home", false)
	p.at(1)
	p.press("PageUp", false)
	p.at(11)
	p.press("n", false)
	p.at(12)
	p.do(`(() => { const { left, top, width } = document.querySelector("#strip svg").getBoundingClientRect(), at = { clientX: left + 2.5 * width / 12, clientY: top + 5, bubbles: true };
		document.getElementById("strip").dispatchEvent(new PointerEvent("pointerdown", at)); })()`)
	p.at(3)
	p.do(`document.getElementById("strip").dispatchEvent(new WheelEvent("wheel", { deltaY: 130, bubbles: true, cancelable: true }))`)
	p.at(5)
	p.slide("#slice", 9)
	p.at(9)
	p.press("a", false)
	p.until(stripSays + `.endsWith(", accepted")`)
	assert.Equal(t, 2, get[int](p, `document.querySelectorAll("#strip .full").length`), "two structures")
	assert.Equal(t, 22, get[int](p, `document.querySelectorAll("#strip .hollow").length`))
	assert.Len(t, p.lines(), 12)
	p.until(`document.getElementById("series-volumes").textContent.includes("1.23")`)
	assert.Contains(t, p.text("series-volumes"), "1.1–1.4")

	p.drop("photograph.jpg", readBuilt(t, "sample.jpg"))
	p.until(`!document.getElementById("strip")`)
	assert.False(t, get[bool](p, `Boolean(document.getElementById("series"))`), "another image is none of its slices")
	p.clean()
}

// What a person corrected in two slices is filled in between them, can be taken back in each slice,
// and counts as corrected once it is accepted.
func TestFillingBetweenCorrections(t *testing.T) {
	t.Parallel()
	p := serial(t, "volume-gap.nii", 1400, 900)
	p.allComputed()
	assert.Contains(t, p.text("series-gaps"), "4 mm between slice number 2 and slice number 3")
	p.click("series-fill")
	p.until(`document.getElementById("banner-message").textContent === "There is nothing to fill in."`)
	stroke := func(slice int) {
		p.slide("#slice", slice)
		p.at(slice)
		plain := get[int](p, area)
		p.click("correct-start")
		p.press(" ", false)
		p.until(area + fmt.Sprintf(" !== %d", plain))
		p.press("Escape", false)
		p.until(fmt.Sprintf(`%s.endsWith(", corrected")`, stripSays))
	}
	stroke(4)
	stroke(8)
	p.click("series-fill")
	p.until(serialAll + `.includes("2 corrected · 3 filled in")`)
	lines := p.lines()
	for _, i := range []int{4, 5, 6} {
		assert.Contains(t, lines[i], "filled in")
	}
	assert.Equal(t, []int{2, 3}, get[[]int](p, `["hand", "filled"].map((name) => document.querySelectorAll("#strip ." + name).length)`))

	p.slide("#slice", 5)
	p.at(5)
	p.until(stripSays + `.endsWith(", filled in")`)
	p.click("undo")
	p.until(serialAll + `.includes("2 corrected · 2 filled in")`)
	p.click("redo")
	p.until(serialAll + `.includes("2 corrected · 3 filled in")`)
	p.press("a", false)
	p.until(serialAll + `.includes("3 corrected · 2 filled in")`)
	p.slide("#slice", 6)
	p.at(6)
	p.click("correct-start")
	p.press("ArrowRight", true)
	p.press(" ", false)
	p.until(serialAll + `.includes("4 corrected · 1 filled in")`)
	p.press("Escape", false)
	p.clean()
}

// One file has the masks of all slices. If some are not computed, the page says so first.
func TestSavingAllSlices(t *testing.T) {
	t.Parallel()
	p := serial(t, "volume.dcm", 1400, 900)
	p.do(`(window.confirm = (text) => { globalThis.said = text; return false; }), document.getElementById("work-pause").click()`)
	p.until(`document.getElementById("work-pause").textContent === "Go on"`)
	p.click("series-save")
	assert.Regexp(t, `^\d+ of 12 slices are not computed, and stay empty in the file`, get[string](p, `said`))
	p.click("work-pause")
	p.allComputed()
	for value, file := range map[string]string{"dicom-seg mask": "volume_seg.dcm", "dicom-seg probability": "volume_seg_fractional.dcm", "nifti mask": "volume_series.zip", "nifti probability": "volume_series.zip"} {
		p.do(fmt.Sprintf(`delete saved[%q], document.getElementById("series-format").value = %q`, file, value))
		p.click("series-save")
		p.until(fmt.Sprintf(`saved[%q]`, file))
		text := get[string](p, fmt.Sprintf(`blobs[saved[%q]].text()`, file))
		if filepath.Ext(file) == ".zip" {
			assert.Contains(t, text, map[string]string{"nifti mask": "volume_disc_mask.nii.gz", "nifti probability": "volume_cup.nii.gz"}[value])
			continue
		}
		var asked struct {
			Format  string
			Classes []int
			Added   []bool
		}
		require.NoError(t, json.Unmarshal([]byte(text), &asked))
		assert.Equal(t, []int{0, 1}, asked.Classes)
		assert.NotContains(t, asked.Added, false)
	}
	p.clean()
}

// DICOM files of one frame each become a series in the order of their places; others are refused.
func TestSeriesOfFiles(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1400, 900)
	p.ready()
	dir := t.TempDir()
	files := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
			require.NoError(t, os.WriteFile(paths[len(paths)-1], readBuilt(t, "sample.jpg"), 0o666))
		}
		return paths
	}
	p.upload("file", files("IM1.dcm", "IM2.dcm", "IM3.dcm")...)
	p.allComputed()
	assert.Equal(t, "As one series", p.text("series-all"))
	p.click("series-all")
	p.until(stripSays + `.startsWith("3 of 3")`)
	assert.Contains(t, p.lines()[0], "IM3.dcm")
	p.until(serialAll + ` === "3 slices · 2 mm apart · 3 computed"`)
	p.upload("file", files("mixed.dcm")...)
	p.until(`!document.getElementById("strip")`)
	p.allComputed()
	p.click("series-all")
	p.until(`document.getElementById("banner-message").textContent.includes("more than one size")`)
	assert.False(t, get[bool](p, `Boolean(document.getElementById("strip"))`))
	p.clean()
}

// TestAxeOfSeries runs axe over a series, if MRPRISM_AXE names axe.min.js, and writes what people
// see to the folder MRPRISM_SCREENSHOTS.
func TestAxeOfSeries(t *testing.T) {
	script, _ := os.ReadFile(os.Getenv("MRPRISM_AXE"))
	folder := os.Getenv("MRPRISM_SCREENSHOTS")
	if script == nil && folder == "" {
		t.Skip("MRPRISM_AXE names no axe.min.js, and MRPRISM_SCREENSHOTS no folder")
	}
	for _, dark := range []bool{false, true} {
		p := serial(t, "volume.nii", 1440, 900, chromedp.Flag("force-dark-mode", dark))
		p.allComputed()
		for _, slice := range []int{4, 8} {
			p.slide("#slice", slice)
			p.at(slice)
			p.click("correct-start")
			p.press(" ", false)
			p.press("Escape", false)
			p.until(fmt.Sprintf(`%s.endsWith(", corrected")`, stripSays))
			p.press("a", false)
		}
		p.press("n", false)
		p.press("n", false)
		p.at(10)
		p.press("x", false)
		p.click("series-fill")
		p.until(serialAll + `.includes("filled in") && document.getElementById("series-volumes").textContent`)
		for _, size := range [][2]int64{{1440, 900}, {1080, 1920}, {390, 844}} {
			p.run(chromedp.EmulateViewport(size[0], size[1]))
			p.until(fmt.Sprintf(`innerWidth === %d`, size[0]))
			p.do(`document.getElementById("zoom-fit").click(), document.getElementById("series").scrollIntoView(), new Promise((done) => setTimeout(done, 600))`)
			if folder != "" {
				require.NoError(t, os.MkdirAll(folder, 0o755))
				p.shot(filepath.Join(folder, fmt.Sprintf("series-%d-%v.png", size[0], map[bool]string{true: "dark", false: "light"}[dark])))
			}
			if script != nil {
				_, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](string(script)+"; 0"))
				require.NoError(t, err)
				assert.Empty(t, get[[]string](p, `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 120)).join(" | ")))`), "dark %v, width %d", dark, size[0])
			}
		}
	}
}

// What a series shows and says has its German.
func TestGermanOfSeries(t *testing.T) {
	t.Parallel()
	p := open(t, marked(t), 1400, 900)
	p.ready()
	p.seen()
	p.dropped("volume-gap.jpg")
	p.german("a series is offered")
	p.click("series-all")
	p.until(stripSays)
	p.allComputed()
	p.until(`document.getElementById("series-volumes").textContent`)
	p.german("a series")
	p.click("series-fill")
	p.until(`!document.getElementById("banner").hidden`)
	p.german("nothing to fill in")
	p.click("correct-start")
	p.press(" ", false)
	p.press("Escape", false)
	p.until(`document.querySelector("#strip .hand")`)
	p.german("a slice is corrected")
	p.press("a", false)
	p.press("n", false)
	p.press("x", false)
	p.until(`document.querySelector("#strip .rejected")`)
	p.german("a slice is rejected")
	p.click("series-save")
	p.until(`document.getElementById("status").textContent.includes("gespeichert")`)
	p.german("it is saved")
	p.clean()
}

// niftiOf is a NIfTI volume of 16-bit values: a bright ball with its structure. A voxel has 1 mm.
func niftiOf(w, h, d int) []byte {
	out := make([]byte, 352, 352+2*w*h*d)
	binary.LittleEndian.PutUint32(out, 348)
	for i, n := range []int{3, w, h, d, 1, 1, 1, 1} {
		binary.LittleEndian.PutUint16(out[40+2*i:], uint16(n))
		binary.LittleEndian.PutUint32(out[76+4*i:], math.Float32bits(1))
	}
	out[70], out[72], out[123] = 4, 16, 2 // int16, mm
	binary.LittleEndian.PutUint32(out[108:], math.Float32bits(352))
	copy(out[344:], "n+1")
	for i := range w * h * d {
		x, y, z := float64(i%w)/float64(w)-0.5, float64(i/w%h)/float64(h)-0.5, float64(i/w/h)/float64(d)-0.5
		r := math.Sqrt(x*x + y*y + z*z)
		v := 40 + 20*math.Sin(60*x)*math.Sin(50*y)
		if r < 0.4 {
			v += 500 + 300*math.Cos(30*r)
		}
		out = binary.LittleEndian.AppendUint16(out, uint16(v))
	}
	return out
}

// The page's own worker orders a folder of DICOM slices, measures their volume, draws what is
// between two corrections, and saves a DICOM SEG and NIfTI volumes with what a person drew.
func TestWorkerMakesSeries(t *testing.T) {
	t.Parallel()
	about := segmenttest.Raters()
	about.Title = "Random weights"
	model, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	data, err := segmenttest.Encode(model)
	require.NoError(t, err)
	s := real(t, map[string][]byte{"some.safetensors": data})
	s.wishes = "?device=processor"
	p := open(t, s, 1200, 800)
	p.ready()
	p.saving()
	p.own("some.safetensors")
	const w, h, n = 64, 48, 5
	dir := t.TempDir()
	slice := func(name string, z float64) string {
		pixels := make([]byte, w*h)
		for i := range pixels {
			pixels[i] = byte(i*7%251) ^ byte(16*z)
		}
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, dicomtest.Slice(w, h, pixels, z, nil), 0o666))
		return path
	}
	p.upload("file", slice("d.dcm", 0), slice("b.dcm", 3), slice("e.dcm", 6), slice("a.dcm", 9), slice("c.dcm", 12))
	p.allComputed()
	p.click("series-all")
	p.until(serialAll + ` === "5 slices · 3 mm apart · 5 computed"`)
	for i, name := range []string{"d", "b", "e", "a", "c"} {
		assert.Contains(t, p.lines()[i], name+".dcm")
	}
	area := func(i int) int {
		p.do(fmt.Sprintf(`document.querySelectorAll("#work-lines [role=option]")[%d].click()`, i))
		p.until(fmt.Sprintf(`%s.startsWith("%d of 5") && %s`, stripSays, i+1, sampleDone))
		return get[int](p, `Number(`+stripSays+`.match(/ ([\d\u202f]+) px/)[1].replace(/\D/g, ""))`)
	}
	stroke := func(i int) {
		area(i)
		p.click("correct-start")
		p.press(" ", false)
		p.press("Escape", false)
		p.until(stripSays + `.endsWith(", corrected")`)
	}
	stroke(0)
	stroke(3)
	p.click("series-fill")
	p.until(serialAll + `.includes("2 corrected · 2 filled in")`)
	areas, total := []int{}, 0
	for i := range n {
		areas = append(areas, area(i))
		total += areas[i]
	}
	ml := fmt.Sprintf("%.3g", float64(total)*0.8*0.8*3/1000)
	p.until(fmt.Sprintf(`document.getElementById("series-volumes").textContent.includes(%q)`, ml))
	for value, file := range map[string]string{"nifti mask": "series_brain_mask_corrected.nii.gz", "dicom-seg mask": "series_seg_corrected.dcm"} {
		p.do(fmt.Sprintf(`document.getElementById("series-format").value = %q`, value))
		p.click("series-save")
		p.until(fmt.Sprintf(`saved[%q]`, file))
		text := get[string](p, fmt.Sprintf(`new Promise((resolve) => { const reader = new FileReader(); reader.onload = () => resolve(reader.result); reader.readAsDataURL(blobs[saved[%q]]); })`, file))
		data, err := base64.StdEncoding.DecodeString(text[strings.Index(text, ",")+1:])
		require.NoError(t, err)
		for i := range n {
			m, err := imageio.DecodeSlice(file, data, i+1)
			require.NoError(t, err)
			inside := 0
			for k := range m.W * m.H {
				inside += int(m.Pix[3*k] / 255)
			}
			assert.Equal(t, areas[i], inside, "%s, slice %d", file, i+1)
		}
	}
	p.upload("file", slice("f.dcm", 12))
	p.allComputed()
	p.click("series-all")
	p.until(`document.getElementById("banner-message").textContent === "series: c.dcm and f.dcm lie at one place, 12 mm; leave one of them out."`)
	p.clean()
}

// TestLargeVolume measures the time of 20 slices on the processor, and the memory of the page with
// 20 slices of 256³ voxels computed on one thread, as withoutThreads says, if MRPRISM_LARGE is set.
// Of each further slice the worker keeps deflated masks, and the page figures and PNGs.
func TestLargeVolume(t *testing.T) {
	if os.Getenv("MRPRISM_LARGE") == "" {
		t.Skip("MRPRISM_LARGE is not set: this takes minutes")
	}
	_, files := shippedModel(t, "newborn-brain")
	script := strings.Replace(string(readBuilt(t, "vectors.js")), "MOST = 7", "MOST = 0", 1)
	alone := serve(t, built(t, map[string][]byte{"sw.js": noKeeper, "vectors.js": []byte(script)}), files)
	for depth, s := range map[int]*server{20: real(t, files), 256: alone} {
		s.wishes, s.patience = "?device=processor", 20*time.Minute
		p := open(t, s, 1200, 800, eagerly)
		p.ready()
		p.saving()
		used := func(when string) {
			if s != alone {
				return
			}
			bytes := get[float64](p, memory)
			t.Logf("%d slices, %s: %.1f MB in the page and its workers", depth, when, bytes/1e6)
			assert.Less(t, bytes, 300e6)
		}
		path := filepath.Join(t.TempDir(), "volume.nii")
		require.NoError(t, os.WriteFile(path, niftiOf(256, 256, depth), 0o666))
		p.choose("newborn-brain")
		used("before")
		p.upload("file", path)
		p.until(`!document.getElementById("series-offer").hidden && ` + sampleDone)
		used("one slice open")
		begun := time.Now()
		p.click("series-all")
		for _, n := range []int{5, 20} {
			p.until(fmt.Sprintf(`Number(%s.match(/ (\d+) computed/)?.[1]) >= %d`, serialAll, n))
			t.Logf("%d of %d slices after %v", n, depth, time.Since(begun))
			used(fmt.Sprintf("%d computed", n))
		}
		p.do(`(window.confirm = () => true)`)
		p.click("series-save")
		p.until(`saved["volume_brain_mask.nii.gz"]`)
		used("saved")
		p.clean()
	}
}
