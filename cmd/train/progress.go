package main

import (
	"fmt"
	"os"
	"time"

	"mrprism/internal/training"
)

// progress shows how a run goes: one line rewritten on a terminal, a line every ten seconds elsewhere.
type progress struct {
	out      *os.File
	terminal bool
	shown    time.Time
	mean     float64 // of the loss, recent
}

func newProgress(out *os.File) *progress {
	info, err := out.Stat()
	return &progress{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (p *progress) show(r training.Report) {
	if p.mean == 0 {
		p.mean = r.Loss
	}
	p.mean += 0.05 * (r.Loss - p.mean)
	every := 10 * time.Second
	if p.terminal {
		every = 200 * time.Millisecond
	}
	if time.Since(p.shown) < every && r.Step != r.Steps {
		return
	}
	p.shown = time.Now()
	line := fmt.Sprintf("step %d/%d  epoch %d  %d²  loss %.4f  rate %.1e  %.2f s a step  %s left",
		r.Step, r.Steps, r.Epoch, r.Side, p.mean, r.Rate, r.Seconds, r.Left.Round(time.Second))
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(p.out, line)
	}
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}
