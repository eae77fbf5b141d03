package dicom

import (
	"bytes"
	"image"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/dicom/elements"
)

// segmentation is one of two structures in a frame, the second inside the first.
func segmentation(h *Header, fractional, identity bool) *Segmentation {
	outer, inner := make([]uint8, h.w*h.h), make([]uint8, h.w*h.h)
	for i := range outer {
		outer[i] = uint8(i*i>>5 + 3*i)
		inner[i] = outer[i] / 2
	}
	inner[0], outer[0] = 255, 255
	return &Segmentation{
		Derived: derived(h, identity), Segments: []Segment{{"disc", outer, false}, {"cup · größe", inner, true}}, Fractional: fractional, By: "consensus",
	}
}

func derived(h *Header, identity bool) Derived {
	return Derived{
		Source: h, Identity: identity, Model: "Optic disc and cup in fundus photos", Serial: "b13785a16aafe931", Version: "1", Day: time.Date(2026, 11, 24, 5, 6, 7, 0, time.UTC),
	}
}

// header opens a frame of a file.
func header(t *testing.T, data []byte, slice int) *Header {
	t.Helper()
	f, err := Open(data, slice, noJPEG{})
	require.NoError(t, err)
	return f.Header.(*Header)
}

// needs finds a program, or skips the test.
func needs(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(name + " is not installed")
	}
}

// sources are files of others to which a segmentation can refer.
func sources(t *testing.T) map[string][]byte {
	all := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(os.Getenv("MRPRISM_VECTORS"), "dicom", "test_files", "*.dcm"))
	require.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		if f, err := Open(data, 0, noJPEG{}); err == nil && f.Header.(*Header).Check() == nil {
			all[filepath.Base(path)] = data
		}
	}
	return all
}

func TestSegmentationsAreReadBack(t *testing.T) {
	all := sources(t)
	all["grey.dcm"], all["rgb.dcm"] = read(t, "grey.dcm"), read(t, "rgb.dcm")
	for name, data := range all {
		h := header(t, data, 0)
		for _, fractional := range []bool{false, true} {
			s := segmentation(h, fractional, true)
			written, err := s.Encode()
			require.NoError(t, err, name)
			again, err := segmentation(h, fractional, true).Encode()
			require.NoError(t, err)
			require.Equal(t, written, again, "deterministic")
			for i, one := range s.Segments {
				f, err := Open(written, i+1, nil)
				require.NoError(t, err, name)
				require.Equal(t, []int{h.w, h.h, 2}, []int{f.W, f.H, f.Slices})
				m, err := f.Decode()
				require.NoError(t, err)
				for k, v := range one.Levels {
					if !fractional {
						v = v >> 7 * 255
					}
					require.Equal(t, v, m.(*image.Gray).Pix[k], "%s, segment %d", name, i)
				}
				got := f.Header.(*Header)
				assert.Equal(t, []string{h.study, segmentationForm.class}, []string{got.study, got.class})
				assert.NotEqual(t, h.series, got.series)
				assert.Equal(t, h.spacing, got.spacing)
				assert.Equal(t, h.placed, got.placed, name)
				if h.placed {
					assert.Equal(t, [][3]float64{h.axes[0], h.axes[1], h.position}, [][3]float64{got.axes[0], got.axes[1], got.position}, name)
				}
			}
		}
	}
}

// By default nothing of the patient is in the file, and no UID by which an archive finds the
// patient. Files of one study stay together.
func TestIdentityIsKeptOnlyIfAsked(t *testing.T) {
	for name, data := range sources(t) {
		h := header(t, data, 0)
		for _, keep := range []bool{false, true} {
			written, err := segmentation(h, false, keep).Encode()
			require.NoError(t, err)
			got := header(t, written, 1)
			other := *h
			other.instance = "1.2.3"
			beside, err := segmentation(&other, false, keep).Encode()
			require.NoError(t, err)
			assert.Equal(t, got.study, header(t, beside, 1).study)
			for what, uid := range map[string]string{"study": h.study, "series": h.series, "instance": h.instance, "space": h.space} {
				if what != "space" || h.placed {
					assert.Equal(t, keep, bytes.Contains(written, []byte(uid)), "%s: %s %s", name, what, uid)
				}
			}
			for tag, value := range h.identity {
				switch {
				case keep:
					assert.Equal(t, value, got.identity[tag], "%s %08x", name, tag)
				case tag == 0x00100020:
					assert.Contains(t, got.identity[tag], "ANONYMOUS-")
				default:
					assert.Empty(t, got.identity[tag], "%s %08x", name, tag)
					name := identities[tag] == "PN" || identities[tag] == "LO" // UIDs hold dates
					assert.False(t, name && len(value) > 3 && bytes.Contains(written, []byte(value)), "%s: %q", name, value)
				}
			}
		}
	}
}

// dciodvfy finds no error in a segmentation, and dcmtk reads the same pixels.
func TestOthersReadSegmentations(t *testing.T) {
	for _, program := range []string{"dciodvfy", "dcmdump"} {
		needs(t, program)
	}
	all := sources(t)
	if len(all) == 0 {
		t.Skip("no sources: set MRPRISM_VECTORS")
	}
	warnings := map[string]int{}
	for name, data := range all {
		h := header(t, data, 0)
		for i, fractional := range []bool{false, true} {
			s := segmentation(h, fractional, i == 1)
			written, err := s.Encode()
			require.NoError(t, err)
			folder := t.TempDir()
			path := filepath.Join(folder, "seg.dcm")
			require.NoError(t, os.WriteFile(path, written, 0o666))
			said, _ := exec.Command("dciodvfy", path).CombinedOutput()
			for line := range strings.Lines(string(said)) {
				// These sources have several frames though their class has one.
				known := strings.HasSuffix(name, "_2frame.dcm") && strings.Contains(line, "not multi-frame")
				if strings.HasPrefix(line, "Error") && !known {
					assert.Fail(t, "dciodvfy", "%s: %s", name, line)
				}
				if strings.HasPrefix(line, "Warning") {
					warnings[strings.TrimSpace(line)]++
				}
			}
			said, err = exec.Command("dcmdump", "+W", folder, path).CombinedOutput()
			require.NoError(t, err, "%s", said)
			raw, err := filepath.Glob(filepath.Join(folder, "*.raw"))
			require.NoError(t, err)
			require.Len(t, raw, 1, "%s", said)
			pixels, err := os.ReadFile(raw[0])
			require.NoError(t, err)
			at := 0
			for _, one := range s.Segments {
				for _, v := range one.Levels {
					got := pixels[at/8] >> (at % 8) & 1
					if fractional {
						got = pixels[at]
					} else {
						v >>= 7
					}
					require.Equal(t, v, got, name)
					at++
				}
			}
		}
	}
	for line, count := range warnings {
		t.Log(count, line)
	}
}

// enhanced is a file of three frames, 4 × 2 pixels, whose places and windows stand in functional
// groups.
func enhanced() []byte {
	var e, plane, measures, shared elements.Set
	e.Text(0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4.1")
	e.Text(0x00080018, "UI", "1.2.3.1")
	e.Text(0x00100010, "PN", "Doe^Jane")
	e.Text(0x0020000d, "UI", "1.2.3.2")
	e.Text(0x0020000e, "UI", "1.2.3.3")
	e.Text(0x00200052, "UI", "1.2.3.4")
	e.Words(0x00280002, 1)
	e.Text(0x00280004, "CS", "MONOCHROME2")
	e.Text(0x00280008, "IS", "3")
	for i, tag := range []uint32{0x00280010, 0x00280011, 0x00280100, 0x00280101, 0x00280102} {
		e.Words(tag, []int{2, 4, 16, 16, 15}[i])
	}
	plane.Decimals(0x00200037, 0, 1, 0, 0, 0, -1)
	measures.Decimals(0x00180050, 3)
	measures.Decimals(0x00280030, 0.5, 0.25)
	shared.Sequence(0x00209116, plane)
	shared.Sequence(0x00289110, measures)
	e.Sequence(0x52009229, shared)
	var frames []elements.Set
	for i := range 3 {
		var frame, place, window elements.Set
		place.Decimals(0x00200032, float64(3*i), 20, -30)
		window.Decimals(0x00281050, float64(100+i))
		window.Decimals(0x00281051, 50)
		frame.Sequence(0x00209113, place)
		frame.Sequence(0x00289132, window)
		frames = append(frames, frame)
	}
	e.Sequence(0x52009230, frames...)
	var meta elements.Set
	meta.Text(0x00020010, "UI", explicitLittle)
	out := append(make(elements.Set, 128), "DICM"...)
	out.Bytes(0x00020000, "UL", []byte{byte(len(meta)), 0, 0, 0})
	out = append(append(out, meta...), e...)
	out.Bytes(0x7fe00010, "OB", make([]byte, 48)) // implicit files call it OW
	return out
}

// A frame of an enhanced file has its own place and window, however the file is written.
func TestFramesOfEnhancedFiles(t *testing.T) {
	needs(t, "dcmconv")
	files := map[string][]byte{"as written": enhanced()}
	path, to := filepath.Join(t.TempDir(), "a.dcm"), filepath.Join(t.TempDir(), "b.dcm")
	require.NoError(t, os.WriteFile(path, enhanced(), 0o666))
	for _, syntax := range []string{"+te", "+ti", "+tb"} {
		for _, lengths := range []string{"+e", "-e"} {
			said, err := exec.Command("dcmconv", syntax, lengths, path, to).CombinedOutput()
			require.NoError(t, err, "%s", said)
			data, err := os.ReadFile(to)
			require.NoError(t, err)
			files[syntax+lengths] = data
		}
	}
	for name, data := range files {
		for slice := range 4 {
			f, err := Open(data, slice, nil)
			require.NoError(t, err, name)
			h, frame := f.Header.(*Header), slice
			if slice == 0 {
				frame = 2 // the middle
			}
			assert.Equal(t, []int{frame, 3}, []int{h.frame, h.frames}, name)
			assert.True(t, h.placed, name)
			right, down, through, origin, ok := h.Place()
			assert.True(t, ok)
			assert.Equal(t, [][3]float64{{0, 0.25, 0}, {0, 0, -0.5}, {-3, 0, 0}, {float64(3 * (frame - 1)), 20, -30}}, [][3]float64{right, down, through, origin}, name)
			assert.Equal(t, []float64{float64(99 + frame)}, parsed(t, data, slice).numbers(0x00281050, "DS"), name)
			written, err := segmentation(h, false, true).Encode()
			require.NoError(t, err)
			assert.Contains(t, string(written), "Doe^Jane")
			back := header(t, written, 1)
			assert.Equal(t, h.position, back.position)
			assert.True(t, bytes.Contains(written, []byte{8, 0, 0x60, 0x11, 'I', 'S', 2, 0, byte('0' + frame), ' '}), "the frame's number")
		}
	}
}

func parsed(t *testing.T, data []byte, slice int) *parser {
	p, _, err := parse(data, slice)
	require.NoError(t, err)
	return p
}

// What a source lacks, or says in vain, is not written; a source without UIDs is refused.
func TestSegmentationsOfPoorSources(t *testing.T) {
	replaced := func(from, to string) *Header {
		require.Equal(t, len(from), len(to))
		data := enhanced()
		require.Equal(t, 1, bytes.Count(data, []byte(from)), from)
		return header(t, bytes.Replace(data, []byte(from), []byte(to), 1), 1)
	}
	for _, h := range []*Header{replaced(`0\1\0\0\0\-1`, `0\1\0\0\0\-9`), replaced(`0\1\0\0\0\-1`, `0\1\0\0\1\00`), replaced(`0\20\-30`, `0\20\NaN`), replaced(`0\20\-30`, `0\20\xxx`), replaced("1.2.3.4", "1.2..34"), replaced(`0.5\0.25`, `0.5\0.00`)} {
		assert.False(t, h.placed)
		written, err := segmentation(h, true, false).Encode()
		require.NoError(t, err)
		back := header(t, written, 2)
		assert.False(t, back.placed)
		assert.Empty(t, back.space)
		_, _, _, _, ok := back.Place()
		assert.False(t, ok)
	}
	for _, uid := range []string{"1.2.3.1", "1.2.3.2", "1.2.3.3"} {
		h := replaced(uid, "1.2.3.x")
		assert.ErrorContains(t, h.Check(), "the file has no valid S")
		_, err := segmentation(h, false, false).Encode()
		assert.ErrorContains(t, err, "save the masks as NIfTI or TIFF")
	}
	wrong := segmentation(header(t, enhanced(), 1), false, false)
	wrong.Segments[1].Levels = wrong.Segments[1].Levels[1:]
	_, err := wrong.Encode()
	assert.ErrorContains(t, err, "another size")
}

func TestDecimalsAndUIDs(t *testing.T) {
	for _, v := range []float64{1, -0.1, 1.0 / 3, -1e-7 / 3, 123456789.123456789, -2.0 / 30000, 9999.999999999999} {
		var e elements.Set
		e.Decimals(0x00280030, v)
		assert.LessOrEqual(t, len(e[8:]), 16, string(e[8:]))
	}
	for _, hash := range [][16]byte{{15: 7}, {0: 255, 6: 255, 8: 255, 12: 1}} {
		number, ok := new(big.Int).SetString(strings.TrimPrefix(uidOf(hash), "2.25."), 10)
		require.True(t, ok)
		want := hash
		want[6], want[8] = hash[6]&0x0f|0x80, hash[8]&0x3f|0x80
		assert.Equal(t, want[:], number.FillBytes(make([]byte, 16)))
	}
	assert.Equal(t, `ab`, limited("a\\\nb  ", 9))
}

// Who a file is of stands on five lines, whatever the file says.
func TestIdentityAsLines(t *testing.T) {
	data := dicomtest.Slice(2, 2, make([]byte, 4), 0, map[uint32]string{0x00080005: "ISO_IR 100", 0x00080020: "2026.09.01", 0x00100010: "M\xfcller^\nAnna", 0x00100020: "4711 "})
	assert.Equal(t, "ISO_IR 100\nM\xfcller^ Anna\n4711\n\n20260901", string(header(t, data, 0).Identity()))
}
