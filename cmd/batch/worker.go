package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"mrprism/internal/app/choose"
	"mrprism/internal/app/command"
	"mrprism/internal/app/export"
	"mrprism/internal/app/segment"
	"mrprism/internal/app/sheet"
	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/gpu/device"
	"mrprism/internal/data/imageio"
	"mrprism/model"
	"mrprism/weights"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

// Input is a file to segment. Number spreads the files over the workers.
type Input struct {
	Path   string
	Number int
}

// Outcome is what became of a file.
type Outcome struct {
	Path   string
	Key    string // SHA-256 of its content, empty if it could not be read
	Failed string // the step that failed: read, decode, segment or alone; empty if none did
	Record []byte // JSON of a sheet.Record, whose Image is Path
}

// Worker is the DoFn that turns files into masks. Runners may make several in a process; together
// they use Task.Workers networks.
type Worker struct {
	Task Task

	networks *networks
}

// networks are the compiled networks of a process. Each works on one image at a time.
type networks struct {
	model *weights.Model
	idle  chan *command.Session
}

// loaded holds the networks of this process by the SHA-256 of their weights and the device.
var loaded struct {
	sync.Mutex
	by map[[2]string]*networks
}

// busy is locked at what a key begins with: of two files of one content the second one waits for
// the first one's result.
var busy [1 << 16]sync.Mutex

// Fault is nil outside of tests. It is called with the name of each image before it is decoded, and
// may kill the process.
var Fault func(path string)

// Setup loads the weights and compiles the networks, once a process.
func (w *Worker) Setup(ctx context.Context) error {
	loaded.Lock()
	defer loaded.Unlock()
	id := [2]string{w.Task.SHA256, w.Task.Device}
	if w.networks = loaded.by[id]; w.networks != nil {
		return nil
	}
	m, err := command.Weights(w.Task.Weights)
	if err != nil {
		return fmt.Errorf("a worker cannot read the weights: %w", err)
	}
	if m.SHA256 != w.Task.SHA256 {
		return fmt.Errorf("a worker has other weights under the name %s; give all workers the same program and files", w.Task.Weights)
	}
	all := &networks{model: m, idle: make(chan *command.Session, w.Task.Workers)}
	for range w.Task.Workers {
		s := &command.Session{Model: m, Precision: model.F32, Open: w.open, Note: func(text string) { log.Warn(context.Background(), text) }}
		if err := s.Ready(ctx); err != nil {
			return fmt.Errorf("-weights %s: %w", w.Task.Weights, err)
		}
		all.idle <- s
	}
	if loaded.by == nil {
		loaded.by = map[[2]string]*networks{}
	}
	loaded.by[id], w.networks = all, all
	return nil
}

func (w *Worker) open(ctx context.Context, note func(string)) (gpu.Device, error) {
	return device.Open(ctx, w.Task.Device, device.Options{DawnLibrary: os.Getenv("MRPRISM_DAWN_LIB"), Note: note})
}

// ProcessElement segments a file. An error is one of the place where results go, or of ctx, and
// ends the pipeline; what is wrong with the file stands in the outcome.
func (w *Worker) ProcessElement(ctx context.Context, in Input) (Outcome, error) {
	data, err := read(ctx, in.Path)
	if err != nil {
		return w.failed(in.Path, "", "read", err)
	}
	sum := sha256.Sum256(data)
	key := hex.EncodeToString(sum[:])
	lock := &busy[binary.BigEndian.Uint16(sum[:])]
	lock.Lock()
	defer lock.Unlock()
	if r, err := w.Task.recall(key); err != nil {
		return Outcome{}, err
	} else if r != nil {
		return w.outcome(in.Path, key, *r)
	}
	return w.begin(ctx, in.Path, key, data)
}

// begin segments a file that the journal does not know.
func (w *Worker) begin(ctx context.Context, path, key string, data []byte) (Outcome, error) {
	if err := writeJSON(w.Task.started(key), started{path}); err != nil {
		return Outcome{}, err
	}
	defer os.Remove(w.Task.started(key)) // a killed process leaves it
	if Fault != nil {
		Fault(path)
	}
	img, err := imageio.Decode(path, data)
	if err != nil {
		return w.failed(path, key, "decode", err)
	}
	result, err := w.segment(ctx, img)
	switch {
	case ctx.Err() != nil:
		return Outcome{}, ctx.Err()
	case err != nil:
		return w.failed(path, key, "segment", fmt.Errorf("%s: %w", path, err))
	}
	if err := w.write(key, result); err != nil {
		return Outcome{}, err
	}
	r := w.record(path, result)
	if err := writeIn(w.Task.done(key), func(name string) error { return writeJSON(name, r) }); err != nil {
		return Outcome{}, err
	}
	return w.outcome(path, key, r)
}

// segment borrows a network. A panic becomes an error, and the network is made anew.
func (w *Worker) segment(ctx context.Context, img *imageio.Image) (result *segment.Result, err error) {
	s := <-w.networks.idle
	defer func() { w.networks.idle <- s }()
	defer func() {
		if e := recover(); e != nil {
			s.Close()
			err = fmt.Errorf("the program panicked: %v; please report it with the image: %s", e, debug.Stack())
		}
	}()
	err = s.Do(ctx, func(e *segment.Engine) error {
		result, err = e.Segment(ctx, img, segment.Options{Recurrences: segment.Trained, ROI: "auto"})
		return err
	})
	return result, err
}

// write writes the masks as segment does: all get temporary names first.
func (w *Worker) write(key string, r *segment.Result) error {
	var maps [][]float32
	for c := range r.Classes {
		maps = append(maps, r.Probability(c))
	}
	structures, err := export.Structures(r.Width, r.Height, r.Classes, maps)
	if err != nil {
		return err
	}
	for _, s := range structures {
		d := export.Drawing{Picture: &r.Picture, By: export.Consensus, Structures: []export.Structure{s}, Model: w.networks.model}
		data, err := export.Formats[0].Write(&d)
		if err != nil {
			return err
		}
		path := w.Task.path(filepath.Join(masksName, key[:2], key+"_"+s.Name+export.Formats[0].Ending))
		if err := writeIn(path, func(path string) error { return writeNew(path, data) }); err != nil {
			return err
		}
	}
	return nil
}

// writeIn makes the folder of a file and writes the file.
func writeIn(path string, write func(path string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return write(path)
}

// record is the line of a table for a result, or with nil for a file that has none.
func (w *Worker) record(path string, v *segment.Result) sheet.Record {
	about := w.networks.model.Metadata
	r := sheet.Record{
		Image: path, Program: program + " " + choose.Version(), Date: time.Now().UTC().Format(time.RFC3339),
		Options: "roi=auto precision=f32 slice=0", Classes: about.Classes, Raters: about.Raters,
	}
	if v == nil {
		return r
	}
	by := "found"
	if v.ROI == imageio.Letterbox(v.Width, v.Height) {
		by = "whole image"
	}
	r.Result = &sheet.Result{
		Width: v.Width, Height: v.Height, Model: w.networks.model.Name(), SHA256: w.Task.SHA256, Recurrences: v.Recurrences, Region: v.ROI, RegionBy: by,
		Device: v.Adapter, Precision: string(v.Precision), Found: v.Found, Doubt: v.Doubt, Doubts: v.Doubts, Measurements: v.Measurements,
	}
	return r
}

func (w *Worker) failed(path, key, step string, err error) (Outcome, error) {
	r := w.record(path, nil)
	r.Date, r.Error = "", err.Error() // without the date a rerun writes the same table
	data, err := json.Marshal(r)
	return Outcome{path, key, step, data}, err
}

// outcome is that of a record in the journal, perhaps of a file with another name.
func (w *Worker) outcome(path, key string, r sheet.Record) (Outcome, error) {
	o := Outcome{Path: path, Key: key}
	if r.Error != "" {
		o.Failed, r.Error = "alone", strings.ReplaceAll(r.Error, r.Image, path)
	}
	r.Image = path
	data, err := json.Marshal(r)
	o.Record = data
	return o, err
}
