//go:build js

package main

import (
	"encoding/json"
	"fmt"
	"image"
	"runtime"
	"runtime/debug"
	"syscall/js"

	"mrprism/internal/files/dicom"
	"mrprism/internal/files/imageio"
	"mrprism/internal/page"
	"mrprism/internal/segment"
	"mrprism/wasm/overlay"
)

// longestShown limits the sides of the picture for the stage: every WebGL2 device has textures of
// this size.
const longestShown = 4096

// longestCoarse limits those of the picture that the page shows until it has the outlines.
const longestCoarse = 1536

// longestThumb limits the sides of the small picture for the page's list.
const longestThumb = 96

// largeFile is a file beside which there is no room for much garbage, bytes.
const largeFile = 16 << 20

// mostGarbage is how much garbage may be in memory while a list is computed, in percent of the used
// memory. Collecting takes little time, since weights and maps have few pointers.
const mostGarbage = 20

// post sends a message to the page. The buffers of the typed arrays in transfer are moved and not
// copied.
func post(message map[string]any, transfer ...js.Value) {
	buffers := make([]any, len(transfer))
	for i, array := range transfer {
		buffers[i] = array.Get("buffer")
	}
	js.Global().Call("postMessage", message, buffers)
}

// message is a message from the page.
type message struct{ js.Value }

// number returns a numeric field, or −1 if the message has none of that name.
func (m message) number(name string) int {
	if v := m.Get(name); v.Type() == js.TypeNumber {
		return v.Int()
	}
	return -1
}

func (m message) text(name string) string { return m.Get(name).String() }

// file returns a function that copies the message's file, or nil if the message has none.
func (m message) file() func() []byte {
	blob := m.Get("blob")
	if blob.IsNull() || blob.IsUndefined() {
		return nil
	}
	return func() []byte { return bytesOf(js.Global().Get("Uint8Array").New(blob)) }
}

// reply answers the message.
func (m message) reply(kind string, fields map[string]any, transfer ...js.Value) {
	fields["type"], fields["request"] = kind, m.Get("request")
	post(fields, transfer...)
}

func (m message) fail(f page.Fault) {
	m.reply("error", map[string]any{"code": f.Code, "message": f.Message, "next": f.Next})
}

func (m message) tell(stage string, done, total int) {
	m.reply("progress", map[string]any{"stage": stage, "done": done, "total": total})
}

// answer works on a message.
func answer(h *page.Host, m message) {
	var err error
	switch kind := m.text("type"); kind {
	case "segment":
		err = segmentImage(h, m)
	case "prepare":
		if err = h.Prepare(m.number("request"), m.text("model"), m.tell); err == nil {
			m.reply(kind, map[string]any{})
		}
	case "picture":
		job, said := m.job(), map[string]any{}
		job.Show = func(img *imageio.Image) {
			m.show(img)
			if h, ok := img.Header.(*dicom.Header); ok && m.Get("wantIdentity").Truthy() {
				said["identity"] = toJS(h.Identity())
			}
		}
		if err = h.Decode(job); err == nil {
			m.reply(kind, said)
		}
	case "weights":
		err = openWeights(h, m)
	case "map", "view":
		err = showMap(h, m)
	case "table":
		err = writeTable(m)
	case "zip":
		err = writeZIP(m)
	case "correct":
		err = correctMask(m)
	case "recognise":
		m.reply(kind, map[string]any{"are": recognised(m.Get("heads"))})
	case "save":
		err = saveFile(h, m)
	case "field":
		err = changeField(h, m)
	case "saveField":
		err = saveField(h, m)
	case "series":
		err = changeSeries(h, m)
	case "clinical":
		err = readClinically(h, m)
	case "repeat":
		job := m.job()
		job.Model, job.Options.RaterWeights = m.text("model"), floatsOf(m.Get("raterWeights"))
		var repeats *segment.Repeats
		if repeats, err = h.Repeat(job, m.number("id")); err == nil {
			err = m.replyJSON(kind, map[string]any{"repeats": repeats})
		}
	default:
		err = fmt.Errorf("unknown message %q", kind)
	}
	if err != nil {
		m.fail(page.FaultOf(err))
	}
}

// job is the picture that a message names.
func (m message) job() page.Job {
	return page.Job{
		Request: m.number("request"), Key: m.number("key"), Name: m.text("name"), Read: m.file(), Slice: max(0, m.number("slice")),
		Turn: max(0, m.number("turn")) % 4, Part: max(0, m.number("part")),
		Options: segment.Options{Progress: m.tell},
	}
}

// show sends the forms of a decoded picture that the message wants.
func (m message) show(img *imageio.Image) {
	if m.Get("wantThumb").Truthy() {
		m.showPicture("thumb", img, longestThumb)
	}
	if m.Get("wantImage").Bool() {
		longest := longestShown
		if m.Get("coarse").Truthy() {
			longest = longestCoarse
		}
		m.showPicture("image", img, longest)
	}
}

// segmentImage answers "segment": image (once it is decoded), progress, and the result.
func segmentImage(h *page.Host, m message) error {
	job := m.job()
	job.Model, job.Replaces, job.Known, job.Passing = m.text("model"), max(0, m.number("replaces")), m.number("known"), m.Get("passing").Truthy()
	job.Options.Recurrences, job.Options.ROI, job.Options.RaterWeights = m.number("recurrences"), m.text("roi"), floatsOf(m.Get("raterWeights"))
	if m.Get("recurrences").IsUndefined() {
		job.Options.Recurrences = segment.Trained
	}
	given := m.Get("evidence")
	for i := range given.Length() {
		mark := message{given.Index(i)}
		rater, class := mark.text("rater"), mark.text("class")
		if png := mark.Get("png"); png.IsUndefined() {
			job.Options.Evidence = append(job.Options.Evidence, segment.Evidence{Rater: rater, Class: class, Mask: bytesOf(mark.Get("mask"))})
		} else {
			data := bytesOf(js.Global().Get("Uint8Array").New(png))
			job.Marks = append(job.Marks, segment.MarkFile{Rater: rater, Class: class, Name: mark.text("name"), PNG: data})
		}
	}
	job.Show = m.show
	if blob := m.Get("blob"); job.Passing || blob.Truthy() && blob.Get("byteLength").Int() > largeFile {
		// A wasm memory never shrinks, and would grow with the garbage of earlier images.
		debug.SetGCPercent(mostGarbage)
		runtime.GC()
	}
	r, err := h.Segment(job)
	if err != nil {
		return err
	}
	panels, own := []string{}, []float64{}
	for _, p := range r.Model.Metadata.Panels {
		panels, own = append(panels, p.Name), append(own, p.Weight)
	}
	text, err := json.Marshal(map[string]any{
		"type": "result", "request": job.Request, "id": job.Request, "width": r.Width, "height": r.Height,
		"classes": r.Classes, "raters": r.Raters, "noRaters": segment.Headless(&r.Model.Metadata), "labels": r.Labels, "panels": panels, "own": own, "steered": r.Steered, "takesMarks": r.TakesMarks,
		"model": r.Model.Name(), "title": r.Model.Label(), "sha256": r.Model.SHA256, "shipped": r.Model.Shipped,
		"roi":         map[string]any{"x": r.ROI.X, "y": r.ROI.Y, "side": r.ROI.Side, "whole": r.ROI == imageio.Letterbox(r.Width, r.Height)},
		"recurrences": r.Recurrences, "adapter": r.Adapter, "why": r.Why, "precision": r.Precision, "found": r.Found,
		"measurements": r.Measurements, "doubts": append([]segment.Doubt{}, r.Doubts...), "doubt": r.Doubt, "quality": r.Quality, "timings": r.Timings,
		"formats": r.Formats(), "lacks": r.Lacks(), "findsMany": segment.FindsMany(r.Model),
	})
	if err == nil {
		js.Global().Call("postMessage", js.Global().Get("JSON").Call("parse", string(text)))
	}
	return err
}

// showPicture gives the page the picture as decoded here, so that the page shows the pixels on which
// the network computes. No side is longer than longest. A coarse picture has fewer pixels than the
// stage can show.
func (m message) showPicture(kind string, img *imageio.Image, longest int) {
	shown := overlay.Photograph(img.Pix, img.W, img.H, longest)
	rgba := toJS(shown.Values)
	m.reply(kind, map[string]any{"width": img.W, "height": img.H, "drawnWidth": shown.Width, "drawnHeight": shown.Height,
		"pixelsWide": shown.PixelsWide, "pixelsHigh": shown.PixelsHigh, "slice": img.Slice, "slices": img.Slices, "coarse": longest == longestCoarse && max(img.W, img.H) > longest, "rgba": rgba}, rgba)
}

// openWeights answers "weights".
func openWeights(h *page.Host, m message) error {
	w, err := h.OpenWeights(m.text("name"), m.Get("blob").Get("byteLength").Float(), m.file())
	if err == nil {
		m.reply("weights", map[string]any{"name": w.Name(), "title": w.Label()})
	}
	return err
}

// saveFile answers "save". Of format "dicom-sr" the message has eye and person, of "dicom-sc"
// shown, { width, height, rgba }, and of "dicom-pdf", which no list of formats has, the bytes pdf.
func saveFile(h *page.Host, m message) error {
	file := page.File{Format: m.text("format"), Reader: max(0, m.number("reader")), I: m.number("i"), Identity: m.Get("identity").Bool(), Eye: m.text("eye"), Person: m.text("person")}
	file.Classes, file.Drawn = numbersOf(m.Get("classes")), m.drawn()
	if shown := (message{m.Get("shown")}); shown.Truthy() {
		rgba := bytesOf(shown.Get("rgba"))
		file.Shown = imageio.Convert(&image.NRGBA{Pix: rgba, Stride: 4 * shown.number("width"), Rect: image.Rect(0, 0, shown.number("width"), shown.number("height"))})
	}
	if pdf := m.Get("pdf"); pdf.Truthy() {
		file.PDF = bytesOf(pdf)
	}
	data, err := h.Save(m.number("id"), file)
	if err == nil {
		m.replyBytes("save", data)
	}
	return err
}

// drawn are the person's drawings in the message.
func (m message) drawn() (all []page.Drawing) {
	drawn := m.Get("drawn")
	for i := range drawn.Length() {
		one := message{drawn.Index(i)}
		all = append(all, page.Drawing{Class: one.number("class"), Mask: bytesOf(one.Get("mask"))})
	}
	return all
}

// readClinically answers "clinical".
func readClinically(h *page.Host, m message) error {
	known := segment.Known{Eye: m.text("eye")}
	if mm := m.Get("mm"); mm.Type() == js.TypeNumber {
		known.Spacing = &[2]float64{mm.Float(), mm.Float()}
	}
	figures, err := h.Clinical(m.number("id"), known, m.drawn())
	if err != nil {
		return err
	}
	text, err := json.Marshal(figures)
	if err == nil {
		m.reply("clinical", map[string]any{"figures": js.Global().Get("JSON").Call("parse", string(text))})
	}
	return err
}

// showMap answers "map" and "view".
func showMap(h *page.Host, m message) error {
	kept, err := h.Result(m.number("id"))
	if err != nil {
		return err
	}
	wanted := page.Map{Kind: m.text("kind"), Class: m.number("class"), M: m.number("m"), I: m.number("i")}
	kind := m.text("type")
	r, x, y := &kept.Maps, 0, 0
	if kind == "view" {
		r, x, y = r.Within()
	}
	v, err := wanted.Values(r)
	if err != nil {
		return err
	}
	if kind == "map" {
		floats := numbersToJS("Float32Array", v)
		m.reply(kind, map[string]any{"values": floats}, floats)
		return nil
	}
	shown := overlay.NewMap(v, overlay.Window{X: x, Y: y, Width: r.Width, Height: r.Height})
	bytes := toJS(shown.Values)
	points, starts := numbersToJS("Float32Array", shown.Lines.Points), numbersToJS("Uint32Array", shown.Lines.Starts)
	m.reply(kind, map[string]any{"x": shown.X, "y": shown.Y, "width": shown.Width, "height": shown.Height,
		"pixelsWide": shown.PixelsWide, "pixelsHigh": shown.PixelsHigh, "values": bytes, "points": points, "starts": starts,
	}, bytes, points, starts)
	return nil
}
