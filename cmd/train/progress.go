package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"mrprism/internal/training"
)

// progress shows how a run goes: one line rewritten on a terminal, a line every ten seconds elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	shown    time.Time
	open     bool    // a line is not ended yet
	mean     float64 // of the loss, recent
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, shown: time.Now()}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// reading tells how many images are read.
func (p *progress) reading(done, total int) {
	p.line(done == total && p.terminal, "reading images %d/%d", done, total)
}

// show tells how a step went.
func (p *progress) show(r training.Report) {
	if p.mean == 0 {
		p.mean = r.Loss
	}
	p.mean += 0.05 * (r.Loss - p.mean)
	p.line(r.Step == r.Steps, "step %d/%d  epoch %d/%d  %d²  loss %.4f  rate %.1e  %.2f s a step  %s left",
		r.Step, r.Steps, r.Epoch, r.Epochs, r.Side, p.mean, r.Rate, r.Seconds, r.Left.Round(time.Second))
}

func (p *progress) line(now bool, format string, args ...any) {
	every := 10 * time.Second
	if p.terminal {
		every = 200 * time.Millisecond
	}
	if time.Since(p.shown) < every && !now {
		return
	}
	p.shown = time.Now()
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K"+format, args...)
		p.open = true
	} else {
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// end leaves the line as it is.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}
