package model

import (
	"fmt"
	"strings"
)

// Config is an architecture and the labels that it learns. Widths are channels.
type Config struct {
	Name string

	Blocks [4]int // basic blocks of the encoder's four layers, a ResNet
	Widths [4]int // of the encoder's four layers

	// Inverted lists the blocks of an encoder that is a MobileNetV2. Then there are no Blocks and no
	// Widths. Of the strides four are 2.
	Inverted []InvertedResiduals

	Stem      int    // width of the encoder's first convolution
	Bridge    int    // width of the encoder's last map
	ConP      [4]int // widths of ConP's four stages, coarse to fine
	MaxKeys   int    // attention average-pools its keys and values to at most this many
	Embedding [3]int // hidden widths of the confidence embedding
	DivP      [4]int // widths of DivP's blocks
	DivPStem  int
	DivPHeads int
	RaterHead int // width of each rater's head

	// Steered: ConP adds the embedded confidences to the maps that they query. The paper has the query
	// alone (PAPER.md §2); the sum is ours.
	Steered bool

	// Integration says how ConP's stages take the confidences in.
	Integration Integration

	// Evidence: light passes settle around given marks (Settle). Masks do not change where nothing is
	// given.
	Evidence bool

	// Anchored, with Evidence: a rater's logits are the mask's and what DivP adds to them, 0 at first.
	// A rater then begins as the mask, with its fine edge. Otherwise DivP makes them.
	Anchored bool

	// Panels is the number of groups of people who have each marked images of their own. Each adds a
	// number a class to the mask's logits; 0: there are none.
	Panels int

	Raters  int // M
	Classes int // K

	// Method is another way to learn from the raters than Algorithm 1; nil: Algorithm 1.
	Method *Method

	// Draws is how many masks inference draws beside the raters' maps, with a Method that Draws.
	Draws int

	// AreaPrior is each structure's share of the pixels, where the mask's bias starts. A structure
	// that it lacks starts at 0.1.
	AreaPrior []float64

	// Independent: a structure need not lie inside the one before it. Otherwise inference keeps it
	// there (PAPER.md §3.10).
	Independent bool

	// Levels: agreement levels stand in the raters' place. Inference keeps each level inside the one
	// before it.
	Levels bool

	Execution
}

// InvertedResiduals are Count blocks of MobileNetV2. A block makes its input's channels Expansion
// times as many before it filters them, and its result has Channels. The first block has the
// Stride, 1 or 2.
type InvertedResiduals struct{ Expansion, Channels, Count, Stride int }

// mobileNetV2 is Table 2 of Sandler et al. (2018) without the first and the last convolution.
var mobileNetV2 = []InvertedResiduals{
	{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
}

// Endings of an architecture's name that say what it has beside its widths, in this order.
const (
	steered  = "-steered"
	anchored = "-anchored"
	evidence = "-evidence"
)

// Extend makes an architecture Steered, or gives it Evidence, or has it Anchored, or several of
// these. Evidence has parameters of its own. Those of a Steered architecture keep their names and
// shapes.
func (c *Config) Extend(isSteered, hasEvidence, isAnchored bool) {
	c.Steered, c.Evidence, c.Anchored = c.Steered || isSteered, c.Evidence || hasEvidence, c.Anchored || isAnchored
	c.Name = plain(c.Name)
	for _, part := range []struct {
		has    bool
		ending string
	}{{c.Steered, steered}, {c.Anchored, anchored}, {c.Evidence, evidence}} {
		if part.has {
			c.Name += part.ending
		}
	}
}

// plain is an architecture's name without these endings.
func plain(name string) string {
	for _, ending := range []string{evidence, anchored, steered} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// IsAnchored says whether an architecture of this name is Anchored.
func IsAnchored(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, evidence), anchored)
}

// SameParameters says whether architectures of these two names have parameters of equal names and
// shapes, but for those of Evidence and of the last layer of Anchored heads.
func SameParameters(config, other string) bool {
	return plain(config) == plain(other)
}

// NewConfig gives the architecture of a name: "paper", "compact" (which the page downloads),
// "mobile" (compact with a MobileNetV2 as its encoder), "small" (a finder, 0.3 million parameters) or
// "tiny" (for tests). "-steered", then "-evidence" or "-anchored-evidence" may follow the name.
// Before these may stand "-concat" or "-convlstm" (Integration). The name of a method may end it.
func NewConfig(name string, raters, classes int) (Config, error) {
	if raters < 1 || classes < 1 {
		return Config{}, fmt.Errorf("%d raters and %d classes: give at least one of each", raters, classes)
	}
	architecture, m := cutMethod(name)
	c := Config{
		Name: name, Method: m, Raters: raters, Classes: classes,
		Embedding: [3]int{64, 128, 256}, DivP: [4]int{32, 64, 64, 32}, DivPStem: 64, DivPHeads: 8, RaterHead: 16,
	}
	architecture, hasEvidence := strings.CutSuffix(architecture, evidence)
	architecture, isAnchored := strings.CutSuffix(architecture, anchored)
	architecture, isSteered := strings.CutSuffix(architecture, steered)
	if isAnchored && !hasEvidence {
		return Config{}, fmt.Errorf("configuration %s: -anchored stands before -evidence alone; name %s%s", name, name, evidence)
	}
	c.Steered, c.Anchored, c.Evidence = isSteered, isAnchored, hasEvidence
	architecture, c.Integration = cutIntegration(architecture)
	switch architecture {
	case "paper":
		c.Blocks, c.Widths, c.Stem, c.Bridge = [4]int{3, 4, 6, 3}, [4]int{64, 128, 256, 512}, 64, 512
		c.ConP, c.MaxKeys = [4]int{512, 256, 128, 64}, 1024
	case "compact":
		c.Blocks, c.Widths, c.Stem, c.Bridge = [4]int{2, 2, 2, 2}, [4]int{32, 64, 128, 256}, 32, 256
		c.ConP, c.MaxKeys = [4]int{256, 128, 64, 32}, 256
	case "mobile":
		c.Inverted, c.Stem, c.Bridge = mobileNetV2, 32, 256
		c.ConP, c.MaxKeys = [4]int{256, 128, 64, 32}, 256
	case "small":
		c.Blocks, c.Widths, c.Stem, c.Bridge = [4]int{1, 1, 1, 1}, [4]int{16, 32, 48, 64}, 16, 48
		c.ConP, c.MaxKeys = [4]int{48, 32, 32, 16}, 64
		c.Embedding, c.DivP, c.DivPStem, c.DivPHeads, c.RaterHead = [3]int{8, 16, 32}, [4]int{8, 8, 8, 8}, 8, 2, 4
	case "tiny":
		c.Blocks, c.Widths, c.Stem, c.Bridge = [4]int{1, 1, 1, 1}, [4]int{8, 16, 16, 16}, 8, 16
		c.ConP, c.MaxKeys = [4]int{16, 16, 16, 16}, 16
		c.Embedding, c.DivP, c.DivPStem, c.DivPHeads, c.RaterHead = [3]int{8, 16, 32}, [4]int{8, 8, 8, 8}, 8, 2, 4
	default:
		if at := strings.Index(architecture, "-"); at >= 0 {
			method := architecture[at:]
			for _, own := range []string{"-" + string(Concat), "-" + string(ConvLSTM), steered, anchored, evidence} {
				method = strings.TrimPrefix(method, own)
			}
			if _, err := FindMethod(strings.TrimPrefix(method, "-")); err != nil {
				return Config{}, err
			}
		}
		return Config{}, fmt.Errorf("no configuration is named %q: use paper, compact, mobile, small or tiny", name)
	}
	return c, nil
}

// SideMultiple divides the side of every image: the encoder halves the side six times.
const SideMultiple = 64

// Lowest is the clamp of every probability before a logarithm (PAPER.md §3.4).
const Lowest = 1e-3

// Inside lists the channels inside which a channel of maps (…, K) or (…, M, K) lies. They come
// before it. A structure lies inside the structure before it, as a cup lies in its disc (PAPER.md
// §3.10), unless structures are independent. An agreement level lies inside the level before it:
// pixels that two experts mark are among those that one of them marks.
func (c *Config) Inside(channel int) (outer []int) {
	if channel%c.Classes > 0 && !c.Independent {
		outer = append(outer, channel-1)
	}
	if channel >= c.Classes && c.Levels {
		outer = append(outer, channel-c.Classes)
	}
	return outer
}

// Nest lowers every channel of maps (…, channels) to the channels inside which it lies:
// cup = min(cup, disc).
func (c *Config) Nest(maps []float32, channels int) {
	for channel := range channels {
		for _, outer := range c.Inside(channel) {
			for i := 0; i < len(maps); i += channels {
				maps[i+channel] = min(maps[i+channel], maps[i+outer])
			}
		}
	}
}
