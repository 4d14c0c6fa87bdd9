// The parts of an exported page are compressed: each is put in its place, in their order; what is a script then runs.
(async () => {
  if (!window.DecompressionStream) { document.getElementById("old")?.removeAttribute("hidden"); return; }
  for (const part of document.querySelectorAll("script[data-type]")) {
    const bytes = Uint8Array.from(atob(part.textContent), (c) => c.charCodeAt(0)), whole = document.createElement("script");
    whole.id = part.id; whole.type = part.dataset.type;
    whole.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
    part.replaceWith(whole);
  }
})();
