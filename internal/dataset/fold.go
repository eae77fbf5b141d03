package dataset

import "slices"

// Folds gives each case one of so many parts, from 0, by name alone: an image that is in two
// folders is in both in the same part. Names in sorted order go to the parts in turn.
func Folds(cases []Case, of int) []int {
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	parts := make([]int, len(cases))
	for i, c := range cases {
		at, _ := slices.BinarySearch(names, c.Name)
		parts[i] = at % of
	}
	return parts
}
