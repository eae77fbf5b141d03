package mrprism_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mrprism"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/segment/segmenttest"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var folder, photograph string // of the examples

func TestMain(m *testing.M) {
	var data bytes.Buffer
	var err error
	if folder, err = os.MkdirTemp("", "mrprism"); err == nil {
		photograph = filepath.Join(folder, "photo.png")
		err = errors.Join(png.Encode(&data, synthetic.Photograph(7, 640, 480)), os.WriteFile(photograph, data.Bytes(), 0o600))
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// untrained opens a small model of disc and cup.
func untrained(t *testing.T) *mrprism.Model {
	t.Helper()
	f, err := segmenttest.Untrained(segmenttest.Fundus())
	require.NoError(t, err)
	data, err := segmenttest.Encode(f)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "a.safetensors")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	m, err := mrprism.Open(path)
	require.NoError(t, err)
	return m
}

func drawn(t *testing.T, seed uint64) *mrprism.Image {
	t.Helper()
	img, err := mrprism.NewImage(synthetic.Photograph(seed, 120, 90))
	require.NoError(t, err)
	return img
}

// figures are what a result says, and a map of it.
func figures(t *testing.T, r *mrprism.Result) string {
	t.Helper()
	text, err := r.MarshalJSON()
	require.NoError(t, err)
	return fmt.Sprint(r.Region, string(text), r.Structures[1].Raters[2].Probability())
}

// Goroutines that share a model, also with several devices, get what each alone gets, and a
// cancelled one disturbs no other.
func TestManyGoroutines(t *testing.T) {
	m := untrained(t)
	defer m.Close()
	devices := []string{"processor", "reference"}
	var images []*mrprism.Image
	want := map[string]string{}
	for i := range 2 {
		images = append(images, drawn(t, uint64(i)))
		for _, d := range devices {
			r, err := m.Segment(t.Context(), images[i], mrprism.Device(d))
			require.NoError(t, err)
			want[fmt.Sprint(i, d)] = figures(t, r)
		}
	}
	require.NotEqual(t, want["0processor"], want["1processor"])
	var all sync.WaitGroup
	for k := range 12 {
		all.Go(func() {
			i, d := k%2, devices[k/2%2]
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if k%3 == 2 {
				time.AfterFunc(time.Duration(k)*time.Millisecond, cancel)
			}
			r, err := m.Segment(ctx, images[i], mrprism.Device(d))
			if k%3 == 2 && err != nil {
				assert.ErrorIs(t, err, context.Canceled)
			} else if assert.NoError(t, err) {
				assert.Equal(t, want[fmt.Sprint(i, d)], figures(t, r))
			}
		})
	}
	all.Wait()
}

func TestKindsOfErrors(t *testing.T) {
	m, img := untrained(t), drawn(t, 1)
	defer m.Close()
	write := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	segment := func(options ...mrprism.Option) error {
		_, err := m.Segment(t.Context(), img, append(options, mrprism.Device("processor"))...)
		return err
	}
	open := func(name string) error { _, err := mrprism.Open(name); return err }
	read := func(name string) error { _, err := mrprism.ReadImage(name); return err }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, cancelled := m.Segment(ended, img, mrprism.Device("processor"))
	_, unknown := m.Segment(t.Context(), img, mrprism.Device("abacus"))
	for i, c := range []struct{ err, kind error }{
		{open("nonesuch"), mrprism.ErrUnknownModel}, {open("nowhere/a.safetensors"), os.ErrNotExist},
		{open(write("a.safetensors", "text")), mrprism.ErrNotAModel},
		{read(write("a.png", "text")), mrprism.ErrNotAnImage}, {read(write("a.png", "")), mrprism.ErrNotAnImage},
		{read(write("a.png", "\x89PNG\r\n\x1a\n\x00\x00")), mrprism.ErrDamagedImage}, {read(write("a.gif", "GIF89a...")), mrprism.ErrUnsupportedImage},
		{read("nowhere.png"), os.ErrNotExist},
		{segment(mrprism.Region(100, 0, 0)), mrprism.ErrOption}, {segment(mrprism.Region(500, 500, 20)), mrprism.ErrOption},
		{segment(mrprism.Eye("third")), mrprism.ErrOption}, {segment(mrprism.Precision("f8")), mrprism.ErrOption},
		{segment(mrprism.RaterWeights(1, 0)), mrprism.ErrOption},
		{cancelled, context.Canceled}, {unknown, mrprism.ErrUnknownDevice},
	} {
		assert.ErrorIs(t, c.err, c.kind, "case %d", i)
	}
	require.NoError(t, segment(mrprism.WholeImage(), mrprism.Eye("left")))
	r, err := m.Segment(t.Context(), img, mrprism.Device("processor"))
	require.NoError(t, err)
	assert.ErrorContains(t, r.WriteDICOMSEG(filepath.Join(t.TempDir(), "a.dcm")), "refers to a DICOM image, and this is none")
}

// A program of another module is small: it links no window, browser or metrics, and models only if
// it asks for them.
func TestProgramOfAnotherModule(t *testing.T) {
	root, err := filepath.Abs(".")
	require.NoError(t, err)
	sums, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	module := reflect.TypeFor[mrprism.Model]().PkgPath()
	for _, embedded := range []bool{false, true} {
		dir, extra := t.TempDir(), ""
		if embedded {
			extra = fmt.Sprintf("import _ %q\n", module+"/weights/shipped")
		}
		for name, content := range map[string]string{
			"go.mod": fmt.Sprintf("module example.org/reader\n\ngo 1.26.0\n\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", module, root), "go.sum": string(sums),
			"main.go": fmt.Sprintf("package main\n\nimport mrprism %q\n", module) + extra + "\nfunc main() {\n\tm, err := mrprism.Open(\"fundus\")\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\tprintln(m.Title)\n}\n",
		} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		run := func(name string, arguments ...string) (string, error) {
			c := exec.CommandContext(t.Context(), name, arguments...)
			c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
			output, err := c.CombinedOutput()
			return string(output), err
		}
		deps, err := run("go", "list", "-deps", ".")
		require.NoError(t, err, deps)
		linked := strings.Fields(deps)
		require.Contains(t, linked, module)
		assert.Equal(t, embedded, slices.Contains(linked, module+"/weights/shipped"))
		for _, path := range linked {
			for _, large := range []string{"ebiten/", "chromedp", "prometheus", "net/http", module + "/internal/command", "testing", "flag"} {
				assert.NotContains(t, path, large)
			}
		}
		built, err := run("go", "build", "-ldflags=-s -w", "-buildvcs=false", "-o", "reader", ".")
		require.NoError(t, err, built)
		said, err := run(filepath.Join(dir, "reader"))
		if embedded {
			require.NoError(t, err, said)
			assert.Contains(t, said, weights.Shipped().Models[0].Title)
			continue
		}
		require.Error(t, err)
		assert.Contains(t, said, `fundus: there is no such file, and this program has no shipped models; import _ "mrprism/weights/shipped", or name a .safetensors file`)
	}
}
