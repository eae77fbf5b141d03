package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"mrprism/internal/app/command"
	"mrprism/internal/data/disk"
)

// isolate tries the images that were in work when an earlier run died: each alone, in a process of
// its own. One that kills this process too is recorded as such, and no later run tries it.
func (b *batch) isolate(ctx context.Context) error {
	left, err := os.ReadDir(b.task.path(startedFolder))
	if err != nil {
		return err
	}
	for _, entry := range left {
		key := entry.Name()
		if len(key) != 64 { // the temporary name of a file that was never whole
			os.Remove(b.task.started(key))
			continue
		}
		var before started
		data, err := os.ReadFile(b.task.started(key))
		if err == nil {
			err = json.Unmarshal(data, &before)
		}
		if err != nil {
			return fmt.Errorf("%s: %w; delete it", b.task.started(key), disk.Cause(err))
		}
		fmt.Fprintf(b.stderr, "%s: %s was in work when an earlier run died; it is tried alone\n", program, before.Path)
		if err := b.tryAlone(ctx, key, before.Path); err != nil {
			return err
		}
	}
	return nil
}

// tryAlone runs a child for one image. The child removes the image's file in startedFolder unless
// it is killed.
func (b *batch) tryAlone(ctx context.Context, key, path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	child := exec.CommandContext(ctx, self, append([]string{"-alone", path}, b.args...)...)
	child.Stderr = &stderr
	failed := child.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch _, err := os.Stat(b.task.started(key)); {
	case errors.Is(err, fs.ErrNotExist) && failed != nil:
		return fmt.Errorf("%s, tried alone: %w: %s", path, failed, stderr.Bytes())
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case failed == nil: // the file at path has another content by now, or another run has done it
		return os.Remove(b.task.started(key))
	}
	return b.name(key, path, fmt.Sprintf("%s kills the process, also alone: %v%s; delete %s to try it again",
		path, failed, firstLine(stderr.Bytes()), b.task.killed(key)))
}

// name records an image that kills processes.
func (b *batch) name(key, path, why string) error {
	m, err := command.Weights(b.task.Weights)
	if err != nil {
		return err
	}
	w := &Worker{Task: b.task, networks: &networks{model: m}}
	r := w.record(path, nil)
	r.Date, r.Error = "", why
	if err := writeJSON(b.task.killed(key), r); err != nil {
		return err
	}
	return os.Remove(b.task.started(key))
}

// firstLine is the first line of what Go says when it dies, such as "fatal error: out of memory".
func firstLine(stderr []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(stderr), []byte("\n"))
	if len(line) == 0 {
		return ""
	}
	return " (" + string(line) + ")"
}
