package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"mrprism/internal/training"
)

// openLog opens a run's log behind the lines of the steps done: steps after the checkpoint, and a line cut off, are taken again.
func openLog(path string, done int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	end, err := linesUpTo(f, done)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// linesUpTo is the length of the leading lines of steps not after done.
func linesUpTo(r io.Reader, done int) (end int64, err error) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		var step struct{ Step int }
		if json.Unmarshal(line, &step) != nil || step.Step > done {
			return end, nil
		}
		end += int64(len(line))
	}
}

// logStep writes one line. What fails here, such as a full disk, will fail the next checkpoint, which says so.
func logStep(w io.Writer, r training.Report) {
	line, err := json.Marshal(map[string]any{
		"step": r.Step, "epoch": r.Epoch, "side": r.Side, "rate": r.Rate, "loss": r.Loss, "terms": r.Terms,
		"seconds": r.Seconds, "data_seconds": r.DataSeconds, "time": time.Now().UTC().Format(time.RFC3339),
	})
	if err == nil {
		_, _ = w.Write(append(line, '\n'))
	}
}
