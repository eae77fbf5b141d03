//go:build js

package main

import (
	"context"
	"fmt"
	"syscall/js"

	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"
)

// openWeights answers "weights": it verifies a file of the user's own and keeps it.
func (s *session) openWeights(message js.Value) error {
	name := message.Get("name").String()
	wrong := func(err error) error {
		return fault{Code: "weights", Message: sentence(err.Error()) + ".", Next: "Open a .safetensors file written by MrPrism's train."}
	}
	blob := message.Get("blob")
	if size := blob.Get("byteLength").Float(); size > weights.MaxFileBytes {
		return wrong(fmt.Errorf("%s has %.0f MB, and a model has at most %d", name, size/1e6, weights.MaxFileBytes/1_000_000))
	}
	m, err := weights.Shipped().Open(name, bytesOf(js.Global().Get("Uint8Array").New(blob)))
	if err != nil {
		return wrong(err)
	}
	if _, err := model.NewConfig(m.Metadata.Configuration, len(m.Metadata.Raters), len(m.Metadata.Classes)); err != nil {
		return fault{Code: "weights", Message: sentence(name+": "+err.Error()) + ".", Next: "Was it trained by a newer MrPrism? Then update this site."}
	}
	if err := segment.CheckHeads(name, &m.Metadata); err != nil {
		return wrong(err)
	}
	if s.find(m.Name()) == nil {
		s.own = append(s.own, m)
	}
	post(map[string]any{"type": "weights", "request": message.Get("request"), "name": m.Name(), "title": m.Label()})
	return nil
}

// find returns a model that is here already, or nil.
func (s *session) find(name string) *weights.Model {
	if s.model != nil && s.model.Name() == name {
		return s.model
	}
	for _, m := range s.own {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// useModel makes the named model the engine's: the present one, a file of the user's own, or a shipped one, which is downloaded and
// verified. The engine of another model is closed.
func (s *session) useModel(ctx context.Context, name string, tell func(string, int, int)) error {
	model := s.find(name)
	if model == nil {
		var err error
		if model, err = s.fetchModel(ctx, name, tell); err != nil {
			return err
		}
	}
	if model != s.model {
		if s.engine != nil {
			s.engine.Close()
			s.engine = nil
		}
		s.dropBridge()
	}
	s.model = model
	return nil
}

// fetchModel downloads a shipped model; while it arrives, the device compiles what the model will need.
func (s *session) fetchModel(ctx context.Context, name string, tell func(string, int, int)) (*weights.Model, error) {
	entry, err := weights.Shipped().Find(name)
	if err != nil {
		return nil, fault{Code: "weights", Message: sentence(err.Error()) + ".", Next: "Choose another model."}
	}
	tell("download", 0, entry.Bytes)
	var data []byte
	arrived := make(chan struct{})
	go func() {
		defer close(arrived)
		data, err = download(ctx, "weights/"+entry.File, func(done int) { tell("download", done, entry.Bytes) })
	}()
	if s.onGPU() && s.engine == nil && s.making == nil { // not beside another model's buffers; what it compiled mostly serves this one too
		s.warm(entry)
	}
	<-arrived
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fault{Code: "weights", Message: "The model could not be downloaded: " + err.Error() + ".", Next: "Check that the site is still served, then try again."}
	}
	model, err := weights.Shipped().OpenShipped(name, data)
	if err != nil && forget(ctx, "weights/"+entry.File) { // what the browser keeps for use without a network may be damaged
		if data, err = download(ctx, "weights/"+entry.File, func(done int) { tell("download", done, entry.Bytes) }); err == nil {
			model, err = weights.Shipped().OpenShipped(name, data)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, fault{Code: "weights", Message: "The model was refused: " + err.Error() + ".", Next: "Was the site updated meanwhile? Then reload the page; otherwise tell who serves it."}
	}
	return model, nil
}
