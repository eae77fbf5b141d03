package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"mrprism/internal/program/cli"

	"golang.org/x/term"
)

// Progress is a line on a terminal that shows how far a program is. Elsewhere it is silent.
type Progress struct {
	out   io.Writer
	total int
	start time.Time
	begun int // items begun
	shown bool
}

// NewProgress makes a line for a number of items.
func NewProgress(w io.Writer, total int) *Progress {
	return &Progress{out: w, total: total, start: time.Now()}
}

// More adds items that nobody knew of.
func (p *Progress) More(items int) { p.total += items }

// Begin starts the next item.
func (p *Progress) Begin() { p.begun++ }

// Show shows what the program does now.
func (p *Progress) Show(format string, args ...any) {
	width := TerminalWidth(p.out)
	if width == 0 {
		return
	}
	p.shown = true
	text := fmt.Sprintf("[%d/%d] %s%s", p.begun, p.total, fmt.Sprintf(format, args...), p.left())
	fmt.Fprint(p.out, Rewrite, Cut(cli.Printable(strings.ReplaceAll(text, "\n", `\n`)), width-1))
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
	fmt.Fprintf(p.out, "%s: %s\n", program, cli.Message(text))
}

// Clear removes the line. Call it before other output.
func (p *Progress) Clear() {
	if p.shown {
		fmt.Fprint(p.out, Rewrite)
		p.shown = false
	}
}

// Rewrite empties the last line of a terminal.
const Rewrite = "\r\x1b[K"

// TerminalWidth is the width of the terminal w in characters. It is 0 if w is no terminal.
func TerminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 1 {
		return 80
	}
	return width
}

// Cut is at most the first width characters of a text: a longer line would not be removed whole.
func Cut(text string, width int) string {
	letters := []rune(text)
	return string(letters[:min(len(letters), width)])
}
