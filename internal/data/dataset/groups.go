package dataset

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

	"mrprism/internal/files/nifti"
)

// GroupsFile is the file of a data set's folder that says which images belong together, such as
// those of one patient: a table of name and group. Every split keeps the images of a group together.
const GroupsFile = "groups.csv"

// group reads groups.csv, if there is one. An image that it does not name is a group of its own.
func (d *Dataset) group(dir string, problems *Problems) {
	path := filepath.Join(dir, GroupsFile)
	found := d.table(path, "case0001,patient07", problems, func(c *Case, group string) (err error) {
		if c.Group = group; group == "" {
			err = errors.New("name the group, or remove the line")
		}
		return err
	})
	without := d.filter(func(c Case) bool { return c.Group == "" })
	if found && len(without) > 0 {
		warn(&d.findings, KindGroup, path, "gives %d of %d images no group, such as %q: each of them counts as a group of its own", len(without), len(d.Cases), without[0].Name)
	}
}

// AffinesFile is the file of a data set's folder that says where images lie that were NIfTI: a table
// of name and affine, the twelve numbers of nifti.Placed.
const AffinesFile = "affines.csv"

// place reads affines.csv, if there is one.
func (d *Dataset) place(dir string, problems *Problems) {
	d.table(filepath.Join(dir, AffinesFile), "case01,-1 0 0 90 0 -1 0 126 0 0 1 -72", problems, func(c *Case, affine string) (err error) {
		c.Place, err = nifti.Placed(affine)
		return err
	})
}

// unite finds the images that stay together: those of one name in several folders, and those of one
// group.
func (d *Dataset) unite() {
	smaller := map[string]string{} // by name and FOLDER/GROUP: a smaller name in the unit
	least := func(name string) string {
		for smaller[name] != "" {
			name = smaller[name]
		}
		return name
	}
	for _, c := range d.Cases {
		group := c.Folder + "/" + c.Group
		switch a, b := least(c.Name), least(group); {
		case c.Group == "" || a == b:
		case b == group: // the group's first image
			smaller[group] = a
		default:
			smaller[max(a, b)] = min(a, b)
		}
	}
	for i := range d.Cases {
		d.Cases[i].unit = least(d.Cases[i].Name)
	}
}

// Units numbers, from 0, the groups of cases that a split must keep together, in the order of the
// first name of each group. A case without a group forms one with the cases of the same name.
func Units(cases []Case) []int {
	return ranks(cases, func(c Case) string { return cmp.Or(c.unit, c.Name) })
}

// Folds assigns each case to one of several parts, from 0: the parts take Units in turn.
func Folds(cases []Case, parts int) []int {
	part := Units(cases)
	for i := range part {
		part[i] %= parts
	}
	return part
}

// ranks are the places of the cases' keys in the sorted list of all distinct keys.
func ranks(cases []Case, key func(Case) string) []int {
	keys := make([]string, len(cases))
	for i, c := range cases {
		keys[i] = key(c)
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(keys)))
	rank := make([]int, len(cases))
	for i, k := range keys {
		rank[i], _ = slices.BinarySearch(sorted, k)
	}
	return rank
}
