// Package rivals has other ways to learn from several raters, each on the paper's encoder and
// decoder, which package model has. A file is a method: its comment names the paper and what
// differs from it. parts.go has what several of them use.
package rivals

import (
	"fmt"
	"runtime"
	"strings"

	"mrprism/model"
)

// All lists the methods, in the order of the paper's tables.
var All = []*model.Method{
	&wdNet, &crowdLayer, &aggNet, &confusion, &pixelConfusion, &maxMIG, &diagnosisFirst, &mrNet, &randomRater, &hypotheses, &pionono, &padl, &tab,
	&agNet, &beal, &pOSAL,
}

// Find is the method of a name. The error names all.
func Find(name string) (*model.Method, error) {
	var names []string
	for _, m := range All {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return nil, fmt.Errorf("no method is named %q: use one of %s, or none for MrPrism", name, strings.Join(names, ", "))
}

// Of is the method at the end of an architecture's name, as in "compact-wdnet"; nil: Algorithm 1.
func Of(architecture string) *model.Method {
	_, m := cut(architecture)
	return m
}

// NewConfig is model.NewConfig, also of names that end with a method's.
func NewConfig(name string, raters, classes int) (model.Config, error) {
	architecture, m := cut(name)
	c, err := model.NewConfig(architecture, raters, classes)
	if err == nil {
		c.Name, c.Method = name, m
	}
	return c, err
}

func cut(architecture string) (rest string, m *model.Method) {
	for _, m := range All {
		if rest, found := strings.CutSuffix(architecture, "-"+m.Name); found {
			return rest, m
		}
	}
	return architecture, nil
}

// trains is a method's Learn, but nil in the page: its program trains nothing, and is smaller
// without.
func trains(learn model.Lesson) model.Lesson {
	if runtime.GOOS == "js" {
		return nil
	}
	return learn
}

// titled is Method.Title, which the page does not show and does without as well.
func titled(title string) string {
	if runtime.GOOS == "js" {
		return ""
	}
	return title
}
