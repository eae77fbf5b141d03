package trust

import (
	"testing"

	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVerdicts(t *testing.T) {
	own := taken("own", 40, 1, 0)
	camera, ok := NewCamera(own, []Photographs{taken("other", 60, 2, .15)})
	require.True(t, ok)
	camera.Classes = []string{"cup"}
	known := &weights.Trust{Threshold: 1, Cameras: []weights.Camera{camera}, Mirror: .06, FoldsOf: FoldsToDoubtBy}
	owns := &weights.Trust{Threshold: 1, FoldsOf: FoldsToDoubtBy - 1}
	away := func(by float64) []float32 { // a look so far from the camera
		shift := 0.
		for {
			look := taken("", 1, 9, float32(shift)).Looks[0]
			if at, _, _ := Away(known.Cameras, "cup", look); at > by {
				return look
			}
			shift += .001
		}
	}
	remote := make([]float32, len(own.Looks[0]))
	for name, c := range map[string]struct {
		of           Case
		known        *weights.Trust
		word, reason string
	}{
		"near":             {Case{Class: "cup", Anchor: "disc", Found: true, Doubt: new(.5), Look: own.Looks[0]}, known, Trusted, ""},
		"odd of its kind":  {Case{Class: "cup", Anchor: "disc", Found: true, Doubt: new(.5), Look: away(1.05)}, known, Trusted, ""},
		"of either camera": {Case{Class: "cup", Anchor: "disc", Found: true, Doubt: new(.5), Look: away(1.4)}, known, Check, "The camera cannot be told from this picture, and the cup was learned from a few cameras."},
		"another camera":   {Case{Class: "cup", Anchor: "disc", Found: true, Doubt: new(.5), Look: away(2.05)}, known, Check, "The cup of this camera was not learned."},
		"remote":           {Case{Class: "cup", Anchor: "disc", Found: true, Doubt: new(.5), Look: remote}, known, DoNotUse, "This photograph is far from the cameras whose cup was learned."},
		"a dull one":       {Case{Class: "cup", Anchor: "disc", Found: true, Doubt: new(.5), Look: own.Looks[0], Fault: "This photograph is not sharp."}, known, Check, "This photograph is not sharp."},
		"a dull stranger":  {Case{Class: "cup", Anchor: "disc", Found: true, Doubt: new(.5), Look: remote, Fault: "This photograph is not sharp."}, known, DoNotUse, "This photograph is far from the cameras whose cup was learned."},
		"a crop":           {Case{Class: "cup", Anchor: "disc", Found: true, Doubt: new(.5)}, known, Check, "The camera cannot be told from this picture, and the cup was learned from a few cameras."},
		"its disc":         {Case{Class: "disc", Anchor: "disc", Found: true, Doubt: new(.5), Look: remote}, known, Trusted, ""},
		"a doubted disc":   {Case{Class: "disc", Anchor: "disc", Found: true, Doubt: new(1.5), Reason: "Odd."}, known, Check, "Odd."},
		"a hopeless disc":  {Case{Class: "disc", Anchor: "disc", Found: true, Doubt: new(2.5), Reason: "Odd."}, known, DoNotUse, "Odd."},
		"its cup":          {Case{Class: "cup", Anchor: "disc", Found: true, Doubt: new(1.5), Reason: "Odd.", Look: own.Looks[0]}, known, DoNotUse, "Odd."},
		"nothing":          {Case{Class: "cup", Anchor: "disc", Doubt: new(.5), Look: own.Looks[0]}, known, DoNotUse, "No cup was found in this picture."},
		"its own images":   {Case{Class: "disc", Anchor: "disc", Found: true, Doubt: new(.5)}, owns, Check, "These weights learned to doubt from the images that taught them."},
		"a doubted one":    {Case{Class: "disc", Anchor: "disc", Found: true, Doubt: new(2.5), Reason: "Odd."}, owns, DoNotUse, "Odd."},
		"weights of a fit": {Case{Class: "cup", Anchor: "disc", Found: true, Look: own.Looks[0]}, nil, Check, "These weights cannot tell whether a picture is of their kind."},
	} {
		assert.Equal(t, Verdict{c.word, c.reason}, Of(c.known, c.of), name)
	}

	good, bad := Verdict{Word: Trusted}, Verdict{Check, "A reason."}
	assert.Equal(t, good, OfRatio(known, good, good, .05))
	assert.Equal(t, bad, OfRatio(known, good, bad, .05))
	assert.Equal(t, bad, OfRatio(known, good, bad, .5), "the first reason stays")
	assert.Equal(t, Verdict{Check, "The ratio changes by 0.07 when the model looks at the mirror image."}, OfRatio(known, good, good, .07))
	assert.Equal(t, .1, NewMirror([]float64{.1, .1, .1, .1, .1, .1, .1, .1}))
	assert.Equal(t, leastMirror, NewMirror(make([]float64, 8)))
	assert.Zero(t, NewMirror(make([]float64, 7)))
}
