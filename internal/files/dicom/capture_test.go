package dicom

import (
	"bytes"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// begun are the first two of the band, R and E.
const begun = `
####  #####
#   # #
#   # #
####  ####
# #   #
#  #  #
#   # #####`

// A capture is the picture, whole, over a band that says what it is for.
func TestCapturesKeepThePicture(t *testing.T) {
	h := header(t, read(t, "grey.dcm"), 0)
	for _, size := range [][2]int{{30, 20}, {500, 450}} {
		w, high := size[0], size[1]
		c := Capture{Derived: derived(h, false), W: w, H: high, About: "outlines"}
		for i := range 3 * w * high {
			c.RGB = append(c.RGB, uint8(i*i>>7+i))
		}
		data, err := c.Encode()
		require.NoError(t, err)
		again, err := c.Encode()
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, again))
		f, err := Open(data, 1, nil)
		require.NoError(t, err)
		m, err := f.Decode()
		require.NoError(t, err)
		scale := max(1, min(w, high)/220)
		require.Equal(t, image.Pt(max(w, 74*scale), high+11*scale), m.Bounds().Size())
		pix := m.(*image.NRGBA)
		for y := range high {
			for x := range w {
				at := pix.PixOffset(x, y)
				require.Equal(t, c.RGB[3*(y*w+x):][:3], pix.Pix[at:at+3])
			}
		}
		said := ""
		for y := range 7 {
			said += "\n"
			for x := range 11 {
				lit := pix.Pix[pix.PixOffset((2+x)*scale, high+(2+y)*scale)] == 255
				said += map[bool]string{false: " ", true: "#"}[lit]
			}
			said = strings.TrimRight(said, " ")
		}
		assert.Equal(t, begun, said)
	}
	_, err := (&Capture{Derived: derived(h, false), W: 2, H: 2, RGB: make([]uint8, 11)}).Encode()
	assert.ErrorContains(t, err, "another size")
	_, err = (&Document{Derived: derived(h, false), PDF: []byte("<html>")}).Encode()
	assert.ErrorContains(t, err, "is no PDF")
	_, err = (&Document{Derived: derived(&Header{}, false), PDF: []byte("%PDF-1.7")}).Encode()
	assert.ErrorContains(t, err, "the file has no valid SOP Class UID")
}

// about prints with pydicom what files say of themselves and of their sources, eight lines a file.
const about = `
import sys, pydicom
for path in sys.argv[1:]:
    d = pydicom.dcmread(path)
    for name in "StudyInstanceUID", "PatientName", "Modality", "BurnedInAnnotation", "ConversionType":
        print(d[name].value)
    source = d.SourceImageSequence if "SourceImageSequence" in d else d.SourceInstanceSequence
    print(source[0].ReferencedSOPInstanceUID)
    print(d.get("DerivationDescription") or d.DocumentTitle)
    print(*d.ImageType, d.PhotometricInterpretation, d.pixel_array.shape, d.pixel_array.sum()) if "PixelData" in d else print()
`

// dcmtk gives back the picture and the PDF that were written, pydicom reads what is said of them,
// and dciodvfy finds no error. The study is that of a DICOM SEG of the same run.
func TestOthersReadCapturesAndDocuments(t *testing.T) {
	for _, program := range []string{"dciodvfy", "dcm2pnm", "dcm2pdf"} {
		needs(t, program)
	}
	if exec.Command("/usr/bin/python3", "-c", "import pydicom, numpy").Run() != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "python3-pydicom is missing: make setup")
		t.Skip("python3-pydicom is missing")
	}
	run := func(program string, args ...string) string {
		out, err := exec.Command(program, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	pdf := []byte("%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF") // of an odd length
	all := sources(t)
	warnings, paths, dir, sum := map[string]int{}, []string(nil), t.TempDir(), 0
	rgb, head := make([]uint8, 3*100*80), []byte("P6\n100 91\n255\n")
	for i := range rgb {
		rgb[i] = uint8(i * 7)
		sum += int(rgb[i])
	}
	var want [][]string // of each path
	for _, name := range []string{"rgb.dcm", "CT_small.dcm", "JPEG-lossy.dcm"} {
		source, ok := all[name]
		if name == "rgb.dcm" {
			source = read(t, name)
		} else if !ok {
			t.Logf("no %s: set MRPRISM_VECTORS", name)
			continue
		}
		h := header(t, source, 1)
		for _, keep := range []bool{false, true} {
			d := derived(h, keep)
			capture, err := (&Capture{Derived: d, W: 100, H: 80, RGB: rgb, About: "Outlines"}).Encode()
			require.NoError(t, err)
			document, err := (&Document{Derived: d, Title: "Report", PDF: pdf}).Encode()
			require.NoError(t, err)
			seg, err := segmentation(h, false, keep).Encode()
			require.NoError(t, err)
			patient := map[bool]string{true: h.identity[0x00100010]}[keep]
			for i, data := range [][]byte{capture, document} {
				path, to := filepath.Join(dir, fmt.Sprint(len(paths), ".dcm")), filepath.Join(dir, "out")
				require.NoError(t, os.WriteFile(path, data, 0o666))
				paths = append(paths, path)
				want = append(want, []string{header(t, seg, 1).study, patient, []string{"OT", "DOC"}[i], "YES", "WSD", d.uid(h.instance), []string{"Outlines; research use", "Report"}[i]})
				assert.Equal(t, keep, bytes.Contains(data, []byte(h.study)))
				for line := range strings.Lines(run("dciodvfy", path)) {
					assert.False(t, strings.HasPrefix(line, "Error"), "%s: %s", name, line)
					if strings.HasPrefix(line, "Warning") {
						warnings[strings.TrimSpace(line)]++
					}
				}
				if i == 1 {
					run("dcm2pdf", path, to)
					back, err := os.ReadFile(to)
					require.NoError(t, err)
					assert.Equal(t, pdf, bytes.TrimRight(back, "\x00"))
					continue
				}
				run("dcm2pnm", "+op", path, to)
				pnm, err := os.ReadFile(to)
				require.NoError(t, err)
				require.True(t, bytes.HasPrefix(pnm, head), "%q", pnm[:20])
				assert.True(t, bytes.Equal(rgb, pnm[len(head):][:len(rgb)]), "dcmtk reads the same pixels")
			}
		}
	}
	said := strings.Split(run("/usr/bin/python3", append([]string{"-c", about}, paths...)...), "\n")
	for i, one := range want {
		assert.Equal(t, one, said[8*i:][:7])
		if i%2 == 0 {
			var total int
			_, err := fmt.Sscanf(said[8*i+7], "DERIVED SECONDARY RGB (91, 100, 3) %d", &total)
			require.NoError(t, err, said[8*i+7])
			assert.Greater(t, total, sum, "pydicom's picture has letters besides")
			assert.Less(t, total, sum+255*11*100*3)
		}
	}
	for line, count := range warnings {
		t.Log(count, line)
	}
}
