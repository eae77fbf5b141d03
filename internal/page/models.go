package page

import (
	"context"
	"fmt"

	"mrprism/model"
	"mrprism/weights"
)

// OpenWeights reads a file of the user's own, verifies it and keeps the model. size is the file's
// size in bytes.
func (h *Host) OpenWeights(name string, size float64, read func() []byte) (*weights.Model, error) {
	wrong := func(err error) error {
		return Fault{"weights", sentence(err.Error()) + ".", "Open a .safetensors file written by MrPrism's train."}
	}
	if size > weights.MaxFileBytes {
		return nil, wrong(fmt.Errorf("%s has %.0f MB, and a model has at most %d", name, size/1e6, weights.MaxFileBytes/1_000_000))
	}
	m, err := h.Models.Open(name, read())
	if err != nil {
		return nil, wrong(err)
	}
	if err := known(name, m); err != nil {
		return nil, err
	}
	if h.find(m.Name()) == nil {
		h.own = append(h.own, m)
	}
	return m, nil
}

// known returns an error for a model whose network this program does not have.
func known(name string, m *weights.Model) error {
	if _, err := model.NewConfig(m.Metadata.Configuration, len(m.Metadata.Raters), len(m.Metadata.Classes)); err != nil {
		return Fault{"weights", sentence(name+": "+err.Error()) + ".", "Was it trained by a newer MrPrism? Then update this site."}
	}
	return nil
}

// find returns a model that the host has, or nil.
func (h *Host) find(name string) *weights.Model {
	if m := h.engines.model; m != nil && m.Name() == name {
		return m
	}
	for _, m := range h.own {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// useModel makes the named model the present one, and downloads it if necessary.
func (h *Host) useModel(ctx context.Context, name string, tell func(string, int, int)) error {
	m := h.find(name)
	if m == nil {
		var err error
		if m, err = h.fetchModel(ctx, name, tell); err != nil {
			return err
		}
	}
	h.engines.use(m)
	return nil
}

// fetchModel downloads a model that the site has and verifies it. Meanwhile the device compiles
// what the model needs.
func (h *Host) fetchModel(ctx context.Context, name string, tell func(string, int, int)) (*weights.Model, error) {
	entry, err := h.Models.Find(name)
	if err != nil {
		return nil, Fault{"weights", sentence(err.Error()) + ".", "Choose another model."}
	}
	received := func(done int) { tell("download", done, entry.Bytes) }
	received(0)
	var m *weights.Model
	arrived := make(chan struct{})
	go func() {
		defer close(arrived)
		m, err = h.download(ctx, entry, false, received)
		if err == nil || ctx.Err() != nil {
			return
		}
		// A damaged copy in a cache or a proxy would be returned each time.
		if again, failed := h.download(ctx, entry, true, received); failed == nil {
			m, err = again, nil
		}
	}()
	// Not if another model is on the GPU: most of that model's kernels serve this one too.
	if h.computer.onGPU() && h.engines.ready == nil && h.engines.making == nil {
		h.startWarming(entry)
	}
	<-arrived
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return m, err
}

// download fetches a model once, and verifies it.
func (h *Host) download(ctx context.Context, entry weights.Entry, anew bool, received func(done int)) (*weights.Model, error) {
	data, err := h.Fetch(ctx, entry.File, anew, received)
	if err != nil {
		return nil, Fault{"weights", "The model could not be downloaded: " + err.Error() + ".", "Check the network and that the site is served, then choose the model again. Models that About lists as kept work without a network."}
	}
	m, err := h.Models.OpenShipped(entry.Name, data)
	if err != nil {
		return nil, Fault{"weights", "The model was refused: " + err.Error() + ".", "Was the site updated meanwhile? Then reload the page; otherwise tell who serves it."}
	}
	return m, known(m.Label(), m)
}
