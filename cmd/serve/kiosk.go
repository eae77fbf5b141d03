package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	devbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"mrprism/shaders/gpu/chromium"
)

// kiosk keeps a browser open at an address, full-screen.
type kiosk struct {
	browser string
	flags   []chromedp.ExecAllocatorOption // what trust adds
	address func() string                  // asked before each start
	cookie  *http.Cookie                   // of private
	folder  string                         // for the profile and what people save
	left    chan struct{}                  // receives when the page has been idle
	log     io.Writer
	wait    func(ctx context.Context, d time.Duration) // until a new start
}

// screen is the kiosk of the options, or nil without -kiosk.
func (o *options) screen(log io.Writer) (*kiosk, error) {
	if !o.kiosk {
		return nil, nil
	}
	browser, err := chromium.Find()
	if err != nil {
		return nil, fmt.Errorf("-kiosk: %w; %s=PROGRAM names another browser of its kind", err, chromium.Variable)
	}
	return &kiosk{browser: browser, left: make(chan struct{}, 1), log: log, wait: sleep}, nil
}

// flagOf is a flag of Chrome, such as --name or --name=value.
func flagOf(text string) chromedp.ExecAllocatorOption {
	if name, value, has := strings.Cut(strings.TrimPrefix(text, "--"), "="); has {
		return chromedp.Flag(name, value)
	} else {
		return chromedp.Flag(name, true)
	}
}

// trust makes the browser accept a certificate that no known authority signed.
func (k *kiosk) trust(pair *tls.Certificate) {
	if k != nil {
		k.flags = append(k.flags, chromedp.Flag("ignore-certificate-errors-spki-list", keyHash(pair)))
	}
}

// ServeHTTP answers the page's request for a new session, after nobody has touched it for a while.
func (k *kiosk) ServeHTTP(out http.ResponseWriter, _ *http.Request) {
	select {
	case k.left <- struct{}{}:
	default: // it has been requested already
	}
	out.WriteHeader(http.StatusNoContent)
}

// show runs the browser until ctx ends. The channel is closed when the browser has ended, or at
// once without a kiosk.
func (k *kiosk) show(ctx context.Context) (closed chan struct{}) {
	closed = make(chan struct{})
	go func() {
		defer close(closed)
		if k != nil {
			k.run(ctx)
		}
	}()
	return closed
}

const (
	shortest = time.Second      // from the end of a browser to its next start
	longest  = 30 * time.Second // the same, after several that ended at once
	starting = 30 * time.Second // for a browser that runs, until it shows the page
	settled  = time.Minute      // a browser that ran this long started well
)

// errIdle ends a session whose page was idle.
var errIdle = errors.New("nobody touched the page")

// run starts the browser, and starts it again when it ends, until ctx ends. Each start has a fresh
// profile, so that nothing of one session remains in the next.
func (k *kiosk) run(ctx context.Context) {
	pause := shortest
	for address := k.address(); ; {
		began := time.Now()
		err := k.session(ctx, address)
		if ctx.Err() != nil {
			return
		}
		address = k.address()
		if errors.Is(err, errIdle) {
			continue
		}
		if time.Since(began) >= settled {
			pause = shortest
		}
		fmt.Fprintf(k.log, "the browser ended: %.500q; starting it again in %v\n", err.Error(), pause)
		k.wait(ctx, pause)
		if ctx.Err() != nil {
			return
		}
		pause = min(2*pause, longest)
	}
}

// session runs the browser once, in a profile that it removes. The browser gets its commands
// through a pipe, which no other program reads. It ends with serve, which closes the pipe.
func (k *kiosk) session(ctx context.Context, address string) (err error) {
	profile, err := os.MkdirTemp(k.folder, "profile-")
	if err != nil {
		return err
	}
	saved := filepath.Join(k.folder, "saved")
	if err := os.MkdirAll(saved, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove(profile), remove(saved)) }()
	select { // discard the request of an earlier session
	case <-k.left:
	default:
	}
	ctx, end := chromedp.NewExecAllocator(ctx, k.options(profile)...)
	defer end()
	ctx, stop := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	defer stop()                                     // kills the browser
	if _, err := chromedp.Targets(ctx); err != nil { // starts the browser
		return err
	}
	chrome := chromedp.FromContext(ctx).Browser
	crashed, unsubscribe := chrome.Subscribe(target.TargetCrashed.Method)
	defer unsubscribe()
	if err := k.open(ctx, chrome, address, saved); err != nil {
		return err
	}
	select {
	case <-k.left:
		return errIdle
	case <-crashed:
		return errors.New("the page crashed")
	case <-chrome.LostConnection:
		return errors.New("it was closed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open shows the page in place of the empty one with which Chrome starts.
func (k *kiosk) open(ctx context.Context, chrome cdp.Session, address, saved string) error {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	if _, err := cdp.Call(ctx, chrome, target.SetDiscoverTargets, target.SetDiscoverTargetsParams{Discover: true}); err != nil {
		return err
	}
	cookie := &network.CookieParam{Name: k.cookie.Name, Value: k.cookie.Value, URL: address, Path: k.cookie.Path,
		HTTPOnly: true, SameSite: network.CookieSameSiteStrict, Secure: k.cookie.Secure}
	if _, err := cdp.Call(ctx, chrome, storage.SetCookies, storage.SetCookiesParams{Cookies: []*network.CookieParam{cookie}}); err != nil {
		return err
	}
	if _, err := cdp.Call(ctx, chrome, devbrowser.SetDownloadBehavior, devbrowser.SetDownloadBehaviorParams{Behavior: devbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: saved}); err != nil {
		return err
	}
	page, err := cdp.Call(ctx, chrome, target.CreateTarget, target.CreateTargetParams{URL: address})
	if err != nil {
		return err
	}
	for {
		all, err := cdp.Call(ctx, chrome, target.GetTargets, target.GetTargetsParams{})
		if err != nil {
			return err
		}
		for _, t := range all.TargetInfos {
			if t.Type == "page" && t.TargetID != page.TargetID {
				_, err := cdp.Call(ctx, chrome, target.CloseTarget, target.CloseTargetParams{TargetID: t.TargetID})
				return err
			}
		}
		sleep(ctx, 50*time.Millisecond) // the first page comes soon
	}
}

// options are the browser's flags. Chrome shows no questions and reports nothing. Crash dumps
// contain images: no flag prevents all of them, and so they are written into the profile. On Linux
// Chrome computes on the graphics card.
func (k *kiosk) options(profile string) []chromedp.ExecAllocatorOption {
	all := []chromedp.ExecAllocatorOption{chromedp.ExecPath(k.browser), chromedp.Env("BREAKPAD_DUMP_LOCATION=" + filepath.Join(profile, "crashes"))}
	for text := range strings.FieldsSeq("--kiosk --no-first-run --no-default-browser-check --noerrdialogs " +
		"--disable-session-crashed-bubble --disable-features=Translate --overscroll-history-navigation=0 " +
		"--disable-breakpad --disable-crash-reporter --disable-background-networking --disable-component-update --disable-sync --password-store=basic") {
		all = append(all, flagOf(text))
	}
	if runtime.GOOS == "linux" {
		all = append(all, chromedp.Flag("enable-unsafe-webgpu", true), chromedp.Flag("enable-features", "Vulkan"))
	}
	all = append(all, chromedp.Flag("no-sandbox", false)) // chromedp omits the sandbox for root
	return append(append(all, k.flags...), chromedp.UserDataDir(profile))
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
