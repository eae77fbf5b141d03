package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/output/sheet"
	"mrprism/internal/program/cli"
	"mrprism/internal/program/version"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
)

// segmenter turns files into masks, one after the other.
type segmenter struct {
	task    Task
	model   *weights.Model
	session *computing.Session
	unsure  bool // it has reported results without sums
}

// Fault is nil outside of tests. It is called with the name of each image before it is decoded, and
// may kill the process.
var Fault func(path string)

// segmenter loads the weights and compiles the network.
func (t Task) segmenter(ctx context.Context) (*segmenter, error) {
	m, err := computing.Weights(t.Weights)
	if err != nil {
		return nil, fmt.Errorf("a worker cannot read the weights: %w", err)
	}
	if m.SHA256 != t.SHA256 {
		return nil, fmt.Errorf("a worker has other weights under the name %s; give all workers the same program and files", t.Weights)
	}
	s := &segmenter{task: t, model: m}
	s.session = &computing.Session{Model: m, Precision: model.F32, Open: s.open, Note: note}
	if err := s.session.Ready(ctx); err != nil {
		return nil, fmt.Errorf("-weights %s: %w", t.Weights, err)
	}
	return s, nil
}

func (s *segmenter) open(ctx context.Context, note func(string)) (gpu.Device, error) {
	return device.Open(ctx, s.task.Device, device.Options{Note: note})
}

func note(text string) { fmt.Fprintf(os.Stderr, "%s: %s\n", program, cli.Message(text)) }

// keyOf is the SHA-256 of a file's content.
func keyOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// file segments a file, unless its content is done. If two files have the same content, the second
// waits for the result of the first, even in another process.
func (s *segmenter) file(ctx context.Context, path string) (Outcome, error) {
	data, err := read(ctx, path)
	if err != nil {
		return Outcome{path, "", "read", err.Error()}, nil
	}
	data = imageio.Whole(path, data, func(path string) ([]byte, error) { return read(ctx, path) })
	key := keyOf(data)
	lock, err := lockOf(s.task.busy(key))
	if err == nil {
		err = lock.Lock()
	}
	if err != nil {
		return Outcome{}, err
	}
	defer lock.Close() // also released if the process is killed
	if r, err := s.task.recall(key, s.doubt(path)); err != nil {
		return Outcome{}, err
	} else if r != nil {
		return outcome(path, key, *r), nil
	}
	return s.fresh(ctx, path, key, data)
}

// doubt reports why the journal is not believed about a file. There may be very many results
// without sums, which it reports once.
func (s *segmenter) doubt(path string) func(error) {
	return func(err error) {
		switch {
		case !errors.Is(err, command.ErrNoSum):
			note(fmt.Sprintf("%v: %q is segmented again", err, path))
		case !s.unsure:
			s.unsure = true
			note("an earlier version kept no sums of its masks: their images are segmented again")
		}
	}
}

// fresh segments a file that the journal does not know.
func (s *segmenter) fresh(ctx context.Context, path, key string, data []byte) (Outcome, error) {
	if Fault != nil {
		Fault(path)
	}
	img, err := imageio.Decode(path, data)
	if err != nil {
		return Outcome{path, key, "decode", err.Error()}, nil
	}
	result, err := s.segment(ctx, img)
	if err != nil {
		return Outcome{path, key, "segment", path + ": " + err.Error()}, nil
	}
	r := s.record(path, result)
	r.Date = time.Now().UTC().Format(time.RFC3339)
	if err := s.write(key, result, r); err != nil {
		return Outcome{}, err
	}
	return outcome(path, key, r), nil
}

func (s *segmenter) segment(ctx context.Context, img *imageio.Image) (result *segment.Result, err error) {
	err = s.session.Do(ctx, func(e *segment.Engine) error {
		result, err = e.Segment(ctx, img, segment.Options{Recurrences: segment.Trained, ROI: "auto"})
		return err
	})
	return result, err
}

// write writes the masks as the program segment does, and then the journal.
func (s *segmenter) write(key string, v *segment.Result, r sheet.Record) error {
	done := entry{Record: r, Origin: origin{s.task.SHA256, s.task.Device}, Masks: map[string]command.Sum{}}
	consensus := masks.Readers(nil, "", false, false)[0]
	for c := range v.Classes {
		one, err := consensus.Structure(&v.Maps, c)
		if err != nil {
			return err
		}
		d := masks.Drawing{Picture: &v.Picture, By: consensus.By, Structures: []masks.Structure{one}, Model: s.model}
		data, err := masks.Formats[0].Write(&d)
		if err == nil {
			name := one.Name + masks.Formats[0].Ending
			done.Masks[name] = command.SumOf(data)
			err = s.task.write(s.task.mask(key, name), data)
		}
		if err != nil {
			return err
		}
	}
	return s.task.writeJSON(s.task.donePath(key), done)
}

// record is the line of a table for a result, or for a file without a result (nil). It has no date,
// so that a rerun writes the same line for a bad file.
func (s *segmenter) record(path string, v *segment.Result) sheet.Record {
	r := sheet.Record{
		Image: path, Program: program + " " + version.Source(), Options: "roi=auto precision=f32 slice=0",
		Classes: s.model.Metadata.Classes, Raters: segment.Heads(&s.model.Metadata),
	}
	if v == nil {
		return r
	}
	if p := v.Picture; p.Slices > 1 {
		r.Slice, r.Slices = p.Slice, p.Slices
	}
	by := "found"
	if v.ROI == imageio.Letterbox(v.Width, v.Height) {
		by = "whole image"
	}
	r.Result = &sheet.Result{
		Width: v.Width, Height: v.Height, Model: s.model.Name(), SHA256: s.task.SHA256, Recurrences: v.Recurrences, Region: v.ROI, RegionBy: by,
		Device: v.Adapter, Precision: string(v.Precision), Found: v.Found, Doubt: v.Doubt, Doubts: v.Doubts, Measurements: v.Measurements,
	}
	return r
}

// outcome is the outcome for a record in the journal, which may be of a file with another name.
func outcome(path, key string, r sheet.Record) Outcome {
	if r.Error == "" {
		return Outcome{Path: path, Key: key}
	}
	return Outcome{path, key, "alone", strings.ReplaceAll(r.Error, r.Image, path)}
}
