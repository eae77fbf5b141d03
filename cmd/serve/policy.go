package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"mrprism/internal/program/cli"
)

// policies keep the kiosk's Chrome at an address. Chrome reads policies only from a folder of root,
// for all its users; no command-line flag does the same.
func policies(address string) map[string]any {
	off, blocked := false, 2
	return map[string]any{
		"URLBlocklist": []any{"*"}, // file: too
		"URLAllowlist": []any{strings.TrimSuffix(address, "/")},

		"DeveloperToolsAvailability": blocked, "ExtensionInstallBlocklist": []any{"*"},
		"IncognitoModeAvailability": 1, "BrowserGuestModeEnabled": off, "BrowserAddPersonEnabled": off, "NewTabPageLocation": "about:blank",
		"PrinterTypeDenyList": []any{"pdf"}, // it would write files anywhere

		// Nothing is kept and nothing sent.
		"BrowserSignin": 0, "SyncDisabled": true, "PasswordManagerEnabled": off, "AutofillAddressEnabled": off, "AutofillCreditCardEnabled": off,
		"MetricsReportingEnabled": off, "SearchSuggestEnabled": off, "DefaultSearchProviderEnabled": off, "SafeBrowsingProtectionLevel": 0,
		"NetworkPredictionOptions": 2, "ComponentUpdatesEnabled": off, "TranslateEnabled": off, "EnableMediaRouter": off, "BackgroundModeEnabled": off,
		"AudioCaptureAllowed": off, "VideoCaptureAllowed": off, "ScreenCaptureAllowed": off, "DefaultGeolocationSetting": blocked, "DefaultNotificationsSetting": blocked,
	}
}

// managed prints the policies for the page at the address of the options.
func (o *options) managed(stdout io.Writer) error {
	at, err := net.ResolveTCPAddr("tcp", o.addr)
	if err != nil || at.Port == 0 {
		return cli.Wrong("-kiosk-policy is for a fixed address: give one with -addr, such as 127.0.0.1:8080, not %q", o.addr)
	}
	scheme := "http"
	if o.tls != "" {
		scheme = "https"
	}
	_, err = io.WriteString(stdout, policyText(scheme+"://"+reachable(at)+"/"))
	return err
}

// policyText is the file of policies for an address.
func policyText(address string) string {
	text, _ := json.MarshalIndent(policies(address), "", "\t") // cannot fail
	return string(text) + "\n"
}

// policyFolder is where a browser looks for policies on Linux. It is empty on other systems.
func policyFolder(browser string) string {
	if runtime.GOOS != "linux" {
		return ""
	}
	if strings.Contains(filepath.Base(browser), "chrome") {
		return "/etc/opt/chrome/policies/managed"
	}
	return "/etc/chromium/policies/managed"
}

// unmanaged lists the policies for an address that a folder lacks.
func unmanaged(folder, address string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	managed := map[string]any{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &managed); err != nil {
			return nil, fmt.Errorf("%q: %w", path, err)
		}
	}
	wanted := map[string]any{}
	if err := json.Unmarshal([]byte(policyText(address)), &wanted); err != nil {
		return nil, err
	}
	maps.DeleteFunc(wanted, func(name string, value any) bool { return reflect.DeepEqual(managed[name], value) })
	return slices.Sorted(maps.Keys(wanted)), nil
}

// warning says which policies are missing. It is empty if none is.
func warning(browser, folder, address string) string {
	if folder == "" {
		return fmt.Sprintf("serve cannot see here whether policies keep people at this kiosk from files and other sites: give %q those that serve -kiosk-policy prints.\n", browser)
	}
	missing, err := unmanaged(folder, address)
	if err == nil && len(missing) == 0 {
		return ""
	}
	reason := "is missing or different: " + strings.Join(missing, ", ")
	if err != nil {
		reason = fmt.Sprintf("cannot be read: %v", err)
	}
	return fmt.Sprintf("WARNING: people at this kiosk can reach files and other sites by %q, since a policy in %s %s. "+
		"Install the package mrprism-kiosk, or put there, as root, what serve prints with -kiosk-policy in place of -kiosk.\n", browser, folder, reason)
}
