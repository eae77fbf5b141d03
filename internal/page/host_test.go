package page

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// The host keeps two pictures and four results.
func TestWhatIsKept(t *testing.T) {
	w := here(t, processor).start()
	shown := 0
	ask := func(request, key int, read func() []byte) error {
		job := w.job(request, "brain")
		job.Key, job.Read, job.Show = key, read, func(img *imageio.Image) { shown += img.W }
		_, err := w.Segment(job)
		return err
	}
	file := func() []byte { return picture(t) }
	for i := range 5 {
		require.NoError(t, ask(101+i, i/2, file))
		require.NoError(t, ask(101+i, i/2, nil))
	}
	require.Equal(t, 10*4, shown)
	require.Equal(t, Fault{"image", "a.png is no longer in memory.", "Open it again."}, FaultOf(ask(106, 0, nil)))
	require.NoError(t, ask(106, 1, nil))
	_, err := w.Result(103)
	require.Equal(t, "gone", FaultOf(err).Code)
	for _, request := range []int{104, 105, 106} {
		_, err = w.Result(request)
		require.NoError(t, err)
	}
	bad := func() []byte { return []byte("hello, this is text\n") }
	require.Equal(t, "image", FaultOf(ask(107, 9, bad)).Code)
}

// A passing result makes the host forget no other one. A known result is not computed again.
func TestPassingAndKnownResults(t *testing.T) {
	w := here(t, processor).start()
	runs := 0
	w.segment = func(context.Context, *fakeDevice, segment.Options) error { runs++; return nil }
	first, err := w.Segment(w.job(101, "brain"))
	require.NoError(t, err)
	for request := 102; request < 110; request++ {
		job := w.job(request, "brain")
		job.Passing = true
		_, err := w.Segment(job)
		require.NoError(t, err)
		_, err = w.Result(request)
		require.NoError(t, err)
	}
	_, err = w.Result(108)
	require.Equal(t, "gone", FaultOf(err).Code)

	again := w.job(110, "brain")
	again.Known = 101
	r, err := w.Segment(again)
	require.NoError(t, err)
	require.Equal(t, 9, runs)
	require.Same(t, first.Result, r.Result)
	require.Same(t, first.Model, r.Model)
	_, err = w.Result(110)
	require.NoError(t, err)

	again = w.job(111, "brain")
	again.Known = 108
	_, err = w.Segment(again)
	require.NoError(t, err)
	require.Equal(t, 10, runs, "what is forgotten is computed again")
}

// A picture that was decoded ahead is there for its job.
func TestDecodedAhead(t *testing.T) {
	w, shown := here(t, processor).start(), 0
	job := w.job(1, "brain")
	job.Show = func(img *imageio.Image) { shown = img.W }
	require.NoError(t, w.Decode(job))
	require.Positive(t, shown)
	again := w.job(2, "brain")
	again.Read = nil
	_, err := w.Segment(again)
	require.NoError(t, err)
}

// The total is the time that the user waited.
func TestTimings(t *testing.T) {
	w := here(t, processor).start()
	w.segment = func(context.Context, *fakeDevice, segment.Options) error {
		w.time = w.time.Add(3 * time.Second)
		return nil
	}
	r, err := w.Segment(w.job(1, "brain"))
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"network": 1, "total": 3000}, r.Timings)
	require.Equal(t, "brain", r.Model.Name())
	require.Equal(t, []string{"decode", "download", "compile"}, slices.Compact(w.stages))
}

// Cancel ends the named request, whether it runs or waits, and no other. After a cancelled request
// the host does not recover the device.
func TestCancel(t *testing.T) {
	w := here(t, card).start()
	w.Cancel(7)
	_, err := w.askAs(7, "brain")
	require.Equal(t, Fault{Code: "cancelled", Message: "Cancelled."}, FaultOf(err))
	require.Empty(t, w.take(), "it has not begun")
	w.segment = func(ctx context.Context, _ *fakeDevice, _ segment.Options) error {
		w.Cancel(7)
		require.NoError(t, ctx.Err())
		w.Cancel(8)
		require.Error(t, ctx.Err())
		return lost
	}
	_, err = w.askAs(8, "brain")
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, w.notes)
	w.Cancel(8)
	w.segment = nil
	_, err = w.askAs(9, "brain")
	require.NoError(t, err)
}

func TestDownloads(t *testing.T) {
	w := here(t, card).start()
	_, err := w.ask("nonesuch")
	require.Equal(t, "Choose another model.", FaultOf(err).Next)
	whole := w.files["brain.safetensors"]
	delete(w.files, "brain.safetensors")
	_, err = w.ask("brain")
	require.Equal(t, Fault{"weights", "The model could not be downloaded: the server answered 404.", "Check the network and that the site is served, then choose the model again. Models that About lists as kept work without a network."}, FaultOf(err))
	w.files["brain.safetensors"] = whole[:100]
	_, err = w.ask("brain")
	require.Contains(t, FaultOf(err).Message, "The model was refused: ")
	w.files["brain.safetensors"], w.kept["brain.safetensors"] = whole, whole[:100]
	w.asks("brain", card)

	job := w.job(1e6, "cells")
	job.Options.Progress = func(stage string, done, _ int) {
		if stage == "download" {
			w.Cancel(1e6)
		}
	}
	_, err = w.Segment(job)
	require.ErrorIs(t, err, context.Canceled)
}

func TestOwnWeights(t *testing.T) {
	w := here(t, processor).start()
	open := func(data []byte) (*weights.Model, error) {
		return w.OpenWeights("w.safetensors", float64(len(data)), func() []byte { return data })
	}
	data := untrained(t, named("mine", 0))
	m, err := open(data)
	require.NoError(t, err)
	require.Regexp(t, "^own-", m.Name())
	again, err := open(data)
	require.NoError(t, err)
	require.Equal(t, m.Name(), again.Name())
	require.Len(t, w.own, 1)
	w.asks(m.Name(), processor)
	w.asks("brain", processor)
	w.asks(m.Name(), processor)

	baseline, err := segmenttest.Untrained(named("baseline", 0))
	require.NoError(t, err)
	baseline.Metadata["recipe"] = "baseline"
	headless, err := segmenttest.Encode(baseline)
	require.NoError(t, err)
	m, err = open(headless)
	require.NoError(t, err)
	job := w.job(9, m.Name())
	job.Options.Recurrences = 1
	_, err = w.Segment(job)
	require.ErrorContains(t, err, "trained for one pass (recipe baseline)")
	_, err = open(slices.Concat(data[:len(data)-9], bytes.Repeat([]byte{1}, 9)))
	require.Equal(t, "weights", FaultOf(err).Code)
	require.Contains(t, FaultOf(err).Message, "damaged")
	baseline.Metadata["configuration"] = "tiny-concat-steered-cm-pixel"
	rival, err := segmenttest.Encode(baseline)
	require.NoError(t, err)
	_, err = open(rival)
	require.Equal(t, "w.safetensors: method cm-pixel is not in the page: use the native programs segment and train.", FaultOf(err).Message)
	_, err = w.OpenWeights("w.safetensors", 1e12, nil)
	require.Contains(t, FaultOf(err).Message, "w.safetensors has 1000000 MB")
}

// A stage is told at most every 50 ms. Its end and another stage are told at once.
func TestProgressIsPaced(t *testing.T) {
	s := system{now: func() time.Time { return time.Unix(1e9, 0) }}
	var told []string
	tell := s.paced(func(stage string, done, total int) { told = append(told, fmt.Sprint(stage, done)) })
	for done := range 4 {
		tell("download", done, 3)
	}
	tell("compile", 0, 0)
	require.Equal(t, []string{"download0", "download3", "compile0"}, told)
	s.now = func() time.Time { return time.Unix(1e9, 0).Add(progressEvery) }
	tell("download", 1, 3)
	require.Equal(t, "download1", told[3])
}

func TestFaults(t *testing.T) {
	for code, err := range map[string]error{
		"cancelled": context.Canceled, "lost": lost, "memory": full, "gpu": gpu.ErrInternal, "refused": model.ErrNothing,
		"weights": model.ErrNoRanges, "internal": errors.New("something else"), "options": &segment.OptionError{Err: errors.New("no")},
	} {
		f := FaultOf(fmt.Errorf("a.png: %w", err))
		require.Equal(t, code, f.Code)
		require.True(t, strings.HasSuffix(f.Message, "."), f.Message)
		require.True(t, code == "cancelled" || f.Next != "")
	}
	require.Equal(t, "a.png: no", FaultOf(Fault{Message: "a.png: no"}).Message)
	require.Equal(t, "No adapter", sentence("no adapter."))
	require.Equal(t, "a.png: text", sentence("a.png: text"))
}

// Map gives the maps of a result, and an error for every wrong question of the page.
func TestMaps(t *testing.T) {
	d := reference.Open()
	defer d.Close()
	m, err := weights.Shipped().Open("w", untrained(t, segmenttest.Raters()))
	require.NoError(t, err)
	e, err := segment.New(t.Context(), d, m, model.F32)
	require.NoError(t, err)
	defer e.Close()
	img := &imageio.Image{W: 9, H: 7, Pix: make([]uint8, 3*9*7)}
	r, err := e.Segment(t.Context(), img, segment.Options{Recurrences: 1, ROI: "none"})
	require.NoError(t, err)
	for kind, want := range map[string][]float32{"probability": r.Probability(0), "disagreement": r.Disagreement(0), "rater": r.Rater(2, 0), "recurrence": r.Recurrence(1, 0)} {
		got, err := Map{Kind: kind, M: 2, I: 1}.Values(&r.Maps)
		require.NoError(t, err)
		require.Equal(t, want, got, kind)
	}
	for want, m := range map[string]Map{
		"class is not a number from 0 to 0": {Kind: "probability", Class: 1}, "m is not a number from 0 to 2": {Kind: "rater", M: -1},
		"i is not a number from 0 to 1": {Kind: "recurrence", I: 2}, `unknown map "mask"`: {Kind: "mask"},
	} {
		_, err := m.Values(&r.Maps)
		require.EqualError(t, err, want)
	}
}

// Maps of a result around marks: the others, and each mark as it was given, also within the region.
func TestMapsAroundMarks(t *testing.T) {
	d := reference.Open()
	defer d.Close()
	about := segmenttest.Raters()
	about.Configuration = "tiny-evidence"
	m, err := weights.Shipped().Open("w", untrained(t, about))
	require.NoError(t, err)
	e, err := segment.New(t.Context(), d, m, model.F32)
	require.NoError(t, err)
	defer e.Close()
	img, mask := &imageio.Image{W: 9, H: 7, Pix: make([]uint8, 3*9*7)}, bytes.Repeat([]byte{segment.Unsaid}, 9*7)
	mask[3*9+4], mask[3*9+5] = 255, 0
	given := []segment.Evidence{{Rater: "ann", Mask: mask}}
	r, err := e.Segment(t.Context(), img, segment.Options{Recurrences: 2, ROI: "3,2,4", Evidence: given})
	require.NoError(t, err)
	part, x, y := r.Within()
	require.Equal(t, []int{3, 2, 4, 4}, []int{x, y, part.Width, part.Height})
	for at, of := range map[int]*segment.Maps{3*9 + 4: &r.Maps, 4*1 + 1: part} {
		want := make([]float32, of.Width*of.Height)
		want[at] = 1
		got, err := Map{Kind: "mark"}.Values(of)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	others, err := Map{Kind: "others"}.Values(&r.Maps)
	require.NoError(t, err)
	require.Equal(t, r.Others(0), others)
	_, err = Map{Kind: "mark", I: 1}.Values(&r.Maps)
	require.EqualError(t, err, "i is not a number from 0 to 0")
}

// Marks in files are read for the picture of the job, and join those of the options.
func TestMarksOfAJob(t *testing.T) {
	w := here(t, processor).start()
	var given []segment.Evidence
	w.segment = func(_ context.Context, _ *fakeDevice, o segment.Options) error {
		given = o.Evidence
		return nil
	}
	job := w.job(1, "brain")
	job.Options.Evidence = []segment.Evidence{{Rater: "ann"}}
	job.Marks = []segment.MarkFile{{Rater: "you", Class: "brain", Name: "mine.png", PNG: picture(t)}} // 4×3 pixels of 0
	_, err := w.Segment(job)
	require.NoError(t, err)
	require.Equal(t, []segment.Evidence{{Rater: "ann"}, {Rater: "you", Class: "brain", Mask: make([]byte, 12)}}, given)
	job.Marks[0].PNG = encodedPNG(t, 4, 4)
	_, err = w.Segment(job)
	require.Equal(t, Fault{"evidence", "mine.png: the mark has 4×4 pixels, and the photograph 4×3.", "Draw the mark on the photograph, at its full size."}, FaultOf(err))
}

// New opens the devices of this program.
func TestNew(t *testing.T) {
	w := here(t, card)
	w.platform.Device = "reference"
	h := New(t.Context(), w.platform)
	require.Contains(t, h.Computer().Name, "reference")
	r, err := h.Segment(w.job(1, "brain"))
	require.NoError(t, err)
	require.Equal(t, []string{"ann", "bob", "eve"}, r.Raters)
	h.closeDevice()
	w.platform.Device = "abacus"
	h = New(t.Context(), w.platform)
	defer h.closeDevice()
	require.Contains(t, h.Computer().Reason, "abacus")
	require.Contains(t, h.Computer().Name, "processor")
}

// volume is a NIfTI-1 file of three slices of 8 × 8 pixels. All pixels of slice n are 100 (n − 1).
func volume() []byte {
	file := make([]byte, 352+3*64)
	put := binary.LittleEndian
	put.PutUint32(file, 348)
	for i, extent := range []uint16{3, 8, 8, 3, 1, 1, 1, 1} {
		put.PutUint16(file[40+2*i:], extent)
	}
	put.PutUint16(file[70:], 2) // bytes without a sign
	put.PutUint16(file[72:], 8)
	put.PutUint32(file[108:], math.Float32bits(352))
	copy(file[344:], "n+1\x00")
	for i := range 3 * 64 {
		file[352+i] = byte(100 * (i / 64))
	}
	return file
}

// A job names a slice of a volume; without a name it is the middle one.
func TestSlices(t *testing.T) {
	w := here(t, processor).start()
	for slice, want := range []int{2, 1, 2, 3} {
		requestsMade++
		job := w.job(requestsMade, "brain")
		var shown *imageio.Image
		job.Name, job.Key, job.Slice, job.Read = "scan.nii", 100+slice, slice, volume
		job.Show = func(m *imageio.Image) { shown = m }
		_, err := w.Segment(job)
		require.NoError(t, err)
		require.Equal(t, []int{want, 3}, []int{shown.Slice, shown.Slices})
	}
}
