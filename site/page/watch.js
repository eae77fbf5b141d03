// Images that come into the folder that `serve -watch` watches, for a page whose address has
// ?watch. serve gives them to one browser, which has its cookie. A page begins with those that no
// page before it has asked for.
import { clockIdle } from "./idle.js";

const EVERY = 2000,
  AFTER_FAILURE = 10000; // ms

// watchFolder calls take({ blob, name }) for each image that comes. blob reads the file when it is
// needed: the page keeps no image of a long day in memory. It calls refused(error) once if serve
// refuses this browser.
export function watchFolder(take, refused) {
  if (!new URLSearchParams(location.search).has("watch")) return;
  let after = ""; // how many files there were at the last look; empty before the first one
  const ask = async (what, method = "GET") => {
    const response = await fetch(`private/${what}`, { cache: "no-store", method });
    if (!response.ok) throw response;
    return response;
  };
  const look = async () => {
    const { count, files } = await (await ask(`files?after=${after}`)).json();
    for (const { number, name } of files) {
      // A file that is gone or has changed is skipped: a changed file is offered again.
      const there = await ask(number, "HEAD").then(
        () => true,
        () => false,
      );
      if (there) {
        take({
          blob: {
            size: 0,
            arrayBuffer: () => ask(number).then((response) => response.arrayBuffer()),
          },
          name,
        });
        clockIdle();
      }
    }
    after = count;
  };
  const failed = ({ status }) => {
    if (status === 403) {
      refused?.({
        message: "The watched folder's images are for another browser.",
        next: "Open the file that the program `serve` names, in this browser.",
      });
      refused = null;
    }
    return AFTER_FAILURE;
  };
  const turn = () =>
    look()
      .then(() => EVERY, failed)
      .then((ms) => setTimeout(turn, ms));
  turn();
}
