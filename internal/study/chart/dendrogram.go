package chart

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"mrprism/internal/data/metric"
)

// Dendrogram is a tree of clusters. Its leaves stand at the left, one below the other, and a merge
// is a bracket at its height.
type Dendrogram struct {
	Title, Subtitle string
	Axis            string // what a height is
	Leaves          []string
	Merges          []metric.Merge // as metric.AverageLinkage gives them
}

// Measures of a dendrogram in pixels.
const (
	treeWidth  = 640
	treeLeft   = 150 // names stand to the left of it
	treeRight  = treeWidth - 30
	treeHead   = 70
	leafHeight = 24
)

// node is the place of a cluster in the picture.
type node struct{ x, y float64 }

// Write writes the picture.
func (d Dendrogram) Write(w io.Writer) error {
	var out strings.Builder
	lower := treeHead + leafHeight*len(d.Leaves)
	height := lower + 48
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="%s" font-size="12" fill="#333">`+"\n",
		treeWidth, height, treeWidth, height, Fonts)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", treeWidth, height)
	fmt.Fprintf(&out, `<text x="16" y="28" font-size="16" font-weight="600" fill="#111">%s</text>`+"\n", html.EscapeString(d.Title))
	fmt.Fprintf(&out, `<text x="16" y="48" fill="#666">%s</text>`+"\n", html.EscapeString(d.Subtitle))
	highest := 0.
	for _, m := range d.Merges {
		highest = max(highest, m.Height)
	}
	if highest == 0 {
		highest = 1
	}
	heights := Interval{0, 1.05 * highest}
	d.axis(&out, heights, lower)
	d.tree(&out, heights)
	out.WriteString("</svg>\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// axis draws the heights below the tree.
func (d Dendrogram) axis(out *strings.Builder, heights Interval, lower int) {
	for _, v := range Ticks(heights, 5) {
		x := treeLeft + heights.Share(v)*(treeRight-treeLeft)
		fmt.Fprintf(out, `<path d="M%.1f %dV%d" stroke="#e6e6e6"/><text x="%.1f" y="%d" text-anchor="middle" fill="#666">%s</text>`+"\n",
			x, treeHead, lower, x, lower+16, Number(v))
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end" fill="#666">%s</text>`+"\n", treeRight, lower+34, html.EscapeString(d.Axis))
}

// tree draws names and brackets. A name has the line of its leaf in the order of the tree.
func (d Dendrogram) tree(out *strings.Builder, heights Interval) {
	line := make([]float64, len(d.Leaves)) // by leaf
	for i, leaf := range d.order() {
		line[leaf] = treeHead + leafHeight*(float64(i)+.5)
		fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", treeLeft-8, line[leaf]+4, html.EscapeString(d.Leaves[leaf]))
	}
	var nodes []node
	for _, y := range line {
		nodes = append(nodes, node{treeLeft, y})
	}
	for _, m := range d.Merges {
		a, b := nodes[m.A], nodes[m.B]
		x := treeLeft + heights.Share(m.Height)*(treeRight-treeLeft)
		fmt.Fprintf(out, `<path d="M%.1f %.1fH%.1fV%.1fH%.1f" fill="none" stroke="%s" stroke-width="1.8"/>`+"\n", a.x, a.y, x, b.y, b.x, CSS(Ink(0)))
		nodes = append(nodes, node{x, (a.y + b.y) / 2})
	}
}

// order lists the leaves so that no two brackets cross: tree after tree, the first leaf of the data
// first.
func (d Dendrogram) order() (leaves []int) {
	below := make([][]int, len(d.Leaves)) // by cluster; nil once it is part of a larger one
	for i := range below {
		below[i] = []int{i}
	}
	for _, m := range d.Merges {
		a, b := below[m.A], below[m.B]
		if b[0] < a[0] {
			a, b = b, a
		}
		below[m.A], below[m.B] = nil, nil
		below = append(below, slices.Concat(a, b))
	}
	slices.SortFunc(below, func(a, b []int) int { return slices.Compare(a, b) })
	return slices.Concat(below...)
}
