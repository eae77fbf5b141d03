package segment

import "mrprism/internal/data/roi"

// faint is the probability above which pixels belong to a piece: the lowest threshold of soft Dice.
const faint = 0.1

// onePiece keeps one piece of each channel of maps (S, S, channels), the one with the most pixels
// above one half, and sets the others to 0. A channel without a pixel above one half does not
// change. nnU-Net does the same to structures of one piece (Isensee et al. 2021). Before that,
// onePiece limits a channel to the channels that inside names, which come before it: a kept cup
// then lies in the kept disc. others has, for each channel, how many pieces with at least a quarter
// of the kept one's pixels it set to 0: they may be further objects.
func onePiece(maps []float32, side, channels int, inside func(channel int) []int) (others []int) {
	others = make([]int, channels)
	for c := range channels {
		for _, outer := range inside(c) {
			for i := 0; i < len(maps); i += channels {
				maps[i+c] = min(maps[i+c], maps[i+outer])
			}
		}
		pieces, sizes, best := roi.Pieces(channel(maps, c, channels), side, faint), []int(nil), 0
		for i, piece := range pieces {
			size := 0
			for _, at := range piece {
				if maps[at*channels+c] > 0.5 {
					size++
				}
			}
			if sizes = append(sizes, size); size > sizes[best] {
				best = i
			}
		}
		if len(pieces) == 0 || sizes[best] == 0 {
			continue
		}
		for i, piece := range pieces {
			if i == best {
				continue
			}
			if 4*sizes[i] >= sizes[best] {
				others[c]++
			}
			for _, at := range piece {
				maps[at*channels+c] = 0
			}
		}
	}
	return others
}
