package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mrprism/internal/command"
	"mrprism/internal/gpu"
	"mrprism/internal/gpu/gputest"
	"mrprism/internal/gpu/reference"
	"mrprism/internal/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/internal/synthetic"
	"mrprism/internal/tune"
	"mrprism/model"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// built is the program under test, built once.
var built string

func TestMain(m *testing.M) {
	os.Setenv(tune.Variable, "off") // what the user has measured here is not for tests
	dir, err := os.MkdirTemp("", "segment")
	if err != nil {
		panic(err)
	}
	built = filepath.Join(dir, "segment")
	if out, err := exec.Command("go", "build", "-o", built, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// outcome is what a run of the program left.
type outcome struct {
	code           int
	stdout, stderr string
}

func call(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(built, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

func weightsFile(t *testing.T, dir string, about weights.Metadata, change func(*weights.File)) string {
	t.Helper()
	f, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	if change != nil {
		change(f)
	}
	data, err := segmenttest.Encode(f)
	require.NoError(t, err)
	return write(t, filepath.Join(dir, about.Name+".safetensors"), data)
}

func encodePNG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

func encodeJPEG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, nil))
	return b.Bytes()
}

func readPNG(t *testing.T, path string) *image.Gray {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	m, err := png.Decode(f)
	require.NoError(t, err)
	grey, ok := m.(*image.Gray)
	require.True(t, ok, "%s is %T, not 8-bit grey", path, m)
	return grey
}

func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The files, their sizes and the summary, for levels and for raters, on every device.
func TestFilesOfAnImage(t *testing.T) {
	dir := t.TempDir()
	photo := write(t, filepath.Join(dir, "eye.jpg"), encodeJPEG(t, synthetic.Photograph(synthetic.SampleSeed, 240, 200)))
	levels, raters := weightsFile(t, dir, segmenttest.Fundus(), nil), weightsFile(t, dir, segmenttest.Raters(), nil)
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		out := filepath.Join(t.TempDir(), "new", "folder")
		got := call(t, "-weights", levels, "-device", d.Info().Backend, "-out", out, photo, "-recurrences", "2")
		require.Zero(t, got.code, got.stderr)
		require.Empty(t, got.stderr)
		require.Contains(t, got.stdout, photo+": disc ")
		require.Equal(t, []string{
			"eye.json", "eye_cup.png", "eye_cup_rater1.png", "eye_cup_rater2.png", "eye_cup_rater3.png", "eye_cup_rater4.png",
			"eye_disc.png", "eye_disc_rater1.png", "eye_disc_rater2.png", "eye_disc_rater3.png", "eye_disc_rater4.png",
		}, listed(t, out))

		var s summary
		text, err := os.ReadFile(filepath.Join(out, "eye.json"))
		require.NoError(t, err)
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(&s))
		require.Equal(t, []int{240, 200, 2}, []int{s.Width, s.Height, s.Recurrences})
		require.Equal(t, d.Info().String(), s.Device)
		require.Equal(t, "untrained-fundus", s.Model)
		m, err := command.Weights(levels)
		require.NoError(t, err)
		require.Equal(t, origin{levels, m.Label(), m.SHA256, false}, s.Weights)
		require.Contains(t, s.Times, "rec2")
		require.NotContains(t, s.Times, "rec3")
		require.Contains(t, s.Times, "search")
		require.Less(t, s.Region.Side, 240)

		// the files hold what the engine computes, on the reference, and the summary measures what is in the files
		img, err := imageio.Decode(photo, must(os.ReadFile(photo)))
		require.NoError(t, err)
		e, err := segment.New(t.Context(), reference.Open(), m, model.F32)
		require.NoError(t, err)
		defer e.Close()
		want, err := e.Segment(t.Context(), img, segment.Options{Recurrences: 2})
		require.NoError(t, err)
		require.Equal(t, want.ROI, s.Region)
		for c, class := range want.Classes {
			mask := readPNG(t, filepath.Join(out, s.Files.Probability[class]))
			near(t, want.Probability(c), mask)
			area := 0
			for _, v := range mask.Pix {
				if v >= 128 {
					area++
				}
			}
			require.Equal(t, area, s.Measurements.Structures[c].Area)
			for j := range want.Raters {
				near(t, want.Rater(j, c), readPNG(t, filepath.Join(out, s.Files.Raters[class][j])))
			}
		}

		// a second model into the same folder, with a region by hand
		got = call(t, "-weights", raters, "-device", d.Info().Backend, "-out", out, "-roi", "-5,20,60", "-recurrences", "0", photo)
		require.Zero(t, got.code, got.stderr)
		require.NoError(t, json.Unmarshal(must(os.ReadFile(filepath.Join(out, "eye.json"))), &s))
		require.Equal(t, imageio.Square{X: -5, Y: 20, Side: 60}, s.Region)
		require.Zero(t, readPNG(t, filepath.Join(out, "eye_brain_rater3.png")).GrayAt(200, 150).Y)
	})
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// near holds 8 bits to probabilities: 2e-3 between devices and half a step of rounding.
func near(t *testing.T, want []float32, got *image.Gray) {
	t.Helper()
	require.Len(t, got.Pix, len(want))
	for i, v := range got.Pix {
		require.InDelta(t, want[i], float64(v)/255, 2e-3+0.5/255+1e-6)
	}
}

// Good images of every kind beside bad ones: the good are done, the bad are named with what to do, and the exit code is 1.
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
	args = append(args, dir, filepath.Join(dir, "absent.png"))
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
	require.Contains(t, got.stderr, dir+" is a folder; give its images")
	require.Contains(t, got.stderr, "absent.png")
	require.Contains(t, got.stderr, "6 of 11 images failed")
	for name := range good {
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		require.FileExists(t, filepath.Join(out, stem+".json"))
		require.FileExists(t, filepath.Join(out, stem+"_brain_rater3.png"))
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

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	w := weightsFile(t, dir, segmenttest.Raters(), nil)
	photo := write(t, filepath.Join(dir, "a.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	other := write(t, filepath.Join(dir, "a.jpg"), encodeJPEG(t, synthetic.Photograph(1, 40, 40)))
	mask := write(t, filepath.Join(dir, "a_brain.png"), encodePNG(t, image.NewGray(image.Rect(0, 0, 40, 40))))
	help := call(t, "-h")
	require.Zero(t, help.code)
	require.Empty(t, help.stderr)
	for _, word := range []string{"usage:", "examples:", "exit codes:", "-recurrences", "-roi", "-weights", "-device", "-out", "-dawn-lib"} {
		require.Contains(t, help.stdout, word)
	}
	for want, args := range map[string][]string{
		"which weights":                {"-out", dir, photo},
		"where to":                     {"-weights", w, photo},
		"no images":                    {"-weights", w, "-out", dir},
		"-recurrences 33":              {"-weights", w, "-out", dir, "-recurrences", "33", photo},
		`invalid value "x"`:            {"-weights", w, "-out", dir, "-recurrences", "x", photo},
		"-roi: region":                 {"-weights", w, "-out", dir, "-roi", "here", photo},
		"-device abacus: choose":       {"-weights", w, "-out", dir, "-device", "abacus", photo},
		"not defined: -colour":         {"-weights", w, "-out", dir, "-colour", photo},
		"would both be written":        {"-weights", w, "-out", dir, photo, other},
		"a.png would both":             {"-weights", w, "-out", dir, photo, photo},
		"a_brain.png would be overwri": {"-weights", w, "-out", dir, mask, photo},
	} {
		got := call(t, args...)
		require.Equal(t, 2, got.code, got.stderr)
		require.Contains(t, got.stderr, want)
		require.Contains(t, got.stderr, "segment -h")
		require.Empty(t, got.stdout)
	}
	require.Equal(t, must(os.ReadFile(mask)), encodePNG(t, image.NewGray(image.Rect(0, 0, 40, 40))))
}

// What is wrong with weights, region, device or folder: one message, nothing written, exit code 1.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	w := weightsFile(t, dir, segmenttest.Raters(), nil)
	photo := write(t, filepath.Join(dir, "a.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	flipped := slices.Clone(must(os.ReadFile(w)))
	flipped[len(flipped)-5] ^= 1
	lacking := segmenttest.Raters()
	lacking.Name = "lacking"
	searching := segmenttest.Fundus()
	searching.Name = "searching"
	none := weightsFile(t, dir, searching, func(f *weights.File) {
		bias := f.Tensor("conp.head.bias")
		*bias = weights.NewF32(bias.Name, bias.Shape, []float32{-30, -30})
	})
	base := []string{"-device", "reference", "-recurrences", "0"}
	for want, args := range map[string][]string{
		"damaged": {"-weights", write(t, filepath.Join(dir, "flipped.safetensors"), flipped), photo},
		"1 missing: divp.project.bias": {"-weights", weightsFile(t, dir, lacking, func(f *weights.File) {
			f.Tensors = slices.DeleteFunc(f.Tensors, func(t weights.Tensor) bool { return t.Name == "divp.project.bias" })
		}), photo},
		"-weights nonesuch: there is no such file":                                                               {"-weights", "nonesuch", photo},
		"none.safetensors: no such file":                                                                         {"-weights", filepath.Join(dir, "none.safetensors"), photo},
		photo + ": region 500,0,10 does not fit this image":                                                      {"-weights", w, "-roi", "500,0,10", photo},
		photo + ": the structure was not found in this image; give":                                              {"-weights", none, photo},
		"precision f16: Go float64 [reference, reference] cannot compute with it (it lacks shader-f16); use f32": {"-weights", w, "-precision", "f16", photo},
		"device dawn": {"-weights", w, "-device", "dawn", "-dawn-lib", filepath.Join(dir, "none.so"), photo},
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
	require.Contains(t, got.stderr, "cannot make the folder")
}

// Without any Vulkan driver the CPU computes and the user is told; who asked for a GPU gets an error and no mask.
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
	require.Contains(t, got.stderr, "so the CPU computes")
	var s summary
	require.NoError(t, json.Unmarshal(must(os.ReadFile(filepath.Join(out, "a.json"))), &s))
	require.Equal(t, "Go float32 [processor, processor]", s.Device)
	out = filepath.Join(dir, "gpu")
	got = call(t, append(slices.Clone(base), "-out", out, "-device", "wgpu", photo)...)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "no GPU adapter")
	require.NoDirExists(t, out)
}

// Ctrl-C ends the program soon, with its exit code, and whatever has a summary is complete.
func TestInterrupt(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	args := []string{"-weights", weightsFile(t, dir, segmenttest.Raters(), nil), "-device", "reference", "-recurrences", "9", "-out", out}
	data := encodePNG(t, synthetic.Photograph(1, 40, 40))
	for i := range 200 {
		args = append(args, write(t, filepath.Join(dir, fmt.Sprintf("i%03d.png", i)), data))
	}
	cmd := exec.Command(built, args...)
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
			for _, rest := range []string{"", "_rater1", "_rater2", "_rater3"} {
				readPNG(t, filepath.Join(out, fmt.Sprintf("i%03d_brain%s.png", i, rest)))
			}
		}
	}
	require.Positive(t, done)
	require.Less(t, done, 200)
	require.Len(t, listed(t, out), 5*done, "no temporary files, no maps without summary")
}

// losing is a device that is lost at its first n runs.
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

// A lost device is opened again, once an image; lost twice, the image fails and the next starts afresh.
func TestLostDevice(t *testing.T) {
	dir := t.TempDir()
	m, err := command.Weights(weightsFile(t, dir, segmenttest.Raters(), nil))
	require.NoError(t, err)
	var images []string
	for _, name := range []string{"a.png", "b.png"} {
		images = append(images, write(t, filepath.Join(dir, name), encodePNG(t, synthetic.Photograph(1, 40, 40))))
	}
	for losses, want := range map[int]struct{ opened, failed int }{0: {1, 0}, 1: {2, 0}, 2: {3, 1}, 4: {4, 2}} {
		left, opened := losses, 0
		var stdout, stderr bytes.Buffer
		b := &batch{
			session: command.Session{
				Model: m, Note: func(text string) { fmt.Fprintln(&stderr, text) },
				Open: func(context.Context, func(string)) (gpu.Device, error) {
					opened++
					return losing{reference.Open(), &left}, nil
				},
			},
			weightsName: "w", options: segment.Options{Recurrences: 1}, stdout: &stdout, progress: command.NewProgress(&stderr, 2),
		}
		out := t.TempDir()
		items, err := plan(out, images, m.Metadata)
		require.NoError(t, err)
		code := b.run(t.Context(), out, items, &stderr)
		b.session.Close()
		require.Equal(t, want.opened, opened, "%d losses", losses)
		require.Equal(t, want.failed > 0, code == 1)
		require.Equal(t, 2-want.failed, strings.Count(stdout.String(), "\n"))
		require.Len(t, listed(t, out), 5*(2-want.failed))
	}
}
