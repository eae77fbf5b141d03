package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"mrprism/internal/choice"
)

// Groups are flags that help lists group by group, and fields, which stand in a file alone.
type Groups struct {
	*flag.FlagSet // all flags and fields
	groups        []group
	fields        map[string]string // where a field stands, by name: "the file of -with"
	args          []string          // that Parse was given

	// Gone has flags of earlier versions, and what to give now.
	Gone map[string]string
}

// group is a part of the flags. Help lists it at the end, by -h all, or by one line alone.
type group struct {
	*flag.FlagSet
	listed listing
	where  string // of elsewhere, the program whose help lists it; of a file, which
}

type listing int

const (
	always listing = iota
	experts
	elsewhere
	file
)

// NewGroups makes an empty set of flags.
func NewGroups() *Groups {
	all := flag.NewFlagSet("", flag.ContinueOnError)
	all.SetOutput(io.Discard)
	all.Usage = func() {}
	return &Groups{FlagSet: all, fields: map[string]string{}}
}

// Add makes a group of the flags that declare declares.
func (g *Groups) Add(title string, declare func(f *flag.FlagSet)) { g.add(title, always, "", declare) }

// AddForExperts adds flags that only -h all lists.
func (g *Groups) AddForExperts(title string, declare func(f *flag.FlagSet)) {
	g.add(title, experts, "", declare)
}

// AddFrom adds flags that the help of another program lists.
func (g *Groups) AddFrom(program string, declare func(f *flag.FlagSet)) {
	g.add("", elsewhere, program, declare)
}

// AddFields adds values that are no flags. The program reads them from lines of a file: where is
// such as "the file of -with". Only -h all lists them.
func (g *Groups) AddFields(title, where string, declare func(f *flag.FlagSet)) {
	g.add(title, file, where, declare)
}

func (g *Groups) add(title string, listed listing, where string, declare func(f *flag.FlagSet)) {
	new := group{flag.NewFlagSet(title, flag.ContinueOnError), listed, where}
	declare(new.FlagSet)
	new.VisitAll(func(f *flag.Flag) {
		g.Var(f.Value, f.Name, f.Usage)
		if listed == file {
			g.fields[f.Name] = where
		}
	})
	g.groups = append(g.groups, new)
}

// Shown is how a user sets an option: a flag has its hyphen. Another name, as of a field, stays.
func (g *Groups) Shown(option string) string {
	if g.Lookup(option) != nil && g.fields[option] == "" {
		return "-" + option
	}
	return option
}

// Parsed declares a flag whose text parse turns into a value.
func Parsed[T any](f *flag.FlagSet, value *T, name, usage string, parse func(text string) (T, error)) {
	f.Func(name, usage, func(text string) (err error) {
		*value, err = parse(text)
		return err
	})
}

// Each calls f for every flag and field, group by group.
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
			return g.Args(), err
		} else if err != nil {
			return nil, Wrong("%w", g.explain(err))
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
	g.Visit(func(f *flag.Flag) {
		if where := g.fields[f.Name]; where != "" && err == nil {
			err = Wrong("-%s is no flag: put the line %q into %s", f.Name, fmt.Sprintf("%s: %s", f.Name, f.Value), where)
		}
	})
	return rest, err
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

// explain names the nearest flag, or what stands in its place, if the error is of an unknown one.
func (g *Groups) explain(err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err
	}
	if now := g.Gone[name]; now != "" {
		return fmt.Errorf("-%s is gone: use %s", name, now)
	}
	var names []string
	g.Each(func(_ string, f *flag.Flag) { names = append(names, "-"+f.Name) })
	return fmt.Errorf("there is no flag -%s%s", name, choice.Guess("-"+name, names))
}

// describe lists the flags for help; all says that also those for experts, and the fields.
func (g *Groups) describe(w io.Writer, all bool) {
	hidden := 0
	for _, group := range g.groups {
		group.VisitAll(func(f *flag.Flag) { f.Usage = wrapped(f.Usage) })
		switch {
		case group.listed == elsewhere:
			var names []string
			group.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
			fmt.Fprintf(w, "\nas %s -h says:\n  %s\n", group.where, strings.Join(names, ", "))
		case group.listed != always && !all:
			group.VisitAll(func(*flag.Flag) { hidden++ })
		case group.listed == file:
			fmt.Fprintf(w, "\n%s:\n", group.Name())
			group.VisitAll(func(f *flag.Flag) {
				value, usage := flag.UnquoteUsage(f)
				fmt.Fprintf(w, "  %s: %s\n    \t%s\n", f.Name, value, strings.ReplaceAll(usage, "\n", "\n    \t"))
			})
		default:
			fmt.Fprintf(w, "\n%s:\n", group.Name())
			group.SetOutput(w)
			group.PrintDefaults()
		}
	}
	if hidden > 0 {
		fmt.Fprintf(w, "\n-h all also lists %d options for experts.\n", hidden)
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
