package site

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// While the maps of a new result are on their way, the page shows table, legend, contours and
// region of the old one.
func TestOneResultAtATime(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.drop("large.jpg", readBuilt(t, "sample.jpg"))
	p.until(sampleDone)
	p.do(`(async () => {
		const { Lines: { prototype } } = await import("./canvas2d.js"), { region } = prototype, text = (id) => document.getElementById(id).textContent;
		let square = true;
		prototype.region = function (...a) { square = a.length > 0; region.apply(this, a); };
		globalThis.mixed = [];
		const look = () => {
			const about = text("about-list").includes("Newborn"), save = text("save-masks").includes("Brain");
			if (about !== text("legend").includes("Brain") || about !== save || about !== (document.querySelectorAll("#rater-list li").length === 7)) mixed.push("model");
			if (square === text("region-line").startsWith("The whole")) mixed.push("region");
			requestAnimationFrame(look);
		};
		look();
	})()`)
	p.click("region-none")
	p.until(computing)
	p.until(sampleDone)
	p.choose("raters")
	p.until(computing)
	p.slide("#recurrence", 1) // chosen meanwhile, and waited for too
	p.until(sampleDone)
	assert.Contains(t, get[string](p, `document.getElementById("legend").textContent`), "Brain, consensus (Rec1)")
	assert.Empty(t, get[[]string](p, `mixed`))
	p.clean()
}

// If the worker dies before a result is shown, the page asks once more. If it dies again, the
// result before stays, with its measurements and contours.
func TestResultThatCannotBeShown(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.raters("photo.jpg")
	p.drawing()
	p.do(`(() => {
		const plain = Worker.prototype.postMessage;
		globalThis.dying = 0;
		Worker.prototype.postMessage = function (message, transfer) {
			if (message.type === "view" && dying > 0) { dying--; this.onmessage({ data: { type: "crashed", message: "as asked" } }); } else plain.call(this, message, transfer);
		};
	})()`)
	p.do(`dying = 1, document.getElementById("region-none").click()`)
	p.until(`dying === 0 && document.getElementById("region-line").textContent === "The whole image" && ` + sampleDone + ` && globalThis.drawn.length === 1`)
	assert.True(t, get[bool](p, `document.getElementById("banner").hidden`))

	p.do(`dying = 2, document.getElementById("region-auto").click()`)
	p.until(`dying === 0 && document.getElementById("banner").innerText.includes("started again")`)
	assert.Equal(t, "The whole image", get[string](p, `document.getElementById("region-line").textContent`))
	assert.Equal(t, 1, get[int](p, `drawn.length`))
	assert.False(t, get[bool](p, `document.getElementById("legend").hidden`))
	p.click("region-auto")
	p.until(sampleDone + ` && document.getElementById("region-line").textContent.includes("found") && document.getElementById("banner").hidden`)
	p.clean()
}

// The sample or weights that arrive after a later choice are not used in its place, and a result
// that finds nothing leaves the square that is being placed.
func TestWhatArrivesLate(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 1200, 800)
	p.ready()
	p.do(`(() => {
		const plain = { fetch: fetch.bind(window), bytes: Blob.prototype.arrayBuffer }, released = new Promise((go) => { globalThis.release = go; });
		globalThis.fetch = async (...a) => { await released; return plain.fetch(...a); };
		Blob.prototype.arrayBuffer = async function () { if (this.name === "own.safetensors") await released; return plain.bytes.call(this); };
		const files = new DataTransfer(), input = document.getElementById("weights");
		files.items.add(new File(["weights"], "own.safetensors"));
		input.files = files.files;
		input.dispatchEvent(new Event("change"));
		document.querySelector("[data-action=sample]").click();
	})()`)
	p.choose("raters")
	p.drop("slow-nodisc.jpg", readBuilt(t, "sample.jpg"))
	p.until(segmenting)
	p.do(`release()`)
	p.click("place")
	p.slide("#region-x", 17)
	p.until(`document.getElementById("doubt-title").checkVisibility() && document.getElementById("progress").hidden`)
	assert.Equal(t, 17, get[int](p, `document.getElementById("region-x").valueAsNumber`))
	p.click("place-apply")
	p.until(found)
	assert.Contains(t, get[string](p, `document.getElementById("file-line").textContent`), "slow-nodisc.jpg")
	assert.Equal(t, "raters", get[string](p, `document.getElementById("model").value`))
	assert.Contains(t, get[string](p, `document.getElementById("model").textContent`), "own.safetensors", "it can be chosen")

	// A pasted picture has no name of its own. A job that ends while Cancel has the focus passes
	// the focus to the stage.
	p.do(`(async () => {
		const data = new DataTransfer();
		data.items.add(new File([await (await fetch("sample.jpg")).arrayBuffer()], "image.png"));
		dispatchEvent(new ClipboardEvent("paste", { clipboardData: data }));
		document.getElementById("cancel").focus();
	})()`)
	p.until(`document.getElementById("file-line").textContent.startsWith("pasted-") && ` + sampleDone)
	assert.Regexp(t, `^pasted-`+time.Now().Format("2006-01-02")+`-\d{6}\.png · `, get[string](p, `document.getElementById("file-line").textContent`))
	assert.Equal(t, "stage", get[string](p, `document.activeElement.id`))
	p.clean()
}
