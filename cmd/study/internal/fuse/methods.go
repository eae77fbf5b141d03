package fuse

import (
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/study/fuse"
)

// MarksAlone are the methods that need no network.
var MarksAlone = []string{fuse.MeanVote.Name, fuse.Majority.Name, fuse.STAPLE.Name, "dawid-skene", "contours", fuse.Edges.Name}

// methods are those that the network, if there is one, allows: by the names of their folders.
func (s *Study) methods() []fuse.Method {
	all := []fuse.Method{
		fuse.MeanVote, fuse.Majority, fuse.STAPLE,
		{Name: "dawid-skene", Fuse: func(p fuse.Panel) *fusion.Fit { return fusion.DawidSkene(p.Marks, nil) }},
		{Name: "contours", Fuse: func(p fuse.Panel) *fusion.Fit { return s.learned[p.Class].Fuse(p.Marks, p.Width) }},
		fuse.Edges,
	}
	n := s.Network
	if n == nil {
		return all
	}
	all = append(all,
		fuse.Method{Name: "dawid-skene-prior", Fuse: func(p fuse.Panel) *fusion.Fit { return fusion.DawidSkene(p.Marks, s.prior(p.Class)) }},
		fuse.Method{Name: "max-mig", Fuse: func(p fuse.Panel) *fusion.Fit { return s.crowds[p.Class].Fuse(p.Marks, s.prior(p.Class)) }})
	switch {
	case n.Heads && n.Trusts:
		all = append(all, fuse.Method{Name: "diag", Fuse: s.byHeads(Trusted)})
	case n.Heads:
		all = append(all, fuse.Method{Name: "mrprism", Fuse: s.byHeads(Likely)})
	}
	return all
}

// prior is the network's mask of class k in the present image; nil if it found nothing.
func (s *Study) prior(k int) []float32 {
	if s.seen == nil {
		return nil
	}
	return s.seen.Masks[k]
}

// byHeads fuses with the network's maps of each rater; if it found nothing, the result is the mean
// vote.
func (s *Study) byHeads(by func(marks [][]uint8, heads [][]float32) *fusion.Fit) func(p fuse.Panel) *fusion.Fit {
	return func(p fuse.Panel) *fusion.Fit {
		if s.seen == nil || s.seen.Heads == nil {
			return fusion.MeanVote(p.Marks)
		}
		return by(p.Marks, s.seen.Heads[p.Class])
	}
}

// add learns from an image's marks of class k, and beside a network from what it makes of them.
func (s *Study) add(l *dataset.Loaded, k int) {
	s.learned[k].Add(l.ByRater(k), l.Image.W)
	if s.seen != nil {
		s.crowds[k].Add(l.ByRater(k), s.seen.Masks[k])
	}
}

func (s *Study) learn() {
	for k := range s.learned {
		s.learned[k].Learn()
		if s.Network != nil {
			s.crowds[k].Learn()
		}
	}
}
