package site

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gripping chooses the handles, and notes what the pen shows.
func (d drawing) gripping() {
	d.t.Helper()
	d.do(`import("./canvas2d.js").then(({ Lines: { prototype } }) => {
		const { cursor } = prototype;
		prototype.cursor = function (pen) { globalThis.penShown = pen; cursor.call(this, pen); };
	})`)
	d.tool("handles")
	d.until(`globalThis.penShown?.points.length >= 5`)
}

// handles are the handles along the outline, pixels of the photograph.
func (d drawing) handles() [][2]float64 {
	d.t.Helper()
	return get[[][2]float64](d.page, `penShown.points.map(([x, y]) => [x, y])`)
}

// held presses a key, does something and lets go of the key.
func (p *page) held(key string, act func()) {
	p.t.Helper()
	p.run(command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: key}))
	act()
	p.run(command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: key}))
}

func apart(a, b [2]float64) float64 { return math.Hypot(a[0]-b[0], a[1]-b[1]) }

// outwards is a point as far from the mock's disc as another one, and by so many pixels further.
func outwards(p [2]float64, by float64) [2]float64 {
	middle := [2]float64{1044, 576}
	k := 1 + by/apart(p, middle)
	return [2]float64{middle[0] + k*(p[0]-middle[0]), middle[1] + k*(p[1]-middle[1])}
}

// between counts pixels that differ between two masks, and requires that all lie between the rays
// from the mock's middle to two points, clockwise.
func (d drawing) between(before, after []bool, from, to [2]float64) (n int) {
	d.t.Helper()
	angle := func(x, y float64) float64 { return math.Atan2(y-576, x-1044) }
	first, wide := angle(from[0], from[1]), math.Mod(angle(to[0], to[1])-angle(from[0], from[1])+4*math.Pi, 2*math.Pi)
	for i := range before {
		if before[i] == after[i] {
			continue
		}
		n++
		x, y := float64(i%1536)+0.5, float64(i/1536)+0.5
		off := math.Mod(angle(x, y)-first+4*math.Pi, 2*math.Pi)
		require.True(d.t, off <= wide+0.01 || off >= 2*math.Pi-0.01, "pixel %v %v is beyond the neighbours", x, y)
	}
	return n
}

// A person drags, adds and deletes handles by mouse and by keys. The outline follows up to the next
// handles, no other pixel changes, and each step is undone to the pixel.
func TestDraggingHandles(t *testing.T) {
	t.Parallel()
	p := correcting(t, "levels", 1440, 900)
	d := drawing{p}
	first := d.mask()
	d.gripping()
	few := len(d.handles())
	d.do(`document.getElementById("stage").focus()`)
	for range 5 {
		p.press("+", false)
	}
	p.until(`penShown.points.length > 1.4 * ` + strconv.Itoa(few))
	p.click("zoom-region")
	p.until(`penShown.points.length < 1.4 * ` + strconv.Itoa(few))
	all := d.handles()
	n := len(all)
	assert.InDelta(t, 12, n, 6, "few handles: %v", all)
	undone := func() {
		t.Helper()
		p.control("z", false)
		p.until(`document.getElementById("status").textContent === "Undone."`)
		require.Equal(t, first, d.mask())
		require.Equal(t, all, d.handles(), "the handles of before")
	}

	d.clicks(all[2])
	assert.Equal(t, "Handle 3 of "+strconv.Itoa(n), p.text("status"))
	require.Equal(t, first, d.mask(), "a press alone moves nothing")
	to := outwards(all[2], 25)
	p.drag(d.screen(all[2]), d.screen(outwards(all[2], 10)), d.screen(to))
	p.until(`!document.getElementById("correct-line").hidden`)
	mask := d.mask()
	assert.Greater(t, d.between(first, mask, all[1], all[3]), 300)
	now := d.handles()
	require.Len(t, now, n)
	for i, at := range now {
		if i == 2 {
			assert.Less(t, apart(at, to), 1.5, "the handle is where it was let go")
		} else {
			assert.Less(t, apart(at, all[i]), 0.2, "another handle stays")
		}
	}
	undone()

	half := [2]float64{(all[4][0] + all[5][0]) / 2, (all[4][1] + all[5][1]) / 2}
	d.clicks(half)
	p.until(`penShown.points.length === ` + strconv.Itoa(n+1))
	added := d.handles()[5]
	assert.Less(t, apart(half, added), 6., "a click on the outline adds a handle there")
	p.press("Delete", false)
	p.until(`document.getElementById("status").textContent === "The handle is deleted." && penShown.points.length === ` + strconv.Itoa(n))
	require.Equal(t, first, d.mask(), "added and deleted: nothing has changed")
	p.drag(d.screen(half), d.screen(outwards(half, -12))) // adds and drags at once
	p.until(`!document.getElementById("correct-line").hidden`)
	assert.Greater(t, d.between(first, d.mask(), all[4], all[5]), 60)
	assert.Len(t, d.handles(), n+1)
	undone()

	d.clicks(all[7])
	p.press("Backspace", false)
	p.until(`!document.getElementById("correct-line").hidden`)
	mask = d.mask()
	assert.Greater(t, d.between(first, mask, all[6], all[8%n]), 30)
	for i := range mask {
		require.True(t, first[i] || !mask[i], "a line between two points of a disc's border is inside")
	}
	assert.Equal(t, slices.Delete(slices.Clone(all), 7, 8), d.handles())
	undone()

	p.press(".", false)
	p.press(",", false)
	p.press(".", false)
	p.until(`document.getElementById("status").textContent.startsWith("Handle ")`)
	k := get[int](p, `penShown.chosen`)
	p.held(" ", func() {
		for range 3 {
			p.press("ArrowDown", true)
		}
	})
	p.until(`!document.getElementById("correct-line").hidden`)
	assert.Greater(t, d.between(first, d.mask(), all[(k+n-1)%n], all[(k+1)%n]), 50)
	undone()
	p.click("correct-drop")
	assert.Equal(t, "Press a handle first.", p.text("status"))
	p.clean()
}

// Fingers tap the corners of a polygon and five points of an ellipse, drag a handle, add one by a
// tap and delete one by a long press. A second finger takes a drag back.
func TestFiguresAndHandlesByTouch(t *testing.T) {
	t.Parallel()
	p := correcting(t, "levels", 390, 844)
	p.run(command(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}))
	d := drawing{p}
	first := d.mask()
	taps := func(points ...[2]float64) {
		t.Helper()
		for _, at := range points {
			p.fingers(input.DispatchTouchEventTypeTouchStart, d.screen(at))
			p.fingers(input.DispatchTouchEventTypeTouchEnd)
		}
	}
	undone := func() {
		t.Helper()
		p.until(`!document.getElementById("correct-line").hidden`)
		p.tap("#correct-undo")
		p.until(`document.getElementById("correct-line").hidden`)
		require.Equal(t, first, d.mask())
	}

	p.tool("polygon")
	corners := [][2]float64{{980, 500}, {1120, 500}, {1120, 640}, {980, 640}}
	taps(corners...)
	assert.Equal(t, "4 points", p.text("status"))
	p.tap("#correct-back")
	assert.Equal(t, "3 points", p.text("status"))
	taps(corners[3], outwards(corners[0], 8)) // a finger that hits a corner roughly closes by it
	p.until(`!document.getElementById("correct-line").hidden`)
	pixel := 1 / get[float64](p, `seen[0]`)
	square := func(x, y float64) bool { return x > 980 && x < 1120 && y > 500 && y < 640 }
	assert.Less(t, float64(unlike(d.mask(), square)), 4*140*pixel, "a CSS pixel around")
	undone()

	p.tool("ellipse")
	on := func(angle float64) [2]float64 { return [2]float64{1050 + 80*math.Cos(angle), 580 + 50*math.Sin(angle)} }
	taps(on(0), on(1.2), on(2.5), on(3.8), on(5.1))
	p.until(`!document.getElementById("correct-line").hidden`)
	assert.Less(t, float64(unlike(d.mask(), func(x, y float64) bool { return math.Hypot((x-1050)/80, (y-580)/50) < 1 })), 2*410*pixel, "about a CSS pixel around")
	undone()

	d.gripping()
	all := d.handles()
	n, to := len(all), outwards(all[1], 20)
	drag := func() {
		p.fingers(input.DispatchTouchEventTypeTouchStart, d.screen(outwards(all[1], 8)))
		for _, by := range []float64{14, 20, 28} {
			p.fingers(input.DispatchTouchEventTypeTouchMove, d.screen(outwards(all[1], by)))
		}
	}
	drag()
	p.until(`!document.getElementById("correct-line").hidden`) // it is shown before it is let go
	p.fingers(input.DispatchTouchEventTypeTouchEnd)
	assert.Greater(t, d.between(first, d.mask(), all[0], all[2]), 200)
	assert.True(t, slices.ContainsFunc(d.handles(), func(at [2]float64) bool { return apart(at, to) < 2.5 }), "the finger need not hit the handle")
	undone()
	drag()
	p.until(`!document.getElementById("correct-line").hidden`)
	p.fingers(input.DispatchTouchEventTypeTouchStart, d.screen(outwards(all[1], 28)), d.screen([2]float64{1044, 576}))
	p.fingers(input.DispatchTouchEventTypeTouchEnd)
	p.until(`document.getElementById("correct-line").hidden`)
	require.Equal(t, first, d.mask())
	require.Equal(t, all, d.handles())

	half := [2]float64{(all[1][0] + all[2][0]) / 2, (all[1][1] + all[2][1]) / 2}
	taps(half) // between two handles that are both within reach
	p.until(`penShown.points.length === ` + strconv.Itoa(n+1))
	p.fingers(input.DispatchTouchEventTypeTouchStart, d.screen(all[1]))
	p.until(`document.getElementById("status").textContent === "The handle is deleted."`)
	p.fingers(input.DispatchTouchEventTypeTouchMove, d.screen(to))
	p.fingers(input.DispatchTouchEventTypeTouchEnd)
	p.until(`!document.getElementById("correct-line").hidden`)
	assert.Len(t, d.handles(), n)
	assert.Positive(t, d.between(first, d.mask(), all[0], all[2]))
	undone()
	p.clean()
}
