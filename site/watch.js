// Images that come into the folder that `serve -watch` watches. The page's address has the token that
// serve made: ?watch=TOKEN. Without it nothing is asked.
const EVERY = 2000, AFTER_FAILURE = 10000; // ms

// watchFolder calls take({ blob, name }) for each image that comes after the page was loaded. An image
// that take does not want yet (it returns false) is offered again.
export function watchFolder(take) {
  const token = new URLSearchParams(location.search).get("watch");
  if (!token) return;
  let after = ""; // how many files were taken; empty before the first answer
  const ask = async (what) => {
    const response = await fetch(`watch/${token}/${what}`, { cache: "no-store" });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return response;
  };
  const look = async () => {
    const { count, files } = await (await ask(`files?after=${after}`)).json();
    // A server that was started anew counts from 0.
    if (after === "" || count < after) after = count;
    for (const { number, name } of files) {
      // A file that has gone, or was changed, is passed over: a changed one comes again.
      const blob = await ask(number).then((response) => response.blob(), () => null);
      if (blob && !take({ blob, name })) return;
      after = number + 1;
    }
  };
  const turn = () => look().then(() => EVERY, () => AFTER_FAILURE).then((ms) => setTimeout(turn, ms));
  turn();
}
