package site

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"math"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawing is a page in which masks are drawn. It speaks of pixels of the photograph.
type drawing struct{ *page }

// screen is a point of the photograph on the screen. A message moves the stage.
func (d drawing) screen(p [2]float64) [2]float64 {
	x, y, k := d.middle()
	return [2]float64{x + (p[0]-1044)*k, y + (p[1]-576)*k}
}

// click presses points of the photograph one after the other.
func (d drawing) clicks(points ...[2]float64) {
	d.t.Helper()
	for _, p := range points {
		d.drag(d.screen(p))
	}
}

// mask is the saved mask of the disc: which pixels of 1536 × 1152 are inside.
func (d drawing) mask() []bool {
	d.t.Helper()
	d.do(`delete saved["sample_disc_mask.png"], delete saved["sample_disc_mask_corrected.png"], document.querySelector("[aria-label='Mask PNG of disc']").click()`)
	const file = `(saved["sample_disc_mask.png"] ?? saved["sample_disc_mask_corrected.png"])`
	d.until(file)
	data, err := base64.StdEncoding.DecodeString(get[string](d.page, `blobs[`+file+`].arrayBuffer().then((all) => new Uint8Array(all).toBase64?.() ?? btoa([...new Uint8Array(all)].map((one) => String.fromCharCode(one)).join("")))`))
	require.NoError(d.t, err)
	picture, err := png.Decode(bytes.NewReader(data))
	require.NoError(d.t, err)
	mask := make([]bool, 1536*1152)
	for i := range mask {
		r, _, _, _ := picture.At(i%1536, i/1536).RGBA()
		mask[i] = r > 0x8000
	}
	return mask
}

// nearest is how far a point is from a line.
func nearest(line []float64, x, y float64) float64 {
	least := math.Inf(1)
	for i := range len(line)/2 - 1 {
		a, b := line[2*i:], line[2*i+2:]
		dx, dy := b[0]-a[0], b[1]-a[1]
		share := min(1, max(0, ((x-a[0])*dx+(y-a[1])*dy)/(dx*dx+dy*dy)))
		least = min(least, math.Hypot(x-a[0]-share*dx, y-a[1]-share*dy))
	}
	return least
}

// unlike counts the pixels in which a mask is not as wanted, by the pixels' middles.
func unlike(mask []bool, wanted func(x, y float64) bool) int {
	n := 0
	for i, inside := range mask {
		if inside != wanted(float64(i%1536)+0.5, float64(i/1536)+0.5) {
			n++
		}
	}
	return n
}

// A person outlines the disc anew with each tool. The mask is then what was drawn, and undo gives
// the one before, pixel by pixel.
func TestDrawingAnew(t *testing.T) {
	t.Parallel()
	p := correcting(t, "levels", 1440, 900)
	d := drawing{p}
	first := d.mask()
	p.do(`import("./canvas2d.js").then(({ Lines: { prototype } }) => { // notes the outline of the disc
		const { contours } = prototype;
		prototype.contours = function (list) { globalThis.outline = [...list[0]?.points ?? []]; contours.call(this, list); };
		document.getElementById("contour").click(), document.getElementById("contour").click();
	})`)
	p.until(`globalThis.outline?.length`)
	plain := get[[]float64](p, `outline`)
	undone := func() {
		t.Helper()
		p.control("z", false)
		p.until(`document.getElementById("status").textContent === "Undone."`)
		require.Equal(t, first, d.mask())
	}

	p.tool("polygon")
	d.clicks([2]float64{1000, 500}, [2]float64{1120, 520}, [2]float64{1400, 1000})
	p.press("Backspace", false)
	assert.Equal(t, "2 points", p.text("status"))
	d.clicks([2]float64{1090, 640})
	p.drag(d.screen([2]float64{980, 600}), d.screen([2]float64{990, 610}), d.screen([2]float64{1000, 620})) // a corner is where it is let go
	d.clicks([2]float64{1000, 500})                                                                         // the first one closes
	p.until(`!document.getElementById("correct-line").hidden`)
	sides := [][4]float64{{1000, 500, 1120, 520}, {1120, 520, 1090, 640}, {1090, 640, 1000, 620}, {1000, 620, 1000, 500}}
	assert.Less(t, unlike(d.mask(), func(x, y float64) bool {
		for _, s := range sides { // clockwise, and no corner points inwards
			if (s[2]-s[0])*(y-s[1])-(s[3]-s[1])*(x-s[0]) < 0 {
				return false
			}
		}
		return true
	}), 240, "half a CSS pixel around")
	undone()

	p.tool("ellipse")
	on := func(angle float64) [2]float64 { // an ellipse of 80 × 50 around 1050, 580, half a radian turned
		u, v, cos, sin := 80*math.Cos(angle), 50*math.Sin(angle), math.Cos(0.5), math.Sin(0.5)
		return [2]float64{1050 + u*cos - v*sin, 580 + u*sin + v*cos}
	}
	d.clicks(on(0), on(1.2), on(2.5), on(3.8), [2]float64{1050, 580})
	p.until(`document.getElementById("banner-message").textContent === "The five points lie on no ellipse."`)
	p.drag(d.screen([2]float64{1050, 580}), d.screen([2]float64{1050, 560}), d.screen(on(5.1))) // the points are still there
	p.until(`document.getElementById("banner").hidden && !document.getElementById("correct-line").hidden`)
	assert.Less(t, unlike(d.mask(), func(x, y float64) bool {
		u, v := (x-1050)*math.Cos(0.5)+(y-580)*math.Sin(0.5), (y-580)*math.Cos(0.5)-(x-1050)*math.Sin(0.5)
		return u*u/(80*80)+v*v/(50*50) < 1
	}), 410, "a CSS pixel around")
	undone()

	p.tool("brush")
	from, to, radius := [2]float64{1040, 576}, [2]float64{1240, 636}, get[float64](p, `parseInt(document.getElementById("correct-size-value").textContent)`)/2
	beside := func(x, y float64) (along, off float64) { // of the line, in its lengths and in pixels
		dx, dy := to[0]-from[0], to[1]-from[1]
		return ((x-from[0])*dx + (y-from[1])*dy) / (dx*dx + dy*dy), ((y-from[1])*dx - (x-from[0])*dy) / math.Hypot(dx, dy)
	}
	p.drag(d.screen(from), d.screen(to))
	p.until(`!document.getElementById("correct-line").hidden`)
	for i, inside := range d.mask() {
		along, off := beside(float64(i%1536)+0.5, float64(i/1536)+0.5)
		end := math.Max(0, math.Abs(along-0.5)-0.5) * math.Hypot(to[0]-from[0], to[1]-from[1])
		switch away := math.Hypot(off, end) - radius; {
		case away > 1:
			require.Equal(t, first[i], inside, "an untouched pixel, %d %d", i%1536, i/1536)
		case away < -1:
			require.True(t, inside, "%d %d", i%1536, i/1536)
		}
	}
	line, flank, away := get[[]float64](p, `outline`), []float64{}, 0.
	for i := 0; i < len(line); i += 2 {
		if along, off := beside(line[i], line[i+1]); along > 0.65 && along < 0.9 && off > 0 {
			flank = append(flank, off)
		} else if along < 0 {
			away = math.Max(away, nearest(plain, line[i], line[i+1]))
		}
	}
	require.Greater(t, len(flank), 40)
	assert.Less(t, slices.Max(flank)-slices.Min(flank), 0.35, "stairs of a pixel would be 0.9")
	assert.Less(t, away, 0.1, "what is not drawn keeps its line")
	undone()

	wide := func(pressure float64) (n int) { // of a pen's line
		t.Helper()
		for i, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMouseReleased} {
			at := d.screen([2]float64{1200 + 40*float64(min(i, 1)), 700})
			p.run(command(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at[0], Y: at[1], Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1, PointerType: "pen", Force: pressure}))
		}
		p.until(`!document.getElementById("correct-line").hidden`)
		mask := d.mask()
		for y := range 1152 {
			if mask[1536*y+1220] {
				n++
			}
		}
		undone()
		return n
	}
	assert.InDelta(t, radius, wide(0.25), 1)
	assert.InDelta(t, 3*radius, wide(0.75), 1)
	p.clean()
}
