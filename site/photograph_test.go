package site

import (
	"bytes"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
)

// spied has the page keep the widths of the pictures that its worker sends.
const spied = `{
	const Plain = Worker;
	globalThis.sent = [];
	globalThis.Worker = class extends Plain {
		constructor(...of) {
			super(...of);
			this.addEventListener("message", ({ data }) => { if (data.type === "image") sent.push(data.pixelsWide); });
		}
	};
}`

// A large photograph is shown coarsely, then with its outlines, then with all its pixels.
func TestLargePhotographIsCoarseAtFirst(t *testing.T) {
	t.Parallel()
	_, files := shippedModel(t, "fundus")
	var out bytes.Buffer
	require.NoError(t, jpeg.Encode(&out, synthetic.Photograph(3, 2401, 1801), nil))
	s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper}), files)
	s.before = spied
	p := open(t, s, 900, 700, withoutWebGPU...)
	p.ready()
	p.drop("photo.jpg", out.Bytes())
	p.until(sampleDone)
	p.until("sent.length === 2")
	assert.Equal(t, []any{1201., 2401.}, get[[]any](p, "sent"), "blocks of four pixels, then all")
}
