// Programs and weights have addresses that name their content, v/SUM/NAME. Caches keep these for a
// year, and a page gets only files of its own version.
const SUMS = /*SUMS*/ {}; // SHA-256 by name, filled in by cmd/bundle

// published fetches a file, and resolves to a response whose bytes have that SHA-256. A cache or a
// proxy may keep damaged bytes, an error or another page. Each address is then fetched again past
// the caches.
export async function published(name, sum, addresses = [name]) {
  const integrity = `sha256-${btoa(String.fromCharCode(...sum.match(/../g).map((digits) => parseInt(digits, 16))))}`;
  for (const address of addresses) {
    for (const cache of ["default", "reload"]) {
      const response = await fetch(address, { cache, integrity }).catch(() => null);
      if (response?.ok) return response;
    }
  }
  throw Object.assign(new Error(`${name} did not come as it was published`), { changed: name });
}

// Some hosts have files by name alone.
const addressesOf = (name) => [`v/${SUMS[name].slice(0, 24)}/${name}`, name];

// get fetches a file of this version, by name. Programs load everything that is not needed at once
// in this way: name the file in cmd/bundle, which then knows its sum, and get it.
export const get = (name) => published(name, SUMS[name], addressesOf(name));

// has says whether this version was built with a file. check throws if the file does not come as
// published.
export const has = (name) => name in SUMS;
export const check = (name) => published(name, SUMS[name]);

// wanted loads a module that the page does not start with. names are its own and those of modules
// that only it imports.
export async function wanted(...names) {
  await Promise.all(names.map(check)); // an import has no integrity
  return import(`./${names[0]}`);
}

// stream fetches a file in pieces, as they arrive. The caller has to check them: weights are long,
// and the segmenter verifies them.
export async function stream(name) {
  const [hashed, plain] = addressesOf(name),
    response = await fetch(hashed);
  return response.ok ? response : fetch(plain);
}
