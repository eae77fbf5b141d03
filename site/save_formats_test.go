package site

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/internal/output/masks"
	"mrprism/weights"
)

// scan is a NIfTI file of three pictures, which lie somewhere in a scanner.
func scan(t *testing.T, w, h int) []byte {
	t.Helper()
	photo := imageio.Convert(synthetic.Photograph(3, w, h))
	plane := make([]uint8, w*h)
	for i := range plane {
		plane[i] = photo.Pix[3*i]
	}
	place := nifti.Scanner([3]float64{0.5, 0, 0}, [3]float64{0, 0.25, 0}, [3]float64{0, 0, 3}, [3]float64{1, 2, 3})
	data, err := nifti.Encode(w, h, place, [2]float64{}, "", [][]uint8{plane, plane, plane}, false)
	require.NoError(t, err)
	return data
}

// own opens a weights file in the page as a user does.
func (p *page) own(name string) {
	p.t.Helper()
	p.do(fmt.Sprintf(`(async () => {
		const files = new DataTransfer(), input = document.getElementById("weights");
		files.items.add(new File([await (await fetch("weights/" + %q)).arrayBuffer()], %q));
		input.files = files.files;
		input.dispatchEvent(new Event("change"));
	})()`, name, name))
	p.until(`document.getElementById("model").selectedOptions[0].text.includes("Random weights")`)
}

// wholeImage drops a file, which the site has as NAME.png, and segments all of it. It returns what
// a program writes of the same maps.
func (p *page) wholeImage(name string, content, model []byte) masks.Drawing {
	p.t.Helper()
	p.drop(name, content)
	p.until(fmt.Sprintf(`document.getElementById("file-line").textContent.includes(%q)`, name))
	p.click("region-none")
	p.until(`document.getElementById("region-line").textContent === "The whole image" && ` + sampleDone)
	require.NoError(p.t, p.segmentIn(name+".png", "w.safetensors", `roi: "none"`))
	picture, err := imageio.Decode(name, content)
	require.NoError(p.t, err)
	m, err := weights.Shipped().Open("w.safetensors", model)
	require.NoError(p.t, err)
	d := masks.Drawing{Picture: picture, By: masks.Consensus, Model: m, Day: time.Now()}
	var maps [][]float32
	for c := range 2 {
		bits := get[[]uint32](p, fmt.Sprintf(`(async () => Array.from(new Uint32Array((await r.probability(%d)).buffer)))()`, c))
		values := make([]float32, len(bits))
		for i, v := range bits {
			values[i] = math.Float32frombits(v)
		}
		maps = append(maps, values)
	}
	d.Structures, err = masks.Structures(picture.W, picture.H, []string{"disc", "cup"}, maps)
	require.NoError(p.t, err)
	return d
}

// equal asserts that a file of the page is what a program writes.
func equal(t *testing.T, format string, d masks.Drawing, structures []masks.Structure, got []byte) {
	t.Helper()
	f, err := masks.Find(format)
	require.NoError(t, err)
	d.Structures = structures
	want, err := f.Write(&d)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, got), "%s: %d and %d bytes", format, len(want), len(got))
}

// needed skips a test for want of a program.
func needed(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, program+" is missing: run make setup")
		}
	}
}

// area is that of closed lines of points, by the shoelace formula; holes count less.
func enclosed(lines [][][2]float64) (area float64) {
	for _, line := range lines {
		for i, a := range line {
			b := line[(i+1)%len(line)]
			area += (a[0]*b[1] - b[0]*a[1]) / 2
		}
	}
	return math.Abs(area)
}

// Every format that the page saves is what cmd/segment writes of the same maps, to the byte, and
// other programs read it.
func TestSavedFormats(t *testing.T) {
	t.Parallel()
	needed(t, "tiffinfo")
	model := tinyWeights(t, weights.LabelsRaters, nil)
	photograph, volume := photo(t, 240, 180), scan(t, 120, 90)
	s := real(t, map[string][]byte{"w.safetensors": model, "photo.png.png": photograph, "scan.nii.gz.png": volume})
	s.wishes = "?device=processor"
	p := open(t, s, 1000, 800)
	p.ready()
	p.saving()
	p.own("w.safetensors")
	folder := t.TempDir()

	d := p.wholeImage("photo.png", photograph, model)
	inside := func(s masks.Structure) (n int) {
		for _, v := range s.Levels {
			n += int(v >> 7)
		}
		return n
	}
	for c, class := range []string{"disc", "cup"} {
		one := d.Structures[c:][:1]
		require.Positive(t, inside(one[0]), class)
		for _, f := range []struct{ format, label, made, ending string }{{"png", "PNG", "png", ".png"}, {"tiff", "TIFF", "tiff", ".tif"}, {"nifti", "NIfTI", "nifti", ".nii.gz"}} {
			p.format(f.format)
			equal(t, f.made, d, one, p.save("Probability "+f.label+" of "+class, "photo_"+class+f.ending))
			mask := p.save("Mask "+f.label+" of "+class, "photo_"+class+"_mask"+f.ending)
			equal(t, f.made+"-mask", d, one, mask)
			if f.format == "tiff" {
				path := filepath.Join(folder, class+".tif")
				require.NoError(t, os.WriteFile(path, mask, 0o666))
				said, err := exec.Command("tiffinfo", path).CombinedOutput()
				require.NoError(t, err, "%s", said)
				assert.Contains(t, string(said), "Image Width: 240 Image Length: 180")
				assert.Contains(t, string(said), "mask of "+class+", consensus")
				assert.NotContains(t, string(said), "corrected")
			}
		}
	}

	p.format("svg")
	outlines := p.save("Outlines SVG of all structures", "photo.svg")
	equal(t, "svg", d, d.Structures, outlines)
	var drawing struct {
		ViewBox string `xml:"viewBox,attr"`
		Paths   []struct {
			Structure string `xml:"data-structure,attr"`
			D         string `xml:"d,attr"`
		} `xml:"path"`
	}
	require.NoError(t, xml.Unmarshal(outlines, &drawing))
	require.Equal(t, "0 0 240 180", drawing.ViewBox)
	require.Len(t, drawing.Paths, 2)
	p.format("geojson")
	outlines = p.save("Outlines JSON of all structures", "photo.geojson")
	equal(t, "geojson", d, d.Structures, outlines)
	var collection struct {
		Features []struct {
			Geometry struct {
				Type        string
				Coordinates json.RawMessage
			}
		}
	}
	require.NoError(t, json.Unmarshal(outlines, &collection))
	for c, s := range d.Structures {
		want := float64(inside(s))
		var lines [][][2]float64
		for line := range strings.SplitSeq(strings.TrimSuffix(drawing.Paths[c].D, "Z"), "Z") {
			var points [][2]float64
			for point := range strings.SplitSeq(line[1:], "L") {
				x, y, _ := strings.Cut(point, " ")
				px, err := strconv.ParseFloat(x, 64)
				require.NoError(t, err)
				py, err := strconv.ParseFloat(y, 64)
				require.NoError(t, err)
				points = append(points, [2]float64{px, py})
			}
			lines = append(lines, points)
		}
		assert.InEpsilon(t, want, enclosed(lines), 0.05, "SVG")
		polygons := make([][][][2]float64, 1)
		into := any(&polygons[0])
		if collection.Features[c].Geometry.Type == "MultiPolygon" {
			into = &polygons
		}
		require.NoError(t, json.Unmarshal(collection.Features[c].Geometry.Coordinates, into))
		all := 0.0
		for _, polygon := range polygons {
			all += enclosed(polygon)
		}
		assert.InEpsilon(t, want, all, 0.05, "JSON")
	}

	// A picture of several lies where it lay.
	d = p.wholeImage("scan.nii.gz", volume, model)
	p.format("nifti")
	data := p.save("Probability NIfTI of disc", "scan_slice1of3_disc.nii.gz")
	equal(t, "nifti", d, d.Structures[:1], data)
	saved, err := imageio.Header("", data)
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{0.5, 0.25}, saved.Spacing[:], 1e-6)
	written, err := nifti.Encode(120, 90, d.Picture.Header.(*nifti.Geometry), [2]float64{}, "", [][]uint8{make([]uint8, 120*90)}, false)
	require.NoError(t, err)
	want, err := imageio.Header("", written)
	require.NoError(t, err)
	assert.Equal(t, want.Header, saved.Header)
	p.clean()
}

// vector is a third-party DICOM file.
func vector(t *testing.T, name string) []byte {
	t.Helper()
	root := os.Getenv("MRPRISM_VECTORS")
	if root == "" {
		root = "../../shared/vectors"
	}
	data, err := os.ReadFile(filepath.Join(root, "dicom", "test_files", name))
	if err != nil {
		t.Skip("no vectors: set MRPRISM_VECTORS")
	}
	return data
}

// A DICOM SEG of a DICOM source is what cmd/segment writes. Other programs find no error in it and
// read the same pixels. It names the patient only if the user wants it.
func TestSavedSegmentations(t *testing.T) {
	t.Parallel()
	needed(t, "dciodvfy", "dcmdump")
	source := vector(t, "CT_small.dcm")
	model := tinyWeights(t, weights.LabelsRaters, nil)
	s := real(t, map[string][]byte{"w.safetensors": model, "CT_small.dcm.png": source})
	s.wishes = "?device=processor"
	p := open(t, s, 1000, 800)
	p.ready()
	p.saving()
	p.own("w.safetensors")
	d := p.wholeImage("CT_small.dcm", source, model)
	p.format("nifti")
	equal(t, "nifti-mask", d, d.Structures[:1], p.save("Mask NIfTI of disc", "CT_small_disc_mask.nii.gz"))
	p.format("dicom-seg")
	for _, named := range []bool{false, true} {
		if named {
			p.click("save-identity")
		}
		d.Identity = named
		for what, file := range map[string]string{"Mask": "CT_small_seg.dcm", "Probability": "CT_small_seg_fractional.dcm"} {
			data := p.save(what+" DICOM SEG of all structures", file)
			if named { // else each program makes its own UIDs
				equal(t, map[string]string{"Mask": "dicom-seg", "Probability": "dicom-seg-fractional"}[what], d, d.Structures, data)
			}
			assert.Equal(t, named, bytes.Contains(data, []byte("CompressedSamples^CT1")), "the patient's name")
			checkSegmentation(t, data, what == "Probability", d.Structures)
		}
	}

	// So are figures and what the page shows.
	p.format("dicom-sr")
	figures := string(p.save("Figures DICOM SR of all structures", "CT_small_sr.dcm"))
	assert.Contains(t, figures, "Imaging Measurement Report")
	assert.Contains(t, figures, "CompressedSamples^CT1")
	p.format("dicom-sc")
	shown, err := imageio.Decode("sc.dcm", p.save("Overlay DICOM SC of all structures", "CT_small_sc.dcm"))
	require.NoError(t, err)
	assert.Equal(t, []int{128, 139}, []int{shown.W, shown.H}, "a band is below")
	p.format("overlay")
	overlay, err := imageio.Decode("overlay.png", p.save("Overlay PNG of all structures", "CT_small_overlay.png"))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(overlay.Pix, shown.Pix[:len(overlay.Pix)]), "the same picture")

	// A PDF is wrapped: no button asks for one here.
	p.do(`import("./segmenter.js").then(({ Segmenter }) => {
		const save = Segmenter.prototype.save;
		Segmenter.prototype.save = function ({ result }) { return save.call(this, { result, made: "dicom-pdf", pdf: new TextEncoder().encode("%PDF-1.7 a report") }); };
	})`)
	p.format("dicom-sr")
	document := string(p.save("Figures DICOM SR of all structures", "CT_small_sr.dcm"))
	assert.Contains(t, document, "%PDF-1.7 a report")
	assert.Contains(t, document, "application/pdf")
	assert.NotContains(t, document, "CompressedSamples^CT1")
	p.clean()
}

// checkSegmentation has dciodvfy and dcmdump read a DICOM SEG.
func checkSegmentation(t *testing.T, data []byte, fractional bool, structures []masks.Structure) {
	t.Helper()
	folder := t.TempDir()
	path := filepath.Join(folder, "seg.dcm")
	require.NoError(t, os.WriteFile(path, data, 0o666))
	said, _ := exec.Command("dciodvfy", path).CombinedOutput()
	for line := range strings.Lines(string(said)) {
		assert.False(t, strings.HasPrefix(line, "Error"), line)
	}
	said, err := exec.Command("dcmdump", "+W", folder, path).CombinedOutput()
	require.NoError(t, err, "%s", said)
	raw, err := filepath.Glob(filepath.Join(folder, "*.raw"))
	require.NoError(t, err)
	require.Len(t, raw, 1)
	pixels, err := os.ReadFile(raw[0])
	require.NoError(t, err)
	at := 0
	for _, s := range structures {
		for _, want := range s.Levels {
			if fractional {
				require.Equal(t, want, pixels[at])
			} else {
				require.Equal(t, want>>7, pixels[at/8]>>(at%8)&1)
			}
			at++
		}
	}
}

// What a person corrected is what every format has. Names and files say so, and another pass, which
// nobody corrected, is as the model made it.
func TestSavedCorrections(t *testing.T) {
	t.Parallel()
	source := vector(t, "CT_small.dcm")
	model := tinyWeights(t, weights.LabelsRaters, nil)
	s := real(t, map[string][]byte{"w.safetensors": model, "CT_small.dcm.png": source})
	s.wishes = "?device=processor"
	p := open(t, s, 1000, 800)
	p.ready()
	p.saving()
	p.own("w.safetensors")
	d := p.wholeImage("CT_small.dcm", source, model)
	p.click("correct-start")
	p.until(`document.activeElement.id === "stage"`)
	p.tool("eraser")
	box := get[[]float64](p, `(() => { const box = document.getElementById("stage").getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; })()`)
	p.drag([2]float64{box[0] - 60, box[1]}, [2]float64{box[0] + 60, box[1] + 40})
	p.until(`document.getElementById("correct-line").textContent.includes("disc") && document.getElementById("measure-body").textContent.includes("by hand")`)
	p.click("save-json")
	wanted := get[int](p, `blobs[saved["CT_small_corrected.json"]].text().then((text) => JSON.parse(text).corrected_by_hand[0].area)`)

	p.format("png")
	data := p.save("Mask PNG of disc", "CT_small_disc_mask_corrected.png")
	assert.Contains(t, string(data), "tEXtComment\x00corrected by hand")
	read, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	corrected := masks.Structure{Name: "disc", Levels: make([]uint8, d.Picture.W*d.Picture.H), Corrected: true}
	inside, changed := 0, 0
	for i, v := range d.Structures[0].Levels {
		corrected.Levels[i] = v
		is := read.(*image.Gray).Pix[i]
		inside += int(is >> 7)
		if is>>7 != v>>7 {
			changed++
		}
	}
	assert.Equal(t, wanted, inside, "the PNG has the pixels that were measured")
	assert.Greater(t, changed, 50)
	// Only zeros were drawn: the probabilities have them where the mask lost pixels, or there were
	// few.
	data = p.save("Probability PNG of disc", "CT_small_disc_corrected.png")
	read, err = png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	copy(corrected.Levels, read.(*image.Gray).Pix)
	for i, v := range corrected.Levels {
		if v != d.Structures[0].Levels[i] {
			require.Zero(t, v)
		}
	}

	corrected.Map = func() []float32 { // the model's, but where a person drew
		values := slices.Clone(d.Structures[0].Map())
		for i, v := range corrected.Levels {
			if v != d.Structures[0].Levels[i] {
				values[i] = float32(v) / 255
			}
		}
		return values
	}

	p.format("tiff")
	equal(t, "tiff-mask", d, []masks.Structure{corrected}, p.save("Mask TIFF of disc", "CT_small_disc_mask_corrected.tif"))
	equal(t, "tiff", d, d.Structures[1:], p.save("Probability TIFF of cup", "CT_small_cup.tif"))
	p.format("nifti")
	equal(t, "nifti", d, []masks.Structure{corrected}, p.save("Probability NIfTI of disc", "CT_small_disc_corrected.nii.gz"))
	both := []masks.Structure{corrected, d.Structures[1]}
	p.format("geojson")
	data = p.save("Outlines JSON of all structures", "CT_small_corrected.geojson")
	assert.Contains(t, string(data), `"corrected_by_hand":true`)
	equal(t, "geojson", d, both, data)
	p.format("svg")
	equal(t, "svg", d, both, p.save("Outlines SVG of all structures", "CT_small_corrected.svg"))
	p.format("dicom-seg")
	p.click("save-identity")
	d.Identity = true
	equal(t, "dicom-seg", d, both, p.save("Mask DICOM SEG of all structures", "CT_small_seg_corrected.dcm"))
	p.format("overlay")
	p.save("Overlay PNG of all structures", "CT_small_overlay_corrected.png")
	p.slide("#recurrence", 0)
	p.format("tiff")
	p.save("Mask TIFF of disc", "CT_small_disc_mask_rec0.tif")
	p.clean()
}
