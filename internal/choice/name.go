package choice

import (
	"fmt"
	"slices"
	"strings"
)

// Find returns the element of a list that has a name. The error tells the nearest name, and all.
func Find[T any](kind, name string, list []T, nameOf func(T) string) (found T, err error) {
	names := make([]string, len(list))
	for i, element := range list {
		names[i] = nameOf(element)
	}
	if err := Known(kind, name, names); err != nil {
		return found, err
	}
	return list[slices.Index(names, name)], nil
}

// Known returns an error if a name is none of names. It tells the nearest name, and all.
func Known(kind, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("no %s is named %q%s: there are %s", kind, name, Guess(name, names), strings.Join(names, ", "))
}

// Guess asks in brackets, behind a space, whether the nearest name was meant; it is empty if none
// is near.
func Guess(name string, names []string) string {
	if nearest := Nearest(name, names); nearest != "" {
		return fmt.Sprintf(" (did you mean %s?)", nearest)
	}
	return ""
}

// Nearest is the name that needs the fewest changes, at most half as many as it has letters; empty
// if there is none.
func Nearest(name string, names []string) (nearest string) {
	fewest := len(name) + 1
	for _, other := range names {
		if n := changes(name, other); n < fewest && 2*n <= max(len(name), len(other)) {
			nearest, fewest = other, n
		}
	}
	return nearest
}

// changes is the number of letters to insert, delete or replace to turn a into b (Wagner and
// Fischer, 1974).
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
