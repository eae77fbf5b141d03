package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"mrprism/internal/command"
	"mrprism/internal/train"
)

// progress shows how far a run is: a bar on a terminal, a line every ten seconds elsewhere.
type progress struct {
	out   io.Writer
	shown time.Time
	open  bool    // the last line has no newline yet
	loss  float64 // recent mean
	speed float64 // recent mean, seconds for an image
	dice  string  // the last score as text; empty: none
}

func newProgress(out io.Writer) *progress { return &progress{out: out, shown: time.Now()} }

// reading shows how many images are read.
func (p *progress) reading(done, total int) {
	now := done == total && command.TerminalWidth(p.out) > 0
	p.line(now, done, total, fmt.Sprintf("reading images %d/%d", done, total))
}

// show shows a step.
func (p *progress) show(r train.Report) {
	each := r.Seconds / float64(r.Images)
	if p.loss == 0 {
		p.loss, p.speed = r.Loss, each
	}
	p.loss += 0.05 * (r.Loss - p.loss)
	p.speed += 0.1 * (each - p.speed)
	if r.SoftDice != nil {
		p.dice = fmt.Sprintf("soft Dice %.4f (best %.4f)  ", *r.SoftDice, r.Best)
	}
	p.line(r.Step == r.Steps, r.Step, r.Steps, fmt.Sprintf("step %d/%d  epoch %d/%d  %d²  loss %.4f  %s%.1f images/s  %s left",
		r.Step, r.Steps, r.Epoch, r.Epochs, r.Side, p.loss, p.dice, 1/p.speed, r.Left.Round(time.Second)))
}

// line shows text, behind a bar on a terminal. It skips the text if the last line is recent, unless
// now is true.
func (p *progress) line(now bool, done, total int, text string) {
	width, every := command.TerminalWidth(p.out), 10*time.Second
	if width > 0 {
		every = 200 * time.Millisecond
	}
	if time.Since(p.shown) < every && !now {
		return
	}
	p.shown = time.Now()
	if width == 0 {
		fmt.Fprintln(p.out, text)
		return
	}
	fmt.Fprint(p.out, command.Rewrite, fitted(done, total, text, width-1))
	p.open = true
}

// fitted puts a bar of up to 30 characters before the text, in a line of a width. Without room for
// a bar it is the text, cut off.
func fitted(done, total int, text string, width int) string {
	percent := fmt.Sprintf("%3d %% ", 100*done/max(1, total))
	room := min(30, width-utf8.RuneCountInString(percent)-utf8.RuneCountInString(text)-2)
	if room < 5 {
		return command.Cut(text, width)
	}
	full := room * done / max(1, total)
	return percent + strings.Repeat("█", full) + strings.Repeat("░", room-full) + "  " + text
}

// end ends the line.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}
