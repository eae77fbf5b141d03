package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"mrprism/weights/disk"
)

// Input is a file to segment. Number spreads the files over the workers.
type Input struct {
	Path   string
	Number int
}

// Outcome is the outcome for a file. A runner may hold all outcomes at once, and so measurements
// stay in the journal.
type Outcome struct {
	Path   string
	Key    string // SHA-256 of its content, empty if it could not be read
	Failed string // the step that failed: read, decode, segment or alone; empty if none did
	Error  string // why
}

// Worker is the DoFn that turns files into masks. Runners may make several in a process; together
// they use Task.Workers children.
type Worker struct{ Task Task }

// children are those of this process, whose workers all have one task.
var children struct {
	sync.Once
	idle  chan *child // without work; nil: one that has to be started
	alone sync.Mutex  // held by the goroutine that takes all of them
}

// Setup makes room for the children.
func (w *Worker) Setup() {
	children.Do(func() {
		children.idle = make(chan *child, w.Task.Workers)
		for range w.Task.Workers {
			children.idle <- nil
		}
	})
}

// ProcessElement segments a file. If the child dies, a new one tries the file alone, and if that
// dies too, the file is recorded by name. A fault of the file is in the outcome. An error is of the
// results' folder or of ctx, and ends the pipeline.
func (w *Worker) ProcessElement(ctx context.Context, in Input) (Outcome, error) {
	o, err := w.try(ctx, in.Path)
	if errors.As(err, new(death)) {
		o, err = w.tryAlone(ctx, in.Path)
	}
	if died := (death{}); errors.As(err, &died) && !died.early {
		return w.name(ctx, in.Path, died)
	}
	return o, err
}

// try lets a child segment a file. The error is a death if the child dies.
func (w *Worker) try(ctx context.Context, path string) (o Outcome, err error) {
	c := <-children.idle
	defer func() { children.idle <- c }()
	if c == nil {
		if c, err = w.Task.start(ctx); err != nil {
			return o, err
		}
	}
	o, err = c.ask(ctx, path)
	if ctx.Err() != nil || errors.As(err, new(death)) {
		c = nil
	}
	return o, err
}

// tryAlone tries a file while no other child of this process has work: children share the memory.
func (w *Worker) tryAlone(ctx context.Context, path string) (Outcome, error) {
	children.alone.Lock()
	defer children.alone.Unlock()
	for range w.Task.Workers - 1 {
		c := <-children.idle
		defer func() { children.idle <- c }()
	}
	return w.try(ctx, path)
}

// name records an image that kills processes. No later run tries it.
func (w *Worker) name(ctx context.Context, path string, died death) (Outcome, error) {
	data, err := read(ctx, path)
	if err != nil {
		return Outcome{path, "", "read", err.Error()}, nil
	}
	key := disk.SumOf(data).SHA256
	killed := w.Task.killed(key)
	text := fmt.Sprintf("%s kills the process, also alone: %v; delete %s to try it again", path, died, killed)
	return Outcome{path, key, "alone", text}, w.Task.writeJSON(killed, killing{path, text})
}
