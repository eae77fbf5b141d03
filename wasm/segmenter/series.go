//go:build js

package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"syscall/js"

	"mrprism/internal/files/series"
	"mrprism/internal/page"
)

// changeSeries answers "series".
func changeSeries(h *page.Host, m message) error {
	do := m.text("do")
	if do == "open" {
		return openSeries(h, m)
	}
	solid, err := h.Solid()
	if err != nil {
		return err
	}
	switch do {
	case "measure":
		added := make([]bool, len(solid.Series.Slices))
		for i := range added {
			added[i] = solid.Added(i)
		}
		return m.replyJSON("series", map[string]any{"volumes": solid.Measure(), "added": added})
	case "draw":
		var mask []uint8
		if v := m.Get("mask"); v.Truthy() {
			mask = bytesOf(v)
		}
		if err = solid.AddMask(m.number("index"), m.number("class"), mask); err == nil {
			m.reply("series", map[string]any{})
		}
	case "fill":
		filled, err := solid.Between(m.number("class"), m.number("from"), m.number("to"))
		if err != nil {
			return page.Fault{Code: "series", Message: err.Error(), Next: "Draw the structure in both slices."}
		}
		masks := make([]any, len(filled))
		for i, one := range filled {
			if one != nil {
				masks[i] = toJS(one)
			}
		}
		m.reply("series", map[string]any{"masks": masks})
	case "save":
		defer debug.SetGCPercent(debug.SetGCPercent(mostGarbage / 4)) // each slice leaves some
		data, err := h.SaveSolid(m.text("format"), numbersOf(m.Get("classes")), m.Get("identity").Truthy())
		if err == nil {
			m.replyBytes("series", data)
		}
		return err
	default:
		err = fmt.Errorf("unknown change %q of a series", do)
	}
	return err
}

// piece is how much of a file is in JavaScript's memory at once, bytes.
const piece = 4 << 20

// openSeries orders files. Blobs are read when their bytes are wanted: browsers keep them outside
// of the page's memory.
func openSeries(h *page.Host, m message) error {
	debug.SetGCPercent(mostGarbage) // what was read for the picture on the stage goes first
	runtime.GC()
	var files []series.File
	list := m.Get("files")
	for i := range list.Length() {
		one := message{list.Index(i)}
		files = append(files, series.File{Name: one.text("name"), Read: func() (data []byte, err error) {
			defer func() {
				if recover() != nil { // js.Error: the file is gone
					err = page.Fault{Code: "image", Message: one.text("name") + " could not be read.", Next: "Open it again."}
				}
			}()
			blob, reader := one.Get("blob"), js.Global().Get("FileReaderSync").New()
			data = make([]byte, blob.Get("size").Int())
			for at := 0; at < len(data); at += piece {
				part := reader.Call("readAsArrayBuffer", blob.Call("slice", at, at+piece))
				js.CopyBytesToGo(data[at:], js.Global().Get("Uint8Array").New(part))
			}
			return data, nil
		}})
	}
	s, err := h.OpenSeries(m.text("name"), files)
	if err != nil {
		return err
	}
	slices := []any{}
	for _, one := range s.Slices {
		slices = append(slices, map[string]any{"part": one.File, "slice": one.Number, "position": one.Position})
	}
	return m.replyJSON("series", map[string]any{"slices": slices, "step": s.Step, "gaps": append([]string{}, s.Gaps...)})
}

func numbersOf(list js.Value) (all []int) {
	for i := range list.Length() {
		all = append(all, list.Index(i).Int())
	}
	return all
}

// replyJSON answers with what the JSON of fields says.
func (m message) replyJSON(kind string, fields map[string]any) error {
	text, err := json.Marshal(fields)
	if err == nil {
		m.reply(kind, map[string]any{"said": js.Global().Get("JSON").Call("parse", string(text))})
	}
	return err
}
