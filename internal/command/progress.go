package command

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Progress is one line on a terminal that tells how far a program is; on anything else it stays silent.
type Progress struct {
	w     io.Writer // nil: silent
	total int
	start time.Time
	begun int // items begun
	shown bool
}

// NewProgress tells of total items to w.
func NewProgress(w io.Writer, total int) *Progress {
	p := &Progress{total: total, start: time.Now()}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.w = w
		}
	}
	return p
}

// Begin starts the next item.
func (p *Progress) Begin() { p.begun++ }

// Show says what is being done.
func (p *Progress) Show(format string, args ...any) {
	if p.w == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\033[K[%d/%d] %s%s", p.begun, p.total, fmt.Sprintf(format, args...), p.left())
}

// left is the time the items still to come will take at the pace of those that are done.
func (p *Progress) left() string {
	if p.begun < 2 {
		return ""
	}
	done := p.begun - 1
	left := time.Since(p.start) / time.Duration(done) * time.Duration(p.total-done)
	return fmt.Sprintf("   about %s left", left.Round(time.Second))
}

// Clear takes the line away, before something else is printed.
func (p *Progress) Clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
		p.shown = false
	}
}
