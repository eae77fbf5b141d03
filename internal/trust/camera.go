package trust

import (
	"math"
	"slices"

	"mrprism/internal/data/metric"
	"mrprism/weights"
)

// Photographs are what the encoder sees of whole photographs of one data set.
type Photographs struct {
	Name  string
	Looks [][]float32 // (n, D)
	Parts []int       // by look, from 0: what belongs to one person has one part
}

// near is the share of a camera's own photographs that are near to it.
const near = 0.95

// nearest is the least Far of a direction: a tenth of the way to the other camera.
const nearest = 0.1

// NewCamera learns how the photographs of a data set look, and which way those of others lie from
// them. ok is false with too few photographs.
func NewCamera(own Photographs, others []Photographs) (c weights.Camera, ok bool) {
	if c.Look, ok = NewFeatures(own.Looks); !ok {
		return c, false
	}
	distances, ok := Unseen(own.Looks, own.Parts)
	if !ok {
		return c, false
	}
	c.Name, c.Far = own.Name, metric.Quantile(slices.Sorted(slices.Values(distances)), near)
	for to, other := range others {
		d := weights.Direction{To: other.Name}
		d.Away, _ = direction(c.Look, own.Looks, others, to)
		var far []float64
		for part := range 1 + slices.Max(own.Parts) {
			rest, unseen := own.split(part)
			away, start := direction(c.Look, rest, others, to)
			for _, look := range unseen {
				far = append(far, along(c.Look, away, look)-start)
			}
		}
		slices.Sort(far)
		d.Far = max(nearest, metric.Quantile(far, near))
		c.Others = append(c.Others, d)
	}
	return c, true
}

// split are the looks of other parts, and those of a part.
func (p Photographs) split(part int) (rest, own [][]float32) {
	for i, look := range p.Looks {
		if p.Parts[i] == part {
			own = append(own, look)
		} else {
			rest = append(rest, look)
		}
	}
	return rest, own
}

// shrunk is the share of the identity in a matrix of correlations: there are fewer photographs than
// features.
const shrunk = 0.05

// direction is Fisher's linear discriminant from own looks to those of one of the others, in
// features scaled by f. Its length makes the way between the two means 1. start is the place of the
// own mean on it. All data sets share one covariance, the mean of theirs, as in Mahalanobis'
// distance between classes (Lee et al. 2018).
func direction(f weights.Features, own [][]float32, others []Photographs, to int) (away []float32, start float64) {
	d := len(f.Mean)
	rows, middles := centred(own), [][]float64{mean(own)}
	for _, other := range others {
		rows, middles = append(rows, centred(other.Looks)...), append(middles, mean(other.Looks))
	}
	deviation, way := make([]float64, d), make([]float64, d)
	for j := range d {
		for _, row := range rows {
			deviation[j] += row[j] * row[j] / float64(len(rows))
		}
		deviation[j] = math.Sqrt(deviation[j]) + 1e-6
		way[j] = (middles[1+to][j] - middles[0][j]) / deviation[j]
		for _, row := range rows {
			row[j] /= deviation[j] * math.Sqrt(float64(len(rows)))
		}
	}
	x := solve(rows, way)
	length := dot(x, way)
	away = make([]float32, d)
	for j := range away {
		away[j] = float32(x[j] * float64(f.Scale[j]) / deviation[j] / length)
		start += float64(away[j]) * (middles[0][j] - float64(f.Mean[j])) / float64(f.Scale[j])
	}
	return away, start
}

// solve returns x of ((1 − shrunk)·rowsᵀ·rows + shrunk·I)·x = y, by conjugate gradients.
func solve(rows [][]float64, y []float64) (x []float64) {
	x = make([]float64, len(y))
	left, way := slices.Clone(y), slices.Clone(y)
	squares := dot(left, left)
	for enough := 1e-10 * squares; squares > enough; {
		image := make([]float64, len(y))
		for j, v := range way {
			image[j] = shrunk * v
		}
		for _, row := range rows {
			along := (1 - shrunk) * dot(row, way)
			for j, v := range row {
				image[j] += along * v
			}
		}
		step := squares / dot(way, image)
		for j := range x {
			x[j] += step * way[j]
			left[j] -= step * image[j]
		}
		before := squares
		squares = dot(left, left)
		for j := range way {
			way[j] = left[j] + squares/before*way[j]
		}
	}
	return x
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func mean(looks [][]float32) []float64 {
	out := make([]float64, len(looks[0]))
	for _, look := range looks {
		for j, v := range look {
			out[j] += float64(v) / float64(len(looks))
		}
	}
	return out
}

func centred(looks [][]float32) (rows [][]float64) {
	middle := mean(looks)
	for _, look := range looks {
		row := make([]float64, len(look))
		for j, v := range look {
			row[j] = float64(v) - middle[j]
		}
		rows = append(rows, row)
	}
	return rows
}

// along is the place of a look on a direction.
func along(f weights.Features, away []float32, look []float32) (at float64) {
	for j, v := range look {
		at += float64(away[j]) * (float64(v) - float64(f.Mean[j])) / float64(f.Scale[j])
	}
	return at
}

// Away is how far a photograph is from the nearest camera that taught a structure: up to 1 it is as
// near as the camera's own. distance is the same by Distance alone, without the
// directions. Without a look both are infinite. known is false if every data set
// teaches the structure.
func Away(cameras []weights.Camera, class string, look []float32) (away, distance float64, known bool) {
	away, distance = math.Inf(1), math.Inf(1)
	for _, c := range cameras {
		if !slices.Contains(c.Classes, class) {
			continue
		}
		known = true
		from := Distance(c.Look, look) / c.Far
		distance = min(distance, from)
		for _, o := range c.Others {
			if len(o.Away) == len(look) {
				from = max(from, along(c.Look, o.Away, look)/o.Far)
			}
		}
		away = min(away, from)
	}
	return away, distance, known
}
