//go:build js

// Command segmenter is the worker of the page. It translates the page's messages (segmenter.js
// is the other end) for internal/page, which decodes images, verifies weights and runs the
// network. One message is worked on at a time, in order; "cancel" ends the running one.
//
// Messages in, each with a request number that the answer repeats:
//
//	segment  key, blob (ArrayBuffer; null where the picture of that key was sent before), name,
//	         model, recurrences (left out: as the model was trained), roi ("auto", "none" or
//	         "x,y,side"), raterWeights (Float32Array or null), evidence (list of { rater, class,
//	         name, mask }; mask is a Uint8Array of a byte a pixel, or png the ArrayBuffer of a PNG),
//	         wantImage, wantThumb, turn (quarter turns clockwise, 0 to 3), replaces (request of an
//	         earlier result that is not needed any more), known (the id of an earlier result of the
//	         same question, which is the answer if it is still kept), passing (nobody will look at
//	         the result: it is kept until the next one of that kind)
//	picture  key, blob, name, turn and wantImage as in segment: decodes the picture before it is
//	         shown; slice of a volume; wantIdentity: the answer has dicom.Header.Identity
//	weights  blob, name: a weights file of the user's own; the answer has the model's name for
//	         "segment"
//	map      id of a result, kind (probability, rater, recurrence, disagreement, others, between, mark), m, i,
//	         class: the whole map
//	view     as map: what the stage needs of the map, within the region
//	save     id of a result, format (a name of package masks), reader (an index of
//	         masks.Readers; left out: the consensus), i (the recurrence of the consensus), classes,
//	         drawn (list of { class, mask }, what a person drew on masks), identity: a file as bytes
//	clinical id of a result, eye ("right", "left" or ""), mm (a pixel; null: as the file says),
//	         drawn (as in save, on the consensus): segment.Clinical with what the user knows
//	repeat   the picture as in segment, model, raterWeights, id of its result: segment.Repeats
//	field    key, blob, name, turn and slice as in segment, model, do (page.Change), numbers (list),
//	         line (Float32Array): finds the objects of a picture, or changes them; "give" takes those
//	         of class, labels (the ArrayBuffer of a labels-png) and objects (JSON) in their place
//	saveField key, name, format (a name of package objects), semicolons: the objects as a file
//	series   do: "open" with name and files (list of { name, blob: Blob }) orders slices, of which
//	         "segment" and "picture" then have part, a file's number from 1; "draw" with index, class
//	         and mask (of drawn in save, or null), "fill" with class, from and to (masks.Between),
//	         "measure", and "save" with format, classes and identity are about the masks of all
//	correct  blob (the PNG of a mask), mask (what a person drew on it), turn (quarter turns before
//	         they drew): the PNG of the corrected mask
//	table    records, the JSON of sheet.Records, semicolons: the bytes of a CSV
//	zip      step (begin, add, end), and for add name and blob: the bytes of a ZIP, as far as it has
//	         grown since the last answer
//	prepare  model: download, verify and compile it before it is asked for. The answer comes when
//	         that is done, and sooner, after the download, if another message waits
//	cancel   request: ends the one of that number, whether it runs or waits; no answer of its own
//	ping     asks for "alive"
//
// Messages out: ready, adapter, progress, image, thumb, result, picture, weights, prepare, map,
// view, field, saveField, series, save, clinical, repeat, correct, table, zip, error (code,
// message, next), and alive: the answer to "ping", sent also in the middle of computations that
// answer nothing.
package main

import (
	"context"
	"syscall/js"
	"time"

	"mrprism/internal/files/codec"
	"mrprism/internal/page"
	"mrprism/shaders/pulse"
)

// inbox is larger than any page's burst of messages. A message that does not fit is refused,
// because a callback must not wait.
const inbox = 1024

// beatEvery is the least time between two messages in which a computation says that it goes on. The
// page replaces a worker that is silent for several seconds.
const beatEvery = 500 * time.Millisecond

func alive() { post(map[string]any{"type": "alive"}) }

func main() {
	pulse.Listen(alive, beatEvery)
	codec.Use(decoders{})
	messages := make(chan message, inbox)
	h := page.New(context.Background(), platform(func() bool { return len(messages) > 0 }))
	receive := js.FuncOf(func(_ js.Value, args []js.Value) any {
		m := message{args[0].Get("data")}
		switch m.text("type") {
		case "cancel":
			h.Cancel(m.number("request"))
			return nil
		case "ping":
			alive()
			return nil
		}
		select {
		case messages <- m:
			h.Interrupt()
		default:
			m.fail(page.Fault{Code: "busy", Message: "Too much is waiting to be computed.", Next: "Wait a moment."})
		}
		return nil
	})
	js.Global().Set("onmessage", receive)
	models := []any{}
	for _, e := range h.Models.Models {
		limits := []any{}
		for _, text := range e.Limits {
			limits = append(limits, text)
		}
		models = append(models, map[string]any{"name": e.Name, "title": e.Title, "bytes": e.Bytes, "own": e.Served, "limits": limits})
	}
	post(described(h.Computer(), map[string]any{"type": "ready", "models": models}))
	for m := range messages {
		answer(h, m)
	}
}
