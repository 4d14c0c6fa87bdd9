// Decompresses the parts of an exported page in their order; those that are scripts then run.
(async () => {
  if (!window.DecompressionStream) {
    document.getElementById("old")?.removeAttribute("hidden");
    return;
  }
  for (const part of document.querySelectorAll("script[data-type]")) {
    const text = atob(part.textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const unpacked = document.createElement("script");
    unpacked.id = part.id;
    unpacked.type = part.dataset.type;
    unpacked.textContent = await new Response(stream).text();
    part.replaceWith(unpacked);
  }
})();
