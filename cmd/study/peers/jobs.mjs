// Answers the jobs of bench -peers at base for a peer. run receives a job and promises the answer,
// an object or its JSON.
export async function answerJobs(base, peer, run) {
  for (;;) {
    const response = await fetch(`${base}/job/${peer}`);
    if (response.status === 204) continue; // no job within the time limit
    const job = await response.json();
    let answer;
    try {
      answer = await run(job);
    } catch (error) {
      answer = { error: String(error?.stack ?? error) };
    }
    await fetch(`${base}/answer/${peer}`, {
      method: "POST",
      body: typeof answer === "string" ? answer : JSON.stringify(answer),
    });
  }
}
