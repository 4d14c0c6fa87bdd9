// Decompresses the parts of an exported page in their order; those that are scripts then run.
(async () => {
  if (!window.DecompressionStream) {
    document.getElementById("old")?.removeAttribute("hidden");
    return;
  }
  for (const part of document.querySelectorAll("script[data-type]")) {
    const bytes = Uint8Array.from(atob(part.textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const unpacked = document.createElement("script");
    unpacked.id = part.id;
    unpacked.type = part.dataset.type;
    unpacked.textContent = await new Response(stream).text();
    part.replaceWith(unpacked);
  }
})();
