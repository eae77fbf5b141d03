// Programs and weights have addresses that name their content, v/SUM/NAME. Caches keep these for a
// year, and a page gets only files of its own version. A package of npm has its files where
// globalThis.mrprismFiles says, by name.
const SUMS = /*SUMS*/ {}; // SHA-256 by name, filled in by cmd/bundle
const LONGEST = 180e3; // ms

// published fetches a file, and resolves to a response whose bytes have that SHA-256. A cache or a
// proxy may keep damaged bytes, an error or another page. Each address is then fetched again past
// the caches, unless it took longer than LONGEST.
export async function published(name, sum, addresses = [name]) {
  const integrity = `sha256-${btoa(String.fromCharCode(...sum.match(/../g).map((digits) => parseInt(digits, 16))))}`;
  for (const address of addresses) {
    for (const cache of ["default", "reload"]) {
      const signal = AbortSignal.timeout(LONGEST),
        response = await fetch(address, { cache, integrity, signal }).catch(() => null);
      if (response?.ok) return response;
      if (signal.aborted) break;
    }
  }
  const changed = addresses.length > 1 ? name : addresses[0];
  throw Object.assign(new Error(`${changed} did not come as it was published`), { changed });
}

// Some hosts have files by name alone.
const addressesOf = (name) =>
  globalThis.mrprismFiles
    ? [globalThis.mrprismFiles[name]]
    : [`v/${SUMS[name].slice(0, 24)}/${name}`, name];

// get fetches a file of this version, by name. Programs load everything that is not needed at once
// in this way: name the file in cmd/bundle, which then knows its sum, and get it.
export const get = (name) => published(name, SUMS[name], addressesOf(name));

// has says whether this version was built with a file. check throws if the file does not come as
// published.
export const has = (name) => name in SUMS;
export const check = (name) => published(name, SUMS[name]);

// stream fetches a file in pieces, as they arrive. The caller has to check them: weights are long,
// and the segmenter verifies them.
export async function stream(name, signal) {
  let response;
  for (const address of addressesOf(name)) {
    response = await fetch(address, { signal });
    if (response.ok) break;
  }
  return response;
}

// served resolves to what the server offers: models beside those that ship, whose sums are then
// known, and archive, whether it sends results to one. A server that is away offers nothing.
export async function served() {
  const nothing = { models: [] };
  if (globalThis.mrprismFiles) return nothing; // a package has no server
  try {
    const response = await fetch("weights/served.json", { signal: AbortSignal.timeout(3000) }),
      offered = await response.json();
    for (const { file, sha256 } of offered.models) SUMS[`weights/${file}`] ??= sha256;
    return offered;
  } catch {
    return nothing;
  }
}
