package cli

import (
	"flag"
	"maps"
	"slices"
)

// Describe is an argument that help does not list. With this argument alone, a program prints its
// Description as JSON, of which manual pages and completions are made.
const Describe = "-describe"

// Description is the content of -h.
type Description struct {
	Name, Intro, Examples string
	Subprograms           []string
	Flags                 []Flag // group by group
}

// Flag describes a flag.
type Flag struct {
	Group, Name, Usage string
	Argument           string // the name of its value; empty: it takes none
	Default            string // empty for zeros, or if Usage says it
}

func (p *Program) description(flags *Groups) Description {
	d := Description{Name: p.Name, Intro: p.Intro, Examples: p.Examples, Subprograms: slices.Sorted(maps.Keys(p.Subprograms))}
	flags.Each(func(group string, f *flag.Flag) {
		if flags.fields[f.Name] != "" {
			return
		}
		one := Flag{Group: group, Name: f.Name}
		one.Argument, one.Usage = flag.UnquoteUsage(f)
		if !slices.Contains([]string{"0", "0s", "false"}, f.DefValue) {
			one.Default = f.DefValue
		}
		d.Flags = append(d.Flags, one)
	})
	return d
}
