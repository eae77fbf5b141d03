package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"mrprism/internal/command/computing"
	"mrprism/internal/command/journal"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights/disk"
)

// segmenter turns files into masks, one after the other.
type segmenter struct {
	journal.Run
	task    Task
	doubter journal.Doubter
}

// Fault is nil outside of tests. It is called with the name of each image before it is decoded, and
// may kill the process.
var Fault func(path string)

// segmenter reads the weights. Nothing is compiled before the first image, or Session.Ready.
func (t Task) segmenter() (*segmenter, error) {
	m, err := computing.Weights(t.Weights)
	if err != nil {
		return nil, fmt.Errorf("a worker cannot read the weights: %w", err)
	}
	if m.SHA256 != t.SHA256 {
		return nil, fmt.Errorf("a worker has other weights under the name %s; give all workers the same program and files", t.Weights)
	}
	open := func(ctx context.Context, note func(string)) (gpu.Device, error) {
		return device.Open(ctx, t.Device, device.Options{Note: note})
	}
	return &segmenter{task: t, doubter: journal.Doubter{Note: note}, Run: journal.Run{
		Program: program, Session: segment.Session{Model: m, Precision: model.F32, Open: open, Note: note}, Weights: t.Weights,
		Options: segment.Options{Recurrences: segment.Trained, ROI: "auto"}, Readers: masks.Readers(nil, nil, "", false, false), Day: time.Now(),
	}}, nil
}

// item is a file with its masks: segment's PNGs of the consensus.
func (s *segmenter) item(path, key string) journal.Item {
	it := journal.NewItem(s.task.mask(key), path, nil, s.Readers, s.Session.Model.Metadata.Classes, masks.Formats[:1])
	it.Content, it.Entry = key, s.task.donePath(key)
	return it
}

func note(text string) { fmt.Fprintf(os.Stderr, "%s: %s\n", program, cli.Message(text)) }

// file segments a file, unless its content is done. If two files have the same content, the second
// waits for the result of the first, even in another process.
func (s *segmenter) file(ctx context.Context, path string) (Outcome, error) {
	data, err := read(ctx, path)
	if err != nil {
		return Outcome{path, "", "read", err.Error()}, nil
	}
	key := disk.SumOf(data).SHA256
	lock, err := lockOf(s.task.busy(key))
	if err == nil {
		err = lock.Lock()
	}
	if err != nil {
		return Outcome{}, err
	}
	defer lock.Close() // also released if the process is killed
	it := s.item(path, key)
	switch e, err := s.Done(it); {
	case err != nil:
		s.doubter.Say(path, err)
	case e != nil:
		return Outcome{Path: path, Key: key}, nil
	}
	killed, err := s.task.killer(path, key)
	if killed.Failed != "" || err != nil {
		return killed, err
	}
	return s.fresh(ctx, it, data)
}

// fresh segments a file that is not done.
func (s *segmenter) fresh(ctx context.Context, it journal.Item, data []byte) (Outcome, error) {
	o := Outcome{Path: it.Image, Key: it.Content}
	if Fault != nil {
		Fault(it.Image)
	}
	img, err := imageio.Decode(it.Image, data)
	if err != nil {
		o.Failed, o.Error = "decode", err.Error()
		return o, nil
	}
	var result *segment.Result
	err = s.Session.Do(ctx, func(e *segment.Engine) error {
		result, err = e.Segment(ctx, img, s.Options)
		return err
	})
	if err != nil {
		o.Failed, o.Error = "segment", it.Image+": "+err.Error()
		return o, nil
	}
	if err := s.task.folders(it.Outputs()); err != nil {
		return Outcome{}, err
	}
	_, err = s.Write(ctx, it, result)
	return o, err
}
