package command

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Progress is a line on a terminal that shows how far a program is. Elsewhere it is silent.
type Progress struct {
	out   io.Writer
	w     io.Writer // out if it is a terminal, else nil
	total int
	start time.Time
	begun int // items begun
	shown bool
}

// NewProgress makes a line for a number of items.
func NewProgress(w io.Writer, total int) *Progress {
	p := &Progress{out: w, total: total, start: time.Now()}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = w
		}
	}
	return p
}

// Begin starts the next item.
func (p *Progress) Begin() { p.begun++ }

// Show shows what the program does now.
func (p *Progress) Show(format string, args ...any) {
	if p.w == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\033[K[%d/%d] %s%s", p.begun, p.total, fmt.Sprintf(format, args...), p.left())
}

// left is the time that the remaining items take at the mean pace until now.
func (p *Progress) left() string {
	if p.begun < 2 {
		return ""
	}
	done := p.begun - 1
	left := time.Since(p.start) / time.Duration(done) * time.Duration(p.total-done)
	return fmt.Sprintf("   about %s left", left.Round(time.Second))
}

// Note prints a message of a program on a line of its own.
func (p *Progress) Note(program, text string) {
	p.Clear()
	fmt.Fprintf(p.out, "%s: %s\n", program, text)
}

// Clear removes the line. Call it before other output.
func (p *Progress) Clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
		p.shown = false
	}
}
