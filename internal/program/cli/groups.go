package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Groups are flags that help lists group by group.
type Groups struct {
	*flag.FlagSet // all flags
	groups        []*flag.FlagSet
	args          []string // that Parse was given
}

// NewGroups makes an empty set of flags.
func NewGroups() *Groups {
	all := flag.NewFlagSet("", flag.ContinueOnError)
	all.SetOutput(io.Discard)
	all.Usage = func() {}
	return &Groups{FlagSet: all}
}

// Add makes a group of the flags that declare declares.
func (g *Groups) Add(title string, declare func(f *flag.FlagSet)) {
	group := flag.NewFlagSet(title, flag.ContinueOnError)
	declare(group)
	group.VisitAll(func(f *flag.Flag) { g.Var(f.Value, f.Name, f.Usage) })
	g.groups = append(g.groups, group)
}

// Parsed declares a flag whose text parse turns into a value.
func Parsed[T any](f *flag.FlagSet, value *T, name, usage string, parse func(text string) (T, error)) {
	f.Func(name, usage, func(text string) (err error) {
		*value, err = parse(text)
		return err
	})
}

// Each calls f for every flag, group by group.
func (g *Groups) Each(f func(group string, flag *flag.Flag)) {
	for _, group := range g.groups {
		group.VisitAll(func(one *flag.Flag) { f(group.Name(), one) })
	}
}

// Given lists the flags that the user has set.
func (g *Groups) Given() map[string]bool {
	given := map[string]bool{}
	g.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}

// Parse parses flags, which may stand between other arguments, and returns the other arguments.
// After "--" no argument is a flag. The error is flag.ErrHelp for -h, and otherwise of wrong usage.
func (g *Groups) Parse(args []string) (rest []string, err error) {
	g.args = args
	for len(args) > 0 {
		if err := g.FlagSet.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, Wrong("%w", err)
		}
		consumed := args[:len(args)-g.NArg()]
		args = g.Args()
		if len(consumed) > 0 && consumed[len(consumed)-1] == "--" {
			return append(rest, args...), nil
		}
		if len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return rest, nil
}

// Line is the command line that was parsed, without some flags and their values.
func (g *Groups) Line(without ...string) (line []string) {
	for args := g.args; len(args) > 0; {
		n := 1
		name, _, whole := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		f := g.Lookup(name)
		switch {
		case args[0] == "--":
			return append(line, args...)
		case !strings.HasPrefix(args[0], "-") || f == nil:
			name = ""
		case !whole:
			if b, is := f.Value.(interface{ IsBoolFlag() bool }); !is || !b.IsBoolFlag() {
				n = 2
			}
		}
		if !slices.Contains(without, name) {
			line = append(line, args[:n]...)
		}
		args = args[n:]
	}
	return line
}

// describe lists the flags for help.
func (g *Groups) describe(w io.Writer) {
	for _, group := range g.groups {
		fmt.Fprintf(w, "\n%s:\n", group.Name())
		group.VisitAll(func(f *flag.Flag) { f.Usage = wrapped(f.Usage) })
		group.SetOutput(w)
		group.PrintDefaults()
	}
}

// helpWidth is the width of flags' descriptions in help, in characters.
const helpWidth = 100

// wrapped breaks a text into lines at spaces.
func wrapped(text string) string {
	var out strings.Builder
	room := helpWidth
	for i, word := range strings.Fields(text) {
		letters := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case letters < room:
			out.WriteByte(' ')
			room--
		default:
			out.WriteByte('\n')
			room = helpWidth
		}
		out.WriteString(word)
		room -= letters
	}
	return out.String()
}
