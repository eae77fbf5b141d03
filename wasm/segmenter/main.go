//go:build js

// Command segmenter is the worker of the page: it decodes images, verifies weights and runs the network, and answers the page's messages
// (site/segmenter.js is the other end). One message is worked on at a time, in order; "cancel" ends the running one.
//
// Messages in, each with a request number that the answer repeats:
//
//	segment  key, blob (ArrayBuffer, or null where the picture of that key was sent before), name, model, recurrences, roi ("auto",
//	         "none" or "x,y,side"), raterWeights (Float32Array or null), wantImage
//	weights  blob, name: a weights file of the user's own; answered with the model's name for "segment"
//	map      id of a result, kind (probability, rater, recurrence, disagreement), m, i, class: the whole map
//	view     the same: what the stage needs of it, within the region
//	png      the same and what (mask, probability): a grey PNG at the photograph's size
//	prepare  model: download, verify and compile it before it is asked for; answered when that is done, or once it is
//	         downloaded when another message comes
//	cancel   request: ends the one of that number, whether it runs or waits; no answer of its own
//
// Messages out: ready, adapter, progress, image, result, weights, prepare, map, view, png, error (code, message, next).
package main

import (
	"context"
	"syscall/js"
)

// inbox is larger than any page's burst of questions; what does not fit is refused, never waited for inside a callback.
const inbox = 1024

func main() {
	messages := make(chan js.Value, inbox)
	s := newSession(func() bool { return len(messages) > 0 })
	js.Global().Set("onmessage", js.FuncOf(func(_ js.Value, args []js.Value) any {
		data := args[0].Get("data")
		if data.Get("type").String() == "cancel" {
			s.interrupt()
			s.cancel(data.Get("request").Int())
			return nil
		}
		select {
		case messages <- data:
			s.interrupt()
		default:
			postError(data, fault{Code: "busy", Message: "Too much is waiting to be computed.", Next: "Wait a moment."})
		}
		return nil
	}))
	s.start(context.Background())
	for message := range messages {
		s.answer(message)
	}
}
