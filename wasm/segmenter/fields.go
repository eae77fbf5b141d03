//go:build js

package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"syscall/js"

	"mrprism/internal/data/instances"
	"mrprism/internal/page"
)

// changeField answers "field".
func changeField(h *page.Host, m message) error {
	job := m.job()
	job.Model = m.text("model")
	c := page.Change{Do: m.text("do")}
	for _, v := range floatsOf(m.Get("line")) {
		c.Line = append(c.Line, float64(v))
	}
	if numbers := m.Get("numbers"); numbers.Truthy() {
		for i := range numbers.Length() {
			c.Numbers = append(c.Numbers, uint16(numbers.Index(i).Int()))
		}
	}
	if c.Do == "give" {
		c.Given.Class, c.Given.Labels = m.text("class"), bytesOf(js.Global().Get("Uint8Array").New(m.Get("labels")))
		if err := json.Unmarshal([]byte(m.text("objects")), &c.Given.Objects); err != nil {
			return err
		}
	}
	if c.Do == "find" {
		debug.SetGCPercent(mostGarbage)
		runtime.GC()
	}
	f, err := h.Field(job, c)
	if err != nil {
		return err
	}
	return m.replyField(f)
}

// replyField sends the objects, and their outlines, of which the object of line i is of[i].
func (m message) replyField(f *instances.History) error {
	text, err := json.Marshal(append([]instances.Object{}, f.Objects...))
	if err != nil {
		return err
	}
	var points []float32
	var starts, of []uint32
	for _, o := range f.Objects {
		lines := f.Outline(o.Number)
		for _, start := range lines.Starts {
			starts, of = append(starts, start+uint32(len(points)/2)), append(of, uint32(o.Number))
		}
		points = append(points, lines.Points...)
	}
	undo, redo := f.Steps()
	p, s, n := numbersToJS("Float32Array", points), numbersToJS("Uint32Array", starts), numbersToJS("Uint32Array", of)
	m.reply("field", map[string]any{
		"width": f.Width, "height": f.Height, "class": f.Class, "objects": js.Global().Get("JSON").Call("parse", string(text)),
		"points": p, "starts": s, "of": n, "undo": undo, "redo": redo,
	}, p, s, n)
	return nil
}

// saveField answers "saveField".
func saveField(h *page.Host, m message) error {
	data, err := h.SaveField(m.number("key"), m.text("name"), m.text("format"), m.Get("semicolons").Truthy())
	if err == nil {
		m.replyBytes("saveField", data)
	}
	return err
}
