// Answers the jobs that bench -peers has at base for a peer: run gets one and promises the answer, an object or its JSON.
export async function answerJobs(base, peer, run) {
  for (;;) {
    const response = await fetch(`${base}/job/${peer}`);
    if (response.status === 204) continue; // none for a while
    const job = await response.json();
    let answer;
    try {
      answer = await run(job);
    } catch (error) {
      answer = { error: String(error?.stack ?? error) };
    }
    await fetch(`${base}/answer/${peer}`, { method: "POST", body: typeof answer === "string" ? answer : JSON.stringify(answer) });
  }
}
