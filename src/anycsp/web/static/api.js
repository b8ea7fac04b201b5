// Requests to the server this page came from, and nowhere else.

async function answered(response) {
  if (response.ok) return response.json();
  let reason = `the server answered ${response.status}`;
  try {
    reason = (await response.json()).detail || reason;
  } catch { /* refused before it was looked at: a plain line */ }
  throw new Error(reason);
}

export const get = async (path) => answered(await fetch(path));

export const post = async (path, body) =>
  answered(await fetch(path, {
    method: "POST",
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  }));

// Sent even where the page is just being left.
export const stop = async (id) => answered(await fetch(`/api/jobs/${id}`, { method: "DELETE", keepalive: true }));

export async function upload(file, format) {
  const query = format ? `?format=${encodeURIComponent(format)}` : "";
  return answered(await fetch(`/api/problems${query}`, {
    method: "POST",
    headers: { "Content-Type": "application/octet-stream" },
    body: file,
  }));
}

// Calls `tell` with every event of a job; returns a function that ends it. The browser reconnects by itself.
export function follow(id, tell) {
  const source = new EventSource(`/api/jobs/${id}/events`);
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    tell(event);
    if (event.event === "state" && ["done", "stopped", "failed"].includes(event.state)) source.close();
  };
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) tell({ event: "lost" });
  };
  return () => source.close();
}
