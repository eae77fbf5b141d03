package instances

import (
	"cmp"
	"math"
	"slices"
)

// Pair is an object of one field and an object of another that are taken for the same.
type Pair struct {
	A, B uint16  // numbers
	IoU  float64 // pixels that both have, over pixels that any of them has
}

// overlaps are the pairs of objects whose IoU is at least least, and above 0, by ascending numbers.
func overlaps(a, b *Field, least float64) (pairs []Pair) {
	if a.Width != b.Width || a.Height != b.Height {
		panic("instances: fields of different sizes cannot be matched")
	}
	shared := map[[2]uint16]int{}
	for i, n := range a.Labels {
		if m := b.Labels[i]; n > 0 && m > 0 {
			shared[[2]uint16{n, m}]++
		}
	}
	for p, both := range shared {
		if iou := float64(both) / float64(a.Find(p[0]).Area+b.Find(p[1]).Area-both); iou >= least {
			pairs = append(pairs, Pair{p[0], p[1], iou})
		}
	}
	slices.SortFunc(pairs, func(p, q Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) })
	return pairs
}

// Match pairs the objects of two fields of one size, each with at most one, so that the sum of IoU
// is largest. It pairs objects whose IoU is at least least (0 to 1), and above 0. Pairs are in the
// order of A. Source: Jonker and Volgenant 1987.
func Match(a, b *Field, least float64) []Pair {
	pairs, rows, columns := overlaps(a, b, least), 0, 0
	for _, p := range pairs {
		rows, columns = max(rows, int(p.A)+1), max(columns, int(p.B)+1)
	}
	n := columns + rows
	t := taken{
		row: slices.Repeat([]int{-1}, n), hops: make([][]hop, rows), rows: make([]float64, rows), columns: make([]float64, n),
		from: make([]int, n), length: slices.Repeat([]float64{math.Inf(1)}, n), done: make([]bool, n),
	}
	for _, p := range pairs {
		t.hops[p.A] = append(t.hops[p.A], hop{int(p.B), 1 - p.IoU})
	}
	for r := range rows {
		t.hops[r] = append(t.hops[r], hop{columns + r, 1})
		t.augment(r)
	}
	return slices.DeleteFunc(pairs, func(p Pair) bool { return t.row[p.B] != int(p.A) })
}

// taken says which row, an object of one field, has taken a column, an object of the other, by
// their numbers. Each row has a column more, for no object. The distance of a hop, less the prices
// of its row and its column, is 0 or more, and 0 to the column that a row has taken.
type taken struct {
	row           []int   // by column; -1: none
	hops          [][]hop // by row
	rows, columns []float64
	from          []int     // the column before, on the shortest path
	length        []float64 // of the shortest path, less the prices; +Inf: none is known
	done          []bool    // by column: the path is known to be the shortest
}

type hop struct {
	column   int
	distance float64 // 1 − IoU; to no object 1
}

// augment lets a row take a column, and others change theirs: along the shortest path to a free
// column. The path leads over overlapping objects alone, and is searched among them.
func (t *taken) augment(start int) {
	var seen []int // columns
	at, row, length := -1, start, 0.
	for row >= 0 {
		for _, h := range t.hops[row] {
			j := h.column
			if math.IsInf(t.length[j], 1) {
				seen = append(seen, j)
			}
			if l := length + h.distance - t.rows[row] - t.columns[j]; !t.done[j] && l < t.length[j] {
				t.length[j], t.from[j] = l, at
			}
		}
		at = -1
		for _, j := range seen {
			if !t.done[j] && (at < 0 || t.length[j] < t.length[at]) {
				at = j
			}
		}
		row, length, t.done[at] = t.row[at], t.length[at], true
	}
	t.rows[start] += length
	for _, j := range seen {
		if slack := length - t.length[j]; t.done[j] && j != at {
			t.rows[t.row[j]] += slack
			t.columns[j] -= slack
		}
		t.length[j], t.done[j] = math.Inf(1), false
	}
	for ; t.from[at] >= 0; at = t.from[at] {
		t.row[at] = t.row[t.from[at]]
	}
	t.row[at] = start
}

// Score says how well the objects of one field are those of another.
type Score struct {
	Matched           int     // pairs
	Precision, Recall float64 // NaN: no object was found, or there is none
	F1                float64 // the harmonic mean; also recognition quality, RQ; NaN: both fields are empty
	SQ                float64 // segmentation quality: the mean IoU of pairs; NaN: there is no pair
	PQ                float64 // panoptic quality, SQ · RQ; NaN: both fields are empty
	Dice              float64 // the mean of pairs; NaN: there is no pair
}

// Compare scores found objects against true ones, which match from an IoU on, such as 0.5 or 0.75.
// Source: Kirillov et al. 2019, who want an IoU above 0.5.
func Compare(truth, found *Field, least float64) Score {
	pairs := Match(truth, found, least)
	n, iou, dice := float64(len(pairs)), 0., 0.
	for _, p := range pairs {
		iou += p.IoU
		dice += 2 * p.IoU / (1 + p.IoU)
	}
	half := float64(len(truth.Objects)+len(found.Objects)) / 2
	return Score{len(pairs), n / float64(len(found.Objects)), n / float64(len(truth.Objects)), n / half, iou / n, iou / half, dice / n}
}

// Group is the objects of several people that are the same.
type Group struct {
	Number uint16   // of the fused object; 0: it has no pixel
	Of     []uint16 // by person: the number of the object; 0: the person did not find it
}

// Finders is how many people found it.
func (g Group) Finders() (n int) {
	for _, of := range g.Of {
		n += min(1, int(of))
	}
	return n
}

// Consensus groups the objects of several people's fields of one picture, and fuses them. Matches
// of two people from an IoU on, such as 0.5, are joined, those with the largest IoU first, unless
// the group would have two objects of a person. A pixel belongs to the group of which more than
// half of the finders say so; of several such groups, to the one with the most of these finders.
// Groups are in the order of people and of their numbers. An object's Disagreement is that of its
// finders. More groups than Most are an error.
func Consensus(people []*Field, least float64) (*Field, []*Group, error) {
	type link struct {
		Pair
		a, b int // people
	}
	var links []link
	group := make([][]*Group, len(people)) // by person and number
	for b, f := range people {
		group[b] = make([]*Group, Most+1)
		for _, o := range f.Objects {
			group[b][o.Number] = &Group{Of: make([]uint16, len(people))}
			group[b][o.Number].Of[b] = o.Number
		}
		for a := range b {
			for _, p := range Match(people[a], f, least) {
				links = append(links, link{p, a, b})
			}
		}
	}
	slices.SortStableFunc(links, func(a, b link) int { return cmp.Compare(b.IoU, a.IoU) })
	for _, l := range links {
		into, gone, twice := group[l.a][l.A], group[l.b][l.B], false
		for p := range people {
			twice = twice || into.Of[p] > 0 && gone.Of[p] > 0
		}
		for p, n := range gone.Of {
			if n > 0 && !twice {
				into.Of[p], group[p][n] = n, into
			}
		}
	}
	var groups []*Group
	for b, f := range people {
		for _, o := range f.Objects {
			if g := group[b][o.Number]; g.Number == 0 {
				if len(groups) == Most {
					return nil, nil, ErrTooMany
				}
				groups = append(groups, g)
				g.Number = uint16(len(groups))
			}
		}
	}
	fused := fuse(people, group, len(groups))
	for _, g := range groups {
		if fused.Find(g.Number) == nil {
			g.Number = 0
		}
	}
	return fused, groups, nil
}

// fuse makes the field of n groups. group has those of objects, by person and number.
func fuse(people []*Field, group [][]*Group, n int) *Field {
	labels, votes, disagreement := make([]uint16, len(people[0].Labels)), make([]int, n+1), make([]float64, n+1)
	for i := range labels {
		for p, f := range people {
			if g := group[p][f.Labels[i]]; g != nil {
				votes[g.Number]++
			}
		}
		most := 0
		for p, f := range people {
			g := group[p][f.Labels[i]]
			if g == nil || votes[g.Number] == 0 {
				continue
			}
			of, v := g.Finders(), votes[g.Number]
			if 2*v > of && v > most {
				most, labels[i] = v, g.Number
			}
			disagreement[g.Number] += float64(2*v*(of-v)) / float64(max(1, of*(of-1)))
			votes[g.Number] = 0
		}
	}
	f := FromLabels(people[0].Width, people[0].Height, people[0].Class, labels)
	for i, o := range f.Objects {
		f.Objects[i].Disagreement = disagreement[o.Number]
	}
	return f
}
