// Package choice has errors about what a user chose. A library knows its options by names such as
// "fold" alone. Whether one is a flag, a line of a file or a field of the page, the program says.
package choice

import (
	"fmt"
	"os"
	"strings"
)

// Error is an error about one or more options.
type Error struct {
	format string
	args   []any
}

// Errorf is fmt.Errorf. In the format, $fold or ${score-every} stands for the name of an option.
func Errorf(format string, args ...any) error { return &Error{format, args} }

func (e *Error) show(name func(option string) string) error {
	return fmt.Errorf(os.Expand(e.format, name), e.args...)
}

// Error names options plainly.
func (e *Error) Error() string { return e.show(func(option string) string { return option }).Error() }

// Unwrap lists the errors among what the format shows.
func (e *Error) Unwrap() (all []error) {
	for _, arg := range e.args {
		if err, is := arg.(error); is {
			all = append(all, err)
		}
	}
	return all
}

// Text is the text of an error with the options as name shows them, as -fold for fold.
func Text(err error, name func(option string) string) string {
	text := err.Error()
	for _, e := range within(err) {
		text = strings.Replace(text, e.Error(), e.show(name).Error(), 1)
	}
	return text
}

// within lists the errors about options that an error wraps, from the outside in.
func within(err error) (all []*Error) {
	if e, ok := err.(*Error); ok {
		all = append(all, e)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			all = append(all, within(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, within(inner)...)
		}
	}
	return all
}
