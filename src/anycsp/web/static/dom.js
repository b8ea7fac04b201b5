// An element with its attributes, listeners and children in one line.
export function node(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (key === "text") made.textContent = value;
    else if (["hidden", "disabled", "checked", "value", "selected"].includes(key)) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// Calls what is given when the next frame is drawn, however often it is asked to before.
export function oncePerFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  };
}

export const byId = (id) => document.getElementById(id);
