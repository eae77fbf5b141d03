package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
)

func init() {
	register.DoFn3x1[context.Context, []byte, func(Input), error](&inputs{})
	register.DoFn2x0[Input, func(Input)](&share{})
	register.DoFn2x2[context.Context, Input, Outcome, error](&Worker{})
	register.DoFn1x2[Outcome, int, Outcome](&shard{})
	register.DoFn3x2[context.Context, int, func(*Outcome) bool, Summary, error](&tables{})
	register.DoFn1x1[Summary, error](&summarise{})
	register.Function2x1(plus)
	register.Emitter1[Input]()
	register.Iter1[Outcome]()
}

// pipeline builds the pipeline and runs it.
func (b *batch) pipeline(ctx context.Context, paths []string) error {
	if err := b.task.writeInputs(paths); err != nil {
		return err
	}
	p, root := beam.NewPipelineWithRoot()
	sharded := beam.GroupByKey(root, beam.ParDo(root, &shard{b.shards}, b.outcomes(root)))
	parts := beam.ParDo(root, &tables{b.task, b.shards}, sharded)
	beam.ParDo0(root, &summarise{b.task}, beam.Combine(root, plus, parts))
	err := beamx.Run(ctx, p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("the pipeline failed: %w; what is done stays: run the command again", err)
	}
	return b.tidy(paths)
}

// outcomes segments all files. Prism, Beam's own runner, runs one bundle of a step at a time.
// There, each worker is a step of its own.
func (b *batch) outcomes(root beam.Scope) beam.PCollection {
	files := beam.ParDo(root, &inputs{b.task.path(inputsName)}, beam.Impulse(root))
	var all []beam.PCollection
	for i := range b.task.Workers {
		s := root.Scope(fmt.Sprintf("worker %d", i+1))
		mine := beam.Reshuffle(s, beam.ParDo(s, &share{i, b.task.Workers}, files))
		all = append(all, beam.ParDo(s, &Worker{Task: b.task}, mine))
	}
	return beam.Flatten(root, all...)
}

// writeInputs writes the names of the files, a JSON string a line. With a million names the
// pipeline's own description would become too large.
func (t *Task) writeInputs(paths []string) error {
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	for _, p := range paths {
		if err := e.Encode(p); err != nil {
			return err
		}
	}
	return t.write(t.path(inputsName), lines.Bytes())
}

// inputs reads the file that writeInputs wrote.
type inputs struct{ File string }

func (i *inputs) ProcessElement(_ context.Context, _ []byte, emit func(Input)) error {
	f, err := os.Open(i.File)
	if err != nil {
		return fmt.Errorf("%w; all workers must see the folder of -out", err)
	}
	defer f.Close()
	d := json.NewDecoder(bufio.NewReader(f))
	for number := 0; ; number++ {
		in := Input{Number: number}
		if err := d.Decode(&in.Path); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", i.File, err)
		}
		emit(in)
	}
}

// share keeps every Of-th file.
type share struct{ Index, Of int }

func (s *share) ProcessElement(in Input, emit func(Input)) {
	if in.Number%s.Of == s.Index {
		emit(in)
	}
}
