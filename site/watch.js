// Images that come into the folder that `serve -watch` watches. The page's address has the token that
// serve made: ?watch=TOKEN. Without it nothing is asked.
const EVERY = 2000, AFTER_FAILURE = 10000; // ms

// watchFolder calls take({ blob, name }) for each image that comes after the page was loaded. blob reads
// the file when it is needed: the page keeps no image of a long day in memory.
export function watchFolder(take) {
  const token = new URLSearchParams(location.search).get("watch");
  if (!token) return;
  let after = ""; // how many files were taken; empty before the first answer
  const ask = async (what, method = "GET") => {
    const response = await fetch(`watch/${token}/${what}`, { cache: "no-store", method });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return response;
  };
  const look = async () => {
    const { count, files } = await (await ask(`files?after=${after}`)).json();
    // A server that was started anew counts from 0.
    if (after === "" || count < after) after = count;
    for (const { number, name } of files) {
      // A file that has gone, or was changed, is passed over: a changed one comes again.
      const there = await ask(number, "HEAD").then(() => true, () => false);
      if (there) take({ blob: { size: 0, arrayBuffer: () => ask(number).then((response) => response.arrayBuffer()) }, name });
      after = number + 1;
    }
  };
  const turn = () => look().then(() => EVERY, () => AFTER_FAILURE).then((ms) => setTimeout(turn, ms));
  turn();
}
