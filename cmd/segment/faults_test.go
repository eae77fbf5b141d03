package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/command/journal"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/output/masks"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"
	"mrprism/weights/disk"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Bad images stand beside good ones of every kind. The good ones are segmented. A message names
// each bad one and says what to do, and the exit code is 1.
func TestBadImagesDoNotStopTheOthers(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	photo := synthetic.Photograph(1, 60, 40)
	grey := image.NewGray(image.Rect(0, 0, 30, 50))
	clear := image.NewNRGBA(image.Rect(0, 0, 20, 20))
	clear.Set(3, 3, color.NRGBA{200, 100, 50, 128})
	whole := encodeJPEG(t, photo)
	huge := encodePNG(t, photo)
	copy(huge[16:24], []byte{0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30}) // 30,000 × 30,000 in IHDR
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	good := map[string][]byte{
		"one.png": encodePNG(t, image.NewGray(image.Rect(0, 0, 1, 1))), "grey.png": encodePNG(t, grey), "alpha.png": encodePNG(t, clear),
		"turned.jpg": withOrientation(whole, 6), "last.png": encodePNG(t, photo),
	}
	bad := map[string][]byte{"text.png": []byte("this is no picture"), "cut.jpg": whole[:len(whole)/2], "huge.png": huge, "empty.png": nil}
	args := []string{"-weights", weightsFile(t, dir, segmenttest.Raters(), nil), "-device", "reference", "-recurrences", "1", "-out", out}
	for name, data := range bad {
		args = append(args, write(t, filepath.Join(dir, name), data))
	}
	args = append(args, filepath.Join(dir, "absent.png"))
	for name, data := range good {
		args = append(args, write(t, filepath.Join(dir, name), data))
	}
	got := call(t, args...)
	require.Equal(t, 1, got.code)
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	for name := range bad {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, name) })
		require.GreaterOrEqual(t, i, 0, "%s is not named in %s", name, got.stderr)
		assert.Contains(t, lines[i], "; ", "what to do next is missing: %s", lines[i])
	}
	require.Contains(t, got.stderr, "absent.png")
	require.Contains(t, got.stderr, "5 of 10 images failed")
	for name := range good {
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		require.FileExists(t, filepath.Join(out, stem+".json"))
		require.FileExists(t, filepath.Join(out, stem+"_brain_eve.png"))
	}
	require.Len(t, listed(t, out), 5*len(good), "bad images must leave nothing")
	require.Equal(t, image.Pt(40, 60), readPNG(t, filepath.Join(out, "turned_brain.png")).Rect.Size(), "masks have the displayed orientation")
}

// withOrientation puts an EXIF block with the orientation behind a JPEG's start.
func withOrientation(jpeg []byte, orientation byte) []byte {
	exif := append([]byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00"), orientation, 0, 0, 0, 0, 0, 0, 0)
	segment := append([]byte{0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
	return slices.Concat(jpeg[:2], segment, jpeg[2:])
}

// A fault of weights, region, device or folder gives one message and exit code 1. Nothing is
// written.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MRPRISM_DAWN_LIB", filepath.Join(dir, "none.so"))
	w := weightsFile(t, dir, segmenttest.Raters(), nil)
	photo := write(t, filepath.Join(dir, "a.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	flipped := slices.Clone(must(os.ReadFile(w)))
	flipped[len(flipped)-5] ^= 1
	lacking := segmenttest.Raters()
	lacking.Name = "lacking"
	base := []string{"-device", "reference", "-recurrences", "0"}
	for want, args := range map[string][]string{
		"damaged": {"-weights", write(t, filepath.Join(dir, "flipped.safetensors"), flipped), photo},
		"1 missing: divp.project.bias": {"-weights", weightsFile(t, dir, lacking, func(f *weights.File) {
			f.Tensors = slices.DeleteFunc(f.Tensors, func(t weights.Tensor) bool { return t.Name == "divp.project.bias" })
		}), photo},

		"nonesuch: there is no such file":                   {"-weights", "nonesuch", photo},
		"none.safetensors: no such file":                    {"-weights", filepath.Join(dir, "none.safetensors"), photo},
		photo + ": region 500,0,10 does not fit this image": {"-weights", w, "-roi", "500,0,10", photo},
		"precision f16: Go float64 [reference, reference] cannot compute with it (it lacks shader-f16); use f32": {"-weights", w, "-precision", "f16", photo},
		"device dawn": {"-weights", w, "-device", "dawn", photo},
	} {
		out := filepath.Join(t.TempDir(), "out")
		got := call(t, append(append(slices.Clone(base), "-out", out), args...)...)
		require.Equal(t, 1, got.code, "%v: %s", args, got.stderr)
		require.Contains(t, got.stderr, want)
		require.Empty(t, got.stdout)
		if entries, err := os.ReadDir(out); err == nil {
			require.Empty(t, entries)
		}
	}
	got := call(t, append(slices.Clone(base), "-weights", w, "-out", photo, photo)...)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "the folder of -out cannot be made: mkdir "+photo+": not a directory; name another one")
}

// Marks that do not fit give an error that names the file or the choices. Nothing is written.
func TestEvidenceFaults(t *testing.T) {
	dir := t.TempDir()
	photo := write(t, filepath.Join(dir, "a.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	good, small := write(t, filepath.Join(dir, "good.png"), markOf(t, 40, 40)), write(t, filepath.Join(dir, "small.png"), markOf(t, 20, 40))
	text := write(t, filepath.Join(dir, "text.png"), []byte("inside"))
	over := filepath.Join(dir, "a_brain_ann.png")
	write(t, over, markOf(t, 40, 40))
	raters, plain := weightsFile(t, dir, marked(segmenttest.Raters()), nil), weightsFile(t, dir, segmenttest.Raters(), nil)
	fundus := weightsFile(t, dir, marked(segmenttest.Fundus()), nil)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "give RATER=FILE, or RATER/CLASS=FILE", []string{"-weights", raters, "-evidence", good}},
		{2, "model untrained-raters takes no marks; leave -evidence out", []string{"-weights", plain, "-evidence", "ann=" + good}},
		{2, "belongs to one photograph, and 2 are named", []string{"-weights", raters, "-evidence", "ann=" + good, good}},
		{2, `has no rater "carl"; choose one of you, ann, bob, eve`, []string{"-weights", raters, "-evidence", "carl=" + good}},
		{2, `has no class "cup"; choose one of brain`, []string{"-weights", raters, "-evidence", "ann/cup=" + good}},
		{2, "which class? Give you/CLASS=" + good + " with one of disc, cup", []string{"-weights", fundus, "-evidence", "you=" + good}},
		{2, `has no rater "atleast1"; choose one of you`, []string{"-weights", fundus, "-evidence", "atleast1/cup=" + good}},
		{2, "ann is given twice for brain", []string{"-weights", raters, "-evidence", "ann=" + good, "-evidence", "ann/brain=" + good}},
		{2, over + " would be overwritten", []string{"-weights", raters, "-evidence", "ann=" + over, "-out", dir}},
		{1, "small.png: the mark has 20×40 pixels, and the photograph 40×40; draw", []string{"-weights", raters, "-evidence", "ann=" + small}},
		{1, "text.png: this is a text file, not an image", []string{"-weights", raters, "-evidence", "ann=" + text}},
		{1, "a.png: the pixel at 0, 0 has the", []string{"-weights", raters, "-evidence", "ann=" + photo}},
		{1, "none.png: no such file or directory; name a PNG of a mark", []string{"-weights", raters, "-evidence", "ann=" + filepath.Join(dir, "none.png")}},
	} {
		out := t.TempDir()
		got := call(t, append([]string{"-device", "reference", "-out", out, photo}, c.args...)...)
		require.Equal(t, c.code, got.code, "%v: %s", c.args, got.stderr)
		require.Contains(t, got.stderr, c.want)
		require.Empty(t, got.stdout)
		require.Empty(t, listed(t, out))
	}
}

// On a full disk the results of an earlier run stay, all of them.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	photo, out := filepath.Join(dir, "a.png"), filepath.Join(dir, "out")
	args := []string{"-weights", weightsFile(t, dir, segmenttest.Raters(), nil), "-device", "reference", "-recurrences", "0", "-out", out, photo}
	write(t, photo, encodePNG(t, synthetic.Photograph(1, 40, 40)))
	require.Zero(t, call(t, args...).code)
	before := map[string][]byte{}
	for _, name := range listed(t, out) {
		before[name] = must(os.ReadFile(filepath.Join(out, name)))
	}
	require.Len(t, before, 5)
	write(t, photo, encodePNG(t, synthetic.Photograph(2, 50, 50)))
	for _, last := range []string{"a_brain.png", "a_brain_eve.png", "a.json"} {
		disk.Fault = func(operation, path string) error {
			if operation == disk.Write && strings.Contains(path, last) {
				return syscall.ENOSPC
			}
			return nil
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, &stdout, &stderr)
		disk.Fault = nil
		require.Equal(t, 1, code)
		require.Contains(t, stderr.String(), last+", what was there is unchanged")
		require.Equal(t, len(before), len(listed(t, out)), "temporaries are removed")
		for name, data := range before {
			require.Equal(t, data, must(os.ReadFile(filepath.Join(out, name))), "%s after %s failed", name, last)
		}
	}
	require.Zero(t, call(t, args...).code)
	require.NotEqual(t, before["a_brain.png"], must(os.ReadFile(filepath.Join(out, "a_brain.png"))))
}

// If the CPU emulates the only adapter, auto takes the processor. The JSON and the notes say why.
func TestDeviceThatWasChosen(t *testing.T) {
	dir := t.TempDir()
	photo := write(t, filepath.Join(dir, "a.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	base := []string{"-weights", weightsFile(t, dir, segmenttest.Raters(), nil), "-recurrences", "0", photo}
	segmented := func(wished string) (s journal.Entry, notes string) {
		t.Setenv("MRPRISM_DEVICE", wished)
		out := filepath.Join(dir, "out"+wished)
		got := call(t, append(slices.Clone(base), "-out", out)...)
		require.Zero(t, got.code, got.stderr)
		require.NoError(t, json.Unmarshal(must(os.ReadFile(filepath.Join(out, "a.json"))), &s))
		return s, got.stderr
	}
	s, notes := segmented("reference")
	require.Contains(t, s.Device, "[reference, ")
	require.Empty(t, s.Why+notes)
	s, notes = segmented("")
	if s.Why == "" {
		t.Skipf("%s leaves no choice: %s", s.Device, notes)
	}
	require.Contains(t, s.Device, "[processor, processor]")
	require.Contains(t, s.Why, "emulates a GPU on this processor")
	require.Contains(t, notes, s.Device+": "+s.Why)
}

// Without a Vulkan driver the CPU computes, and a note says so. A user who asked for a GPU gets an
// error and no mask.
func TestNoAdapter(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("GPUs are hidden by the Vulkan loader's variable, which only Linux obeys")
	}
	t.Setenv("VK_DRIVER_FILES", filepath.Join(t.TempDir(), "none.json"))
	t.Setenv("MRPRISM_DEVICE", "")
	dir := t.TempDir()
	photo := write(t, filepath.Join(dir, "a.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	base := []string{"-weights", weightsFile(t, dir, segmenttest.Raters(), nil), "-recurrences", "0"}
	out := filepath.Join(dir, "cpu")
	got := call(t, append(slices.Clone(base), "-out", out, photo)...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stderr, "the CPU computes instead")
	var s journal.Entry
	require.NoError(t, json.Unmarshal(must(os.ReadFile(filepath.Join(out, "a.json"))), &s))
	require.Regexp(t, `^Go float32( in .*)? \[processor, processor\]$`, s.Device)
	out = filepath.Join(dir, "gpu")
	got = call(t, append(slices.Clone(base), "-out", out, "-device", "wgpu", photo)...)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "no GPU adapter")
	require.NoDirExists(t, out)
}

// Ctrl-C ends the program soon, with its exit code. Every image that has a summary is complete.
func TestInterrupt(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	args := []string{"-weights", weightsFile(t, dir, segmenttest.Raters(), nil), "-device", "reference", "-recurrences", "9", "-out", out}
	data := encodePNG(t, synthetic.Photograph(1, 40, 40))
	for i := range 200 {
		args = append(args, write(t, filepath.Join(dir, fmt.Sprintf("i%03d.png", i)), data))
	}
	cmd := process(args...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan(), "no image was done: %s", stderr.String())
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	for lines.Scan() {
	}
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "interrupted")
	done := 0
	for i := range 200 {
		if _, err := os.Stat(filepath.Join(out, fmt.Sprintf("i%03d.json", i))); err == nil {
			done++
			for _, rest := range []string{"", "_ann", "_bob", "_eve"} {
				readPNG(t, filepath.Join(out, fmt.Sprintf("i%03d_brain%s.png", i, rest)))
			}
		}
	}
	require.Positive(t, done)
	require.Less(t, done, 200)
	require.Len(t, listed(t, out), 5*done, "no temporary files, no maps without summary")
}

// losing is a device that is lost in its first n runs.
type losing struct {
	gpu.Device
	left *int
}

func (l losing) Run(ctx context.Context, recordings ...gpu.Recording) error {
	if *l.left > 0 {
		*l.left--
		return fmt.Errorf("injected: %w", gpu.ErrLost)
	}
	return l.Device.Run(ctx, recordings...)
}

// A lost device is opened again, once for each image. If it is lost twice, the image fails, and the
// next image opens a new device.
func TestLostDevice(t *testing.T) {
	dir := t.TempDir()
	m, err := computing.Weights(weightsFile(t, dir, segmenttest.Raters(), nil))
	require.NoError(t, err)
	var images []string
	for _, name := range []string{"a.png", "b.png"} {
		images = append(images, write(t, filepath.Join(dir, name), encodePNG(t, synthetic.Photograph(1, 40, 40))))
	}
	for losses, want := range map[int]struct{ opened, failed int }{0: {1, 0}, 1: {2, 0}, 2: {3, 1}, 4: {4, 2}} {
		left, opened := losses, 0
		var stdout, stderr bytes.Buffer
		b := &batch{
			Run: journal.Run{
				Session: segment.Session{
					Model: m, Note: func(text string) { fmt.Fprintln(&stderr, text) },
					Open: func(context.Context, func(string)) (gpu.Device, error) {
						opened++
						return losing{reference.Open(), &left}, nil
					},
				},
				Weights: "w", Options: segment.Options{Recurrences: 1},
			},
			stdout: &stdout, stderr: &stderr, progress: command.NewProgress(&stderr, 2),
		}
		out := t.TempDir()
		b.Readers = masks.Readers(segment.Heads(&m.Metadata), m.Metadata.Classes, m.Metadata.Labels, false, false)
		items, err := plan(out, images, nil, b.Readers, m.Metadata.Classes, masks.Formats[:1])
		require.NoError(t, err)
		err = b.run(t.Context(), items)
		b.Session.Close()
		require.Equal(t, want.opened, opened, "%d losses", losses)
		require.Equal(t, want.failed > 0, err != nil)
		require.Equal(t, 2-want.failed, strings.Count(stdout.String(), "\n"))
		require.Len(t, listed(t, out), 5*(2-want.failed))
	}
}
