package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"mrprism/internal/choice"
	"mrprism/internal/command/journal"
	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/weights/disk"
)

// question is a line of JSON that Python's package mrprism writes. Bytes of an image file follow it.
type question struct {
	Name, ROI, Eye string
	Bytes          int64
	Slice          int
	Recurrences    *int // nil: as the model was trained
	Raters         bool // send their maps
}

// reply is the line of JSON that answers a question. The planes follow it, one after the other. The
// maps are of the part of the image that begins at X, Y, and 0 elsewhere.
type reply struct {
	Entry  *journal.Entry `json:"entry,omitempty"`
	X      int            `json:"x"`
	Y      int            `json:"y"`
	Planes []plane        `json:"planes"`
	Error  string         `json:"error,omitempty"`
}

// plane is an array. Its type is NumPy's.
type plane struct {
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
	data  any
}

// serve answers questions on the standard input until that ends. Its first line says what the model
// is.
func (r *request) serve(ctx context.Context, stdout io.Writer) error {
	m, err := segment.LoadEnsemble(*r.weightsName)
	if err != nil {
		return err
	}
	run := journal.Run{
		Program: program, Session: segment.Session{Model: m, Precision: *r.precision, Open: r.device.Open, Note: func(string) {}}, Weights: *r.weightsName, Day: time.Now(),
	}
	defer run.Session.Close()
	if err := run.Session.Ready(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { os.Exit(cli.Interrupted) })() // no file is half written
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriterSize(stdout, 1<<20)
	about := &m.Metadata
	hello := map[string]any{"name": m.Name(), "title": m.Label(), "structures": about.Classes, "raters": segment.Heads(about), "labels": segment.Labels(about)}
	if err := send(out, hello); err != nil {
		return err
	}
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		var q question
		if err = cmp.Or(err, json.Unmarshal(line, &q), imageio.CheckSize(q.Name, q.Bytes)); err != nil {
			return err
		}
		data := make([]byte, q.Bytes)
		if _, err := io.ReadFull(in, data); err != nil {
			return err
		}
		answer, err := q.answer(ctx, &run, data)
		if err != nil {
			answer = &reply{Error: choice.Text(err, func(option string) string { return option })}
		}
		var planes []any
		for _, p := range answer.Planes {
			planes = append(planes, p.data)
		}
		if err := send(out, answer, planes...); err != nil {
			return err
		}
	}
}

// send writes a line of JSON and arrays.
func send(out *bufio.Writer, head any, arrays ...any) error {
	err := json.NewEncoder(out).Encode(head)
	for _, a := range arrays {
		if err == nil {
			err = binary.Write(out, binary.LittleEndian, a)
		}
	}
	return cmp.Or(err, out.Flush())
}

// answer segments an image file. Planes are the picture as displayed (H, W, 3), the probabilities
// (K, h, w) and, if asked for, those of the raters (M, K, h, w).
func (q *question) answer(ctx context.Context, run *journal.Run, data []byte) (*reply, error) {
	if _, err := roi.Parse(q.ROI); err != nil {
		return nil, fmt.Errorf("region: %w", err)
	}
	img, err := imageio.DecodeSlice(q.Name, data, q.Slice)
	if err != nil {
		return nil, err
	}
	run.Options = segment.Options{ROI: q.ROI, Eye: q.Eye, Name: q.Name, Recurrences: segment.Trained}
	if q.Recurrences != nil {
		run.Options.Recurrences = *q.Recurrences
	}
	var v *segment.Result
	err = run.Session.Do(ctx, func(e *segment.Engine) error {
		v, err = e.Segment(ctx, img, run.Options)
		return err
	})
	if err != nil {
		return nil, err
	}
	e, err := run.Write(ctx, journal.Item{Image: q.Name, Content: disk.SumOf(data).SHA256}, v)
	if err != nil {
		return nil, err
	}
	within, x, y := v.Within()
	w, h, k := within.Width, within.Height, len(v.Classes)
	var maps, raters []float32
	for class := range k {
		maps = append(maps, within.Probability(class)...)
	}
	all := []plane{{"u1", []int{img.H, img.W, 3}, img.Pix}, {"<f4", []int{k, h, w}, maps}}
	if q.Raters && len(v.Raters) > 0 {
		for m := range v.Raters {
			for class := range k {
				raters = append(raters, within.Rater(m, class)...)
			}
		}
		all = append(all, plane{"<f4", []int{len(v.Raters), k, h, w}, raters})
	}
	return &reply{Entry: e, X: x, Y: y, Planes: all}, nil
}
